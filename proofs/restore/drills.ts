import { cpSync, readdirSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Findings } from '../../test/system/findings';
import { isServed, type Load, tally } from '../outages/load';
import { smallDisk } from '../outages/room';
import type { Program } from '../../test/system/program';
import { refused, type Wish } from './examine';
import type { House } from './house';

export interface Drill {
  readonly name: string;
  /** Does what goes wrong, and says what is to be restored afterwards; null where the refusal was all. */
  run(house: House, findings: Findings): Promise<Wish | null>;
}

/** A moment in the middle of a load, and the archive reaches beyond it. */
async function momentOfLoad(
  house: House,
  after: () => Promise<void> = () => Promise.resolve(),
): Promise<Wish> {
  let at = new Date();
  await house.busy(5_000, async () => {
    await delay(2_000 + Math.random() * 2_000);
    at = await house.now();
    // On a busy machine nothing may have been committed yet, and then nothing could be missing.
    for (; house.witness.committedBy(at).length === 0; at = await house.now()) await delay(250);
  });
  await after();
  await house.covered(at);
  return { at };
}

function nothingRefused(findings: Findings, name: string, load: Load): void {
  const wrong = load.seen.filter((each) => !isServed(each)).length;
  findings.over(`${name}: calls meanwhile`, load.seen.length, wrong, tally(load.seen));
}

/** Waits for words of a program, which may take long on a machine that is busy. */
async function said(program: Program, words: RegExp): Promise<void> {
  while (!words.test(program.text) && !program.over) await delay(20);
  if (!words.test(program.text)) throw new Error(`it ended without ${words.source}: ${program.text}`);
}

async function killedWhen(program: Program, says: RegExp): Promise<void> {
  await said(program, says);
  program.kill();
  await program.ended;
}

/** A backup that is killed at some point, and continued. */
export function continuedBackup(name: string, says: RegExp): Drill {
  return {
    name,
    async run(house, findings) {
      const load = await house.busy(4_000, async () => {
        await killedWhen(house.cli(['backup'], { BACKUP_RATE: '8MiB' }), says);
      });
      nothingRefused(findings, name, load);
      const text = await house.backUp();
      const reused = Number(/Continued: (\d+) parts/.exec(text)?.[1] ?? 0);
      findings.check(`${name}: parts of the first try`, 'some were taken over', `${reused}`, reused > 0);
      return momentOfLoad(house);
    },
  };
}

const simple: readonly Drill[] = [
  {
    name: 'a backup under load',
    async run(house, findings) {
      const load = await house.busy(8_000, async () => void (await house.backUp()));
      nothingRefused(findings, this.name, load);
      return momentOfLoad(house);
    },
  },
  { name: 'a moment of the log', run: (house) => momentOfLoad(house) },
  {
    name: 'the newest moment',
    async run(house) {
      const { at } = await momentOfLoad(house);
      await house.covered(at!);
      return {};
    },
  },
];

const kills: readonly Drill[] = [
  {
    name: 'product killed before the moment',
    async run(house) {
      await house.busy(3_000, async () => {
        await delay(2_000);
        await house.killProduct();
      });
      await house.restart();
      return momentOfLoad(house);
    },
  },
  {
    name: 'product killed after the moment',
    run: (house) =>
      momentOfLoad(house, async () => {
        await house.killProduct();
        await house.restart();
      }),
  },
  {
    name: 'database killed before the moment',
    async run(house) {
      await house.busy(4_000, async () => {
        await delay(1_000);
        house.killDatabase();
      });
      await running(house);
      return momentOfLoad(house);
    },
  },
  {
    name: 'database killed after the moment',
    run: (house) =>
      momentOfLoad(house, async () => {
        house.killDatabase();
        await running(house);
      }),
  },
  {
    name: 'product and database killed at once, newest moment',
    async run(house) {
      const { at } = await momentOfLoad(house);
      await house.busy(3_000, async () => {
        await delay(2_000);
        house.killDatabase();
        await house.killProduct();
      });
      await house.restart();
      await house.covered(at!);
      return {};
    },
  },
];

const backups: readonly Drill[] = [
  continuedBackup('backup killed at its beginning', /database: 20 %/),
  continuedBackup('backup killed in the middle', /database: 50 %/),
  continuedBackup('backup killed near its end', /database: 90 %/),
  {
    name: 'database killed during a backup',
    async run(house, findings) {
      const program = house.cli(['backup'], { BACKUP_RATE: '8MiB' });
      await said(program, /database: 20 %/);
      house.killDatabase();
      const { code, complaint } = await program.finish();
      findings.check(
        `${this.name}: says so`,
        'exit code 1',
        `${code}: ${complaint.trim().split('\n').at(-1)}`,
        code === 1,
      );
      await running(house);
      await house.backUp();
      return momentOfLoad(house);
    },
  },
  {
    name: 'product killed during a backup',
    async run(house, findings) {
      const program = house.cli(['backup'], { BACKUP_RATE: '8MiB' });
      await said(program, /database: 20 %/);
      await house.killProduct();
      const { code } = await program.finish();
      findings.check(`${this.name}: the backup goes on`, 'exit code 0', `${code}`, code === 0);
      await house.restart();
      return momentOfLoad(house);
    },
  },
  {
    name: 'disk of the target full during a backup',
    async run(house, findings) {
      const full = join(house.testbed.postgres.folder, 'full');
      cpSync(house.target, full, { recursive: true, filter: (path) => path === house.target });
      const disk = smallDisk(full, '2m', '711');
      if (disk === null) {
        findings.leaveOut(this.name, 'nothing may be mounted');
        return null;
      }
      const load = await house.busy(4_000, async () => {
        const { code, complaint } = await house.run(['backup', full]);
        const says = complaint.trim().split('\n').at(-1) ?? '';
        findings.check(
          `${this.name}: says so`,
          'the disk is full',
          says,
          code === 1 && says.includes('is full'),
        );
      });
      nothingRefused(findings, this.name, load);
      const listed = await house.run(['backup:list', full]);
      findings.check(
        `${this.name}: no backup is there`,
        '0',
        listed.output.trim(),
        listed.output.includes('backup:list: 0'),
      );
      disk.close();
      return momentOfLoad(house);
    },
  },
  {
    name: 'target away while the log grows',
    async run(house, findings) {
      const away = `${house.target}-away`;
      renameSync(house.target, away);
      const load = await house.busy(8_000);
      nothingRefused(findings, this.name, load);
      renameSync(away, house.target);
      return momentOfLoad(house);
    },
  },
];

const restores: readonly Drill[] = [
  {
    name: 'restore killed while it unpacks',
    async run(house) {
      const { at } = await momentOfLoad(house);
      const into = house.place();
      await killedWhen(house.cli(['restore', '--into', into, '--at', at!.toISOString()]), /database: 40 %/);
      return { at: at!, into };
    },
  },
  {
    name: 'database killed while it replays',
    async run(house, findings) {
      const { at } = await momentOfLoad(house);
      const into = house.place();
      const program = house.cli(['restore', '--into', into, '--at', at!.toISOString()]);
      await said(program, /log: \d+ %/);
      house.killDatabase(into);
      const { code, complaint } = await program.finish();
      findings.check(
        `${this.name}: says so`,
        'exit code 1',
        complaint.trim().split('\n').at(-1) ?? '',
        code === 1,
      );
      return { at: at!, into };
    },
  },
];

/** A copy of the target that something was done to. */
function copied(house: House, harm: (folder: string) => void): string {
  const folder = `${house.place()}-target`;
  cpSync(house.target, folder, { recursive: true });
  harm(folder);
  return folder;
}

const filesIn = (folder: string, under: RegExp): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => under.test(path))
    .sort();

function flip(path: string): void {
  const bytes = readFileSync(path);
  bytes[bytes.length >> 1]! ^= 1;
  writeFileSync(path, bytes);
}

const damages: readonly Drill[] = [
  {
    name: 'a bit of each part flipped',
    async run(house, findings) {
      const folder = copied(house, (copy) => filesIn(copy, /\/parts\//).forEach(flip));
      await refused(house, this.name, { words: [folder], says: /is damaged/ }, findings);
      return null;
    },
  },
  {
    name: 'a part missing',
    async run(house, findings) {
      const folder = copied(house, (copy) => filesIn(copy, /\/parts\//).forEach((path) => rmSync(path)));
      await refused(
        house,
        this.name,
        { words: [folder], says: /is missing, so this backup is not whole/ },
        findings,
      );
      return null;
    },
  },
  {
    name: 'a segment of the log missing',
    async run(house, findings) {
      const first = (await momentOfLoad(house)).at!;
      const before = new Set(filesIn(house.target, /\/wal\//));
      const second = (await momentOfLoad(house)).at!;
      await momentOfLoad(house);
      const folder = copied(house, (copy) => {
        const later = filesIn(house.target, /\/wal\//).filter((path) => !before.has(path));
        rmSync(later[0]!.replace(house.target, copy));
      });
      const says = /The segment \w{24} of the log is missing/;
      await refused(house, this.name, { words: [folder], says }, findings);
      await refused(
        house,
        `${this.name}, a moment behind it`,
        { words: [folder, '--at', second.toISOString()], says },
        findings,
      );
      const { code, text } = await house.run([
        'restore',
        folder,
        '--into',
        house.place(),
        '--at',
        first.toISOString(),
      ]);
      findings.check(`${this.name}: a moment before it`, 'exit code 0', code === 0 ? '0' : text, code === 0);
      return null;
    },
  },
  {
    name: 'a segment of the log cut off',
    async run(house, findings) {
      await momentOfLoad(house);
      const folder = copied(house, (copy) => truncateSync(filesIn(copy, /\/wal\//).at(-2)!, 4_000));
      await refused(house, this.name, { words: [folder], says: /is damaged/ }, findings);
      return null;
    },
  },
  {
    name: 'a manifest changed',
    async run(house, findings) {
      const folder = copied(house, (copy) =>
        filesIn(copy, /manifest\.json$/).forEach((path) =>
          writeFileSync(path, readFileSync(path, 'utf8').replace('"timeline":1', '"timeline":2')),
        ),
      );
      await refused(house, this.name, { words: [folder], says: /its signature does not hold/ }, findings);
      return null;
    },
  },
  {
    name: 'another key',
    async run(house, findings) {
      const more = { BACKUP_KEY: 'another key of the proof, just as long as it' };
      await refused(house, this.name, { words: [], says: /made with another BACKUP_KEY/, more }, findings);
      return null;
    },
  },
];

/** The supervisor has started the database again. */
async function running(house: House): Promise<void> {
  for (let waited = 0; waited < 60_000; waited += 250) {
    if (
      await house.now().then(
        () => true,
        () => false,
      )
    )
      return;
    await delay(250);
  }
  throw new Error('the database did not come back');
}

export const drills: readonly Drill[] = [...simple, ...kills, ...backups, ...restores, ...damages];
