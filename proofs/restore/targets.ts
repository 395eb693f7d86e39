import { cpSync, readdirSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Findings } from '../../test/system/findings';
import { ObjectStoreStandIn } from '../../test/support/object-store';
import { restoreAndExamine, type Row, type Wish } from './examine';
import { House, inHouse } from './house';

const BACKUP_AFTER_DRILLS = 6;

type Kind = (house: House, number: number) => Promise<Wish>;

/** A one-off backup under load into a store that takes its time for each request; the newest moment is restored. */
const slow =
  (store: ObjectStoreStandIn): Kind =>
  async (house, number) => {
    const target = store.placeText(`slow-${number}`);
    store.delayMs = 30 + 40 * (number % 10);
    try {
      await house.busy(4_000, async () => {
        await delay(1_000);
        const { code, text } = await house.run(['backup', target]);
        if (code !== 0) throw new Error(`the backup failed: ${text}`);
        await delay(1_500);
      });
    } finally {
      store.delayMs = 0;
    }
    return { target };
  };

const segmentsIn = (folder: string): string[] =>
  readdirSync(join(folder, 'wal', '00000001'))
    .sort()
    .map((name) => join(folder, 'wal', '00000001', name));

function flipBit(path: string): void {
  const bytes = readFileSync(path);
  bytes[bytes.length >> 1]! ^= 1;
  writeFileSync(path, bytes);
}

const damages: readonly ((folder: string) => void)[] = [
  (folder) => truncateSync(segmentsIn(folder).at(-1)!, 4_000),
  (folder) => flipBit(segmentsIn(folder).at(-1)!),
  (folder) => rmSync(segmentsIn(folder).at(-1)!),
  (folder) => flipBit(segmentsIn(folder).at(-2)!),
  (folder) => rmSync(segmentsIn(folder).at(-2)!),
];

/** The latest moment that the target promises. */
async function promised(house: House, target: string): Promise<Wish> {
  const { output } = await house.run(['backup:list', target]);
  const moments = [...output.matchAll(/ to (\S+Z),/g)].map(([, at = '']) => new Date(at).getTime());
  return { target, at: new Date(Math.max(...moments)) };
}

async function loadAndCover(house: House): Promise<void> {
  await house.busy(3_000);
  await house.covered(await house.now());
}

/** A copy of the target that was damaged; the latest moment that it still promises is restored. */
const damaged: Kind = async (house, number) => {
  await loadAndCover(house);
  const target = `${house.place()}-target`;
  cpSync(house.target, target, { recursive: true });
  damages[number % damages.length]!(target);
  await house.busy(2_000);
  return promised(house, target);
};

/** A target that lies elsewhere now: copied while the log is shipped, or taken away from the running product. */
const moved: Kind = async (house, number) => {
  await loadAndCover(house);
  const target = `${house.place()}-target`;
  await house.busy(3_000, async () => {
    await delay(1_000);
    if (number % 2 === 0) return cpSync(house.target, target, { recursive: true });
    renameSync(house.target, target);
    await delay(1_500);
    cpSync(target, house.target, { recursive: true });
  });
  return promised(house, target);
};

/** Drills with slow, damaged and moved targets in turn, with one figure for all of them. */
export async function targets(findings: Findings, count: number): Promise<Row[]> {
  const store = await ObjectStoreStandIn.open();
  const { accessKeyId, secretAccessKey } = store.key;
  const environment = { BACKUP_TARGET_KEY: `${accessKeyId}:${secretAccessKey}` };
  const kinds: readonly (readonly [string, Kind])[] = [
    ['slow', slow(store)],
    ['damaged', damaged],
    ['moved', moved],
  ];
  const rows: Row[] = [];
  try {
    await inHouse(House.open(undefined, environment), async (house) => {
      for (let number = 0; number < count; number += 1) {
        if (number % BACKUP_AFTER_DRILLS === 0) await house.backUp();
        const [kind, drill] = kinds[number % kinds.length]!;
        const name = `${kind} target ${Math.floor(number / kinds.length) + 1}`;
        await findings.attempt(`${name}: went to its end`, async () => {
          const into = house.place();
          const wish = await drill(house, Math.floor(number / kinds.length));
          rows.push(await restoreAndExamine(house, name, { ...wish, into }, findings));
          rmSync(into, { recursive: true, force: true });
        });
      }
    });
  } finally {
    await store.close();
  }
  const sum = (of: (row: Row) => number): number => rows.reduce((all, row) => all + of(row), 0);
  const [missing, present] = [sum((row) => row.missing), sum((row) => row.present)];
  findings.check(
    `${count} drills with slow, damaged and moved targets`,
    '0 acknowledged calls missing before the declared moment, 0 present after it',
    `${rows.length} restored: ${missing} of ${sum((row) => row.before)} missing, ${present} of ${sum((row) => row.after)} present`,
    rows.length === count && missing === 0 && present === 0,
  );
  return rows;
}
