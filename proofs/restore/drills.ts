import { cpSync, readdirSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Findings } from '../../test/system/findings';
import { isServed, type Load, tally } from '../outages/load';
import { mountSmallDisk } from '../outages/disk-limit';
import type { Program } from '../../test/system/program';
import { expectRefusal, type RestoreRequest } from './examine';
import type { RestoreFixture } from './restore-fixture';

export interface RestoreDrill {
  readonly name: string;
  /** Causes the failure and returns what to restore afterwards; null if the expected refusal was the complete check. */
  run(fixture: RestoreFixture, findings: Findings): Promise<RestoreRequest | null>;
}

/** Returns a moment during a load that the archive covers. */
async function momentDuringLoad(
  fixture: RestoreFixture,
  after: () => Promise<void> = () => Promise.resolve(),
): Promise<RestoreRequest> {
  let at = new Date();
  await fixture.runLoad(5_000, async () => {
    await delay(2_000 + Math.random() * 2_000);
    at = await fixture.now();
    // On a slow machine nothing may have been committed yet, so nothing could be missing.
    for (; fixture.witness.committedBy(at).length === 0; at = await fixture.now()) await delay(250);
  });
  await after();
  await fixture.waitUntilCovered(at);
  return { at };
}

function expectNoRefusals(findings: Findings, name: string, load: Load): void {
  const refusedCount = load.seen.filter((each) => !isServed(each)).length;
  findings.expectNoneWrong(`${name}: calls meanwhile`, load.seen.length, refusedCount, tally(load.seen));
}

/** Waits for output of a program, which may take long on a busy machine. */
async function waitForOutput(program: Program, pattern: RegExp): Promise<void> {
  while (!pattern.test(program.text) && !program.over) await delay(20);
  if (!pattern.test(program.text)) throw new Error(`it ended without ${pattern.source}: ${program.text}`);
}

async function killWhen(program: Program, pattern: RegExp): Promise<void> {
  await waitForOutput(program, pattern);
  program.kill();
  await program.ended;
}

/** Kills a backup at some point and continues it. */
export function continuedBackupDrill(name: string, pattern: RegExp): RestoreDrill {
  return {
    name,
    async run(fixture, findings) {
      const load = await fixture.runLoad(4_000, async () => {
        await killWhen(fixture.cli(['backup'], { BACKUP_RATE: '8MiB' }), pattern);
      });
      expectNoRefusals(findings, name, load);
      const text = await fixture.backUp();
      const reusedParts = Number(/Continued: (\d+) parts/.exec(text)?.[1] ?? 0);
      findings.check(
        `${name}: parts of the first try`,
        'some were taken over',
        `${reusedParts}`,
        reusedParts > 0,
      );
      return momentDuringLoad(fixture);
    },
  };
}

const simpleDrills: readonly RestoreDrill[] = [
  {
    name: 'a backup under load',
    async run(fixture, findings) {
      const load = await fixture.runLoad(8_000, async () => void (await fixture.backUp()));
      expectNoRefusals(findings, this.name, load);
      return momentDuringLoad(fixture);
    },
  },
  { name: 'a moment of the log', run: (fixture) => momentDuringLoad(fixture) },
  {
    name: 'the newest moment',
    async run(fixture) {
      const { at } = await momentDuringLoad(fixture);
      await fixture.waitUntilCovered(at!);
      return {};
    },
  },
];

const killDrills: readonly RestoreDrill[] = [
  {
    name: 'product killed before the moment',
    async run(fixture) {
      await fixture.runLoad(3_000, async () => {
        await delay(2_000);
        await fixture.killProduct();
      });
      await fixture.restart();
      return momentDuringLoad(fixture);
    },
  },
  {
    name: 'product killed after the moment',
    run: (fixture) =>
      momentDuringLoad(fixture, async () => {
        await fixture.killProduct();
        await fixture.restart();
      }),
  },
  {
    name: 'database killed before the moment',
    async run(fixture) {
      await fixture.runLoad(4_000, async () => {
        await delay(1_000);
        fixture.killDatabase();
      });
      await waitUntilRunning(fixture);
      return momentDuringLoad(fixture);
    },
  },
  {
    name: 'database killed after the moment',
    run: (fixture) =>
      momentDuringLoad(fixture, async () => {
        fixture.killDatabase();
        await waitUntilRunning(fixture);
      }),
  },
  {
    name: 'product and database killed at once, newest moment',
    async run(fixture) {
      const { at } = await momentDuringLoad(fixture);
      await fixture.runLoad(3_000, async () => {
        await delay(2_000);
        fixture.killDatabase();
        await fixture.killProduct();
      });
      await fixture.restart();
      await fixture.waitUntilCovered(at!);
      return {};
    },
  },
];

const backupDrills: readonly RestoreDrill[] = [
  continuedBackupDrill('backup killed at its beginning', /database: 20 %/),
  continuedBackupDrill('backup killed in the middle', /database: 50 %/),
  continuedBackupDrill('backup killed near its end', /database: 90 %/),
  {
    name: 'database killed during a backup',
    async run(fixture, findings) {
      const program = fixture.cli(['backup'], { BACKUP_RATE: '8MiB' });
      await waitForOutput(program, /database: 20 %/);
      fixture.killDatabase();
      const { code, complaint } = await program.finish();
      findings.check(
        `${this.name}: says so`,
        'exit code 1',
        `${code}: ${complaint.trim().split('\n').at(-1)}`,
        code === 1,
      );
      await waitUntilRunning(fixture);
      await fixture.backUp();
      return momentDuringLoad(fixture);
    },
  },
  {
    name: 'product killed during a backup',
    async run(fixture, findings) {
      const program = fixture.cli(['backup'], { BACKUP_RATE: '8MiB' });
      await waitForOutput(program, /database: 20 %/);
      await fixture.killProduct();
      const { code } = await program.finish();
      findings.check(`${this.name}: the backup goes on`, 'exit code 0', `${code}`, code === 0);
      await fixture.restart();
      return momentDuringLoad(fixture);
    },
  },
  {
    name: 'disk of the target full during a backup',
    async run(fixture, findings) {
      const full = join(fixture.testbed.postgres.folder, 'full');
      cpSync(fixture.target, full, { recursive: true, filter: (path) => path === fixture.target });
      const disk = mountSmallDisk(full, '2m', '711');
      if (disk === null) {
        findings.addSkipped(this.name, 'nothing may be mounted');
        return null;
      }
      const load = await fixture.runLoad(4_000, async () => {
        const { code, complaint } = await fixture.run(['backup', full]);
        const errorLine = complaint.trim().split('\n').at(-1) ?? '';
        findings.check(
          `${this.name}: says so`,
          'the disk is full',
          errorLine,
          code === 1 && errorLine.includes('is full'),
        );
      });
      expectNoRefusals(findings, this.name, load);
      const listed = await fixture.run(['backup:list', full]);
      findings.check(
        `${this.name}: no backup is there`,
        '0',
        listed.output.trim(),
        listed.output.includes('backup:list: 0'),
      );
      disk.close();
      return momentDuringLoad(fixture);
    },
  },
  {
    name: 'target away while the log grows',
    async run(fixture, findings) {
      const movedTarget = `${fixture.target}-away`;
      renameSync(fixture.target, movedTarget);
      const load = await fixture.runLoad(8_000);
      expectNoRefusals(findings, this.name, load);
      renameSync(movedTarget, fixture.target);
      return momentDuringLoad(fixture);
    },
  },
];

const restoreDrills: readonly RestoreDrill[] = [
  {
    name: 'restore killed while it unpacks',
    async run(fixture) {
      const { at } = await momentDuringLoad(fixture);
      const restoreFolder = fixture.newRestoreFolder();
      await killWhen(
        fixture.cli(['restore', '--into', restoreFolder, '--at', at!.toISOString()]),
        /database: 40 %/,
      );
      return { at: at!, folder: restoreFolder };
    },
  },
  {
    name: 'database killed while it replays',
    async run(fixture, findings) {
      const { at } = await momentDuringLoad(fixture);
      const restoreFolder = fixture.newRestoreFolder();
      const program = fixture.cli(['restore', '--into', restoreFolder, '--at', at!.toISOString()]);
      await waitForOutput(program, /log: \d+ %/);
      fixture.killDatabase(restoreFolder);
      const { code, complaint } = await program.finish();
      findings.check(
        `${this.name}: says so`,
        'exit code 1',
        complaint.trim().split('\n').at(-1) ?? '',
        code === 1,
      );
      return { at: at!, folder: restoreFolder };
    },
  },
];

/** Copies the target and damages the copy. */
function damagedCopy(fixture: RestoreFixture, damage: (folder: string) => void): string {
  const folder = `${fixture.newRestoreFolder()}-target`;
  cpSync(fixture.target, folder, { recursive: true });
  damage(folder);
  return folder;
}

const filesIn = (folder: string, pattern: RegExp): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => pattern.test(path))
    .sort();

function flipByte(path: string): void {
  const bytes = readFileSync(path);
  bytes[bytes.length >> 1]! ^= 1;
  writeFileSync(path, bytes);
}

const damageDrills: readonly RestoreDrill[] = [
  {
    name: 'a bit of each part flipped',
    async run(fixture, findings) {
      const folder = damagedCopy(fixture, (copy) => filesIn(copy, /\/parts\//).forEach(flipByte));
      await expectRefusal(fixture, this.name, { words: [folder], says: /is damaged/ }, findings);
      return null;
    },
  },
  {
    name: 'a part missing',
    async run(fixture, findings) {
      const folder = damagedCopy(fixture, (copy) =>
        filesIn(copy, /\/parts\//).forEach((path) => rmSync(path)),
      );
      await expectRefusal(
        fixture,
        this.name,
        { words: [folder], says: /is missing, so this backup is not whole/ },
        findings,
      );
      return null;
    },
  },
  {
    name: 'a segment of the log missing',
    async run(fixture, findings) {
      const first = (await momentDuringLoad(fixture)).at!;
      const before = new Set(filesIn(fixture.target, /\/wal\//));
      const second = (await momentDuringLoad(fixture)).at!;
      await momentDuringLoad(fixture);
      const folder = damagedCopy(fixture, (copy) => {
        const laterSegments = filesIn(fixture.target, /\/wal\//).filter((path) => !before.has(path));
        rmSync(laterSegments[0]!.replace(fixture.target, copy));
      });
      const expectedError = /The segment \w{24} of the log is missing/;
      await expectRefusal(fixture, this.name, { words: [folder], says: expectedError }, findings);
      await expectRefusal(
        fixture,
        `${this.name}, a moment behind it`,
        { words: [folder, '--at', second.toISOString()], says: expectedError },
        findings,
      );
      const { code, text } = await fixture.run([
        'restore',
        folder,
        '--into',
        fixture.newRestoreFolder(),
        '--at',
        first.toISOString(),
      ]);
      findings.check(`${this.name}: a moment before it`, 'exit code 0', code === 0 ? '0' : text, code === 0);
      return null;
    },
  },
  {
    name: 'a segment of the log cut off',
    async run(fixture, findings) {
      await momentDuringLoad(fixture);
      const folder = damagedCopy(fixture, (copy) => truncateSync(filesIn(copy, /\/wal\//).at(-2)!, 4_000));
      await expectRefusal(fixture, this.name, { words: [folder], says: /is damaged/ }, findings);
      return null;
    },
  },
  {
    name: 'a manifest changed',
    async run(fixture, findings) {
      const folder = damagedCopy(fixture, (copy) =>
        filesIn(copy, /manifest\.json$/).forEach((path) =>
          writeFileSync(path, readFileSync(path, 'utf8').replace('"timeline":1', '"timeline":2')),
        ),
      );
      await expectRefusal(
        fixture,
        this.name,
        { words: [folder], says: /its signature does not hold/ },
        findings,
      );
      return null;
    },
  },
  {
    name: 'another key',
    async run(fixture, findings) {
      const otherKey = { BACKUP_KEY: 'another key of the proof, just as long as it' };
      await expectRefusal(
        fixture,
        this.name,
        { words: [], says: /made with another BACKUP_KEY/, more: otherKey },
        findings,
      );
      return null;
    },
  },
];

/** Waits until the supervisor has restarted the database. */
async function waitUntilRunning(fixture: RestoreFixture): Promise<void> {
  for (let waitedMs = 0; waitedMs < 60_000; waitedMs += 250) {
    if (
      await fixture.now().then(
        () => true,
        () => false,
      )
    )
      return;
    await delay(250);
  }
  throw new Error('the database did not come back');
}

export const drills: readonly RestoreDrill[] = [
  ...simpleDrills,
  ...killDrills,
  ...backupDrills,
  ...restoreDrills,
  ...damageDrills,
];
