import { cpSync, readdirSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Findings } from '../../test/system/findings';
import { ObjectStoreStandIn } from '../../test/support/object-store';
import { restoreAndExamine, type RestoreRow, type RestoreRequest } from './examine';
import { RestoreFixture, withFixture } from './restore-fixture';

const BACKUP_AFTER_DRILLS = 6;

type TargetDrill = (fixture: RestoreFixture, number: number) => Promise<RestoreRequest>;

/** Backs up once under load to a store with slow requests and restores the newest moment. */
const slowTarget =
  (store: ObjectStoreStandIn): TargetDrill =>
  async (fixture, number) => {
    const target = store.locationText(`slow-${number}`);
    store.delayMs = 30 + 40 * (number % 10);
    try {
      await fixture.runLoad(4_000, async () => {
        await delay(1_000);
        const { code, text } = await fixture.run(['backup', target]);
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

/** Newest moment that the target claims to cover. */
async function newestClaimed(fixture: RestoreFixture, target: string): Promise<RestoreRequest> {
  const { output } = await fixture.run(['backup:list', target]);
  const moments = [...output.matchAll(/ to (\S+Z),/g)].map(([, at = '']) => new Date(at).getTime());
  return { target, at: new Date(Math.max(...moments)) };
}

async function loadAndCover(fixture: RestoreFixture): Promise<void> {
  await fixture.runLoad(3_000);
  await fixture.waitUntilCovered(await fixture.now());
}

/** Damages a copy of the target and restores the newest moment it still claims to cover. */
const damagedTarget: TargetDrill = async (fixture, number) => {
  await loadAndCover(fixture);
  const target = `${fixture.newRestoreFolder()}-target`;
  cpSync(fixture.target, target, { recursive: true });
  damages[number % damages.length]!(target);
  await fixture.runLoad(2_000);
  return newestClaimed(fixture, target);
};

/** Moves the target: copied while the log is being shipped, or removed from the running product. */
const movedTarget: TargetDrill = async (fixture, number) => {
  await loadAndCover(fixture);
  const target = `${fixture.newRestoreFolder()}-target`;
  await fixture.runLoad(3_000, async () => {
    await delay(1_000);
    if (number % 2 === 0) return cpSync(fixture.target, target, { recursive: true });
    renameSync(fixture.target, target);
    await delay(1_500);
    cpSync(target, fixture.target, { recursive: true });
  });
  return newestClaimed(fixture, target);
};

/** Runs drills with slow, damaged and moved targets in turn; one row for all of them. */
export async function proveTargets(findings: Findings, count: number): Promise<RestoreRow[]> {
  const store = await ObjectStoreStandIn.open();
  const { accessKeyId, secretAccessKey } = store.key;
  const environment = { BACKUP_TARGET_KEY: `${accessKeyId}:${secretAccessKey}` };
  const kinds: readonly (readonly [string, TargetDrill])[] = [
    ['slow', slowTarget(store)],
    ['damaged', damagedTarget],
    ['moved', movedTarget],
  ];
  const rows: RestoreRow[] = [];
  try {
    await withFixture(RestoreFixture.open(undefined, environment), async (fixture) => {
      for (let number = 0; number < count; number += 1) {
        if (number % BACKUP_AFTER_DRILLS === 0) await fixture.backUp();
        const [kind, drill] = kinds[number % kinds.length]!;
        const name = `${kind} target ${Math.floor(number / kinds.length) + 1}`;
        await findings.attempt(`${name}: went to its end`, async () => {
          const restoreFolder = fixture.newRestoreFolder();
          const restoreRequest = await drill(fixture, Math.floor(number / kinds.length));
          rows.push(
            await restoreAndExamine(fixture, name, { ...restoreRequest, folder: restoreFolder }, findings),
          );
          rmSync(restoreFolder, { recursive: true, force: true });
        });
      }
    });
  } finally {
    await store.close();
  }
  const sum = (of: (row: RestoreRow) => number): number => rows.reduce((all, row) => all + of(row), 0);
  const [missing, present] = [sum((row) => row.missing), sum((row) => row.present)];
  findings.check(
    `${count} drills with slow, damaged and moved targets`,
    '0 acknowledged calls missing before the declared moment, 0 present after it',
    `${rows.length} restored: ${missing} of ${sum((row) => row.before)} missing, ${present} of ${sum((row) => row.after)} present`,
    rows.length === count && missing === 0 && present === 0,
  );
  return rows;
}
