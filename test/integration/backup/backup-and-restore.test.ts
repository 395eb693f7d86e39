import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { runningEmbeddedPostgres } from '#inside/platform/database/embedded-postgres';
import { queryRows } from '../../support/postgres';
import { until } from '../../support/until';
import { freePort } from '../../system/free-port';
import { makeScratchFolder } from '../../support/scratch';
import { type ProgramOutcome, Program } from '../../system/program';

const folder = makeScratchFolder('switchboard-backup-');
const target = join(folder, 'target');
const programs: Program[] = [];

beforeAll(() => mkdirSync(target));
afterAll(async () => {
  await Promise.all(programs.map((program) => program.stop()));
  rmSync(folder, { recursive: true, force: true });
});

const environment = (dataFolder: string): Record<string, string> => ({
  NODE_ENV: 'test',
  DATA_FOLDER: join(folder, dataFolder),
  BACKUP_TARGET: target,
  BACKUP_KEY: 'a key of the tests, long enough for anybody',
  BACKUP_RATE: '1GiB',
  PORT: '0',
  METRICS_PORT: '0',
  LOG_FORMAT: 'json',
  SANDBOX: 'off',
  WORKERS: 'off',
});

interface BackupTestService {
  readonly program: Program;
  readonly url: string;
}

async function startService(dataFolder: string): Promise<BackupTestService> {
  const program = Program.node('bundle/main.js', [], environment(dataFolder));
  programs.push(program);
  const [, url = ''] = await program.find(/ is ready at (http:\S+)/);
  return { program, url };
}

const runCli = (words: string[], more: Record<string, string> = {}): Promise<ProgramOutcome> =>
  Program.node('bundle/cli.js', words, { ...environment('first'), ...more }).finish(120_000);

const manage = async (url: string, root: string, body?: object): Promise<unknown> => {
  const response = await fetch(`${url}/v1/manage/keys`, {
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    headers: { authorization: `Bearer ${root}`, 'content-type': 'application/json' },
  });
  expect(response.status).toBeLessThan(300);
  return response.json();
};

const createKey = (url: string, root: string, name: string): Promise<unknown> =>
  manage(url, root, { name, budget_limit: 10 });

const keyNames = async (url: string, root: string): Promise<string> =>
  JSON.stringify(await manage(url, root));

/** Object files of all backups except their manifests. */
const listParts = (place: string): string[] =>
  readdirSync(place, { recursive: true, withFileTypes: true })
    .filter(({ name, parentPath }) => parentPath.endsWith('/parts') && !name.startsWith('.draft-'))
    .map((entry) => join(entry.parentPath, entry.name));

test('an installation is restored to a moment, with earlier changes present and later ones gone', async () => {
  const firstService = await startService('first');
  const [, root = ''] = await firstService.program.find(/root admin key +(svc_\w+)/);
  await createKey(firstService.url, root, 'before the backup');
  const backupResult = await runCli(['backup']);
  expect(backupResult.code).toBe(0);
  await createKey(firstService.url, root, 'before the moment');
  const moment = new Date();
  await createKey(firstService.url, root, 'after the moment');
  await firstService.program.stop();
  // The command starts the database itself and ships its log up to now.
  expect((await runCli(['backup'])).code).toBe(0);

  const restoreFolder = join(folder, 'restored');
  const restoreResult = await runCli(['restore', '--into', restoreFolder, '--at', moment.toISOString()]);
  expect(restoreResult.complaint).not.toMatch(/cover|recover/);
  expect(restoreResult.output).toContain(`is as of ${moment.toISOString()}`);
  expect(JSON.parse(readFileSync(join(restoreFolder, 'restored.json'), 'utf8'))).toMatchObject({
    version: 1,
    moment: moment.toISOString(),
  });
  // The operator has released the quarantine.
  rmSync(join(restoreFolder, 'restored.json'));
  const secondService = await startService('restored');
  const names = await keyNames(secondService.url, root);
  expect(names).toContain('before the backup');
  expect(names).toContain('before the moment');
  expect(names).not.toContain('after the moment');
  await secondService.program.stop();
}, 180_000);

/** Starts a service with scheduled jobs and its own backup target. */
async function startScheduled(name: string, more: Record<string, string> = {}): Promise<ScheduledService> {
  const targetFolder = join(folder, `${name}-target`);
  mkdirSync(targetFolder);
  const ownEnvironment = { DATA_FOLDER: join(folder, name), BACKUP_TARGET: targetFolder };
  const metricsPort = await freePort();
  const program = Program.node('bundle/main.js', [], {
    ...environment(name),
    ...ownEnvironment,
    WORKERS: 'inline',
    METRICS_PORT: String(metricsPort),
    ...more,
  });
  programs.push(program);
  await program.find(/ is ready at (http:\S+)/);
  const { ownerUrl } = runningEmbeddedPostgres(ownEnvironment.DATA_FOLDER)!;
  return {
    program,
    place: targetFolder,
    own: ownEnvironment,
    metrics: async () => (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text(),
    // Makes the job due now; jobs are registered shortly after the start.
    due: async (job) => {
      const due = `UPDATE repeating_job SET due_at = now() WHERE name = '${job}' RETURNING name`;
      await until(async () => (await queryRows(ownerUrl, due)).length === 1, 60_000);
    },
  };
}

interface ScheduledService {
  readonly program: Program;
  readonly place: string;
  readonly own: Record<string, string>;
  readonly metrics: () => Promise<string>;
  readonly due: (job: string) => Promise<void>;
}

test('the service ships its log, creates and verifies its first backup, and reports it in metrics', async () => {
  const { program, place, own, metrics, due } = await startScheduled('scheduled');
  await due('backup');
  await until(async () => /gateway_backup_success_timestamp_seconds [1-9]/.test(await metrics()), 60_000);
  // The backup closes a log segment, which is shipped shortly afterwards.
  await until(async () => (await metrics()).includes('gateway_backup_segments_waiting 0'), 60_000);
  expect(listParts(place).length).toBeGreaterThan(0);
  const doctor = await runCli(['doctor'], own);
  expect(doctor.output).toMatch(/^warn {2}backups: the newest ended .*none was verified$/m);
  await due('backup verification');
  await until(async () => /gateway_backup_verified_timestamp_seconds [1-9]/.test(await metrics()), 60_000);
  await program.stop();
}, 180_000);

test('a backup interrupted by a killed service is continued after the restart', async () => {
  const { program, place, own, due } = await startScheduled('killed', { BACKUP_RATE: '1MiB' });
  await due('backup');
  await until(() => listParts(place).some((path) => readFileSync(path).length > 100_000), 60_000);
  program.kill();
  await program.ended;
  // A backup still in progress would refuse this one; at the limited rate it would take a minute.
  const outcomes: ProgramOutcome[] = [];
  await until(
    async () => outcomes.push(await runCli(['backup'], own)) > 0 && outcomes.at(-1)!.code === 0,
    30_000,
  );
  expect(outcomes.at(-1)!.output).toMatch(/^Continued: [1-9]\d* parts/m);
}, 120_000);

test('backup:verify restores the newest backup in a scratch folder and marks it as verified', async () => {
  const verifyResult = await runCli(['backup:verify', '--scratch', join(folder, 'scratch')]);
  expect([verifyResult.code, verifyResult.output]).toEqual([0, expect.stringContaining('holds')]);
  expect(readdirSync(join(folder, 'scratch'))).toEqual([]);
  const listResult = await runCli(['backup:list']);
  expect(listResult.output.match(/verified 2/g)).toHaveLength(1);
}, 120_000);

test('a backup of another installation cannot use the same target', async () => {
  const { code, complaint } = await runCli(['backup'], { DATA_FOLDER: join(folder, 'scheduled') });
  expect(code).toBe(1);
  expect(complaint).toMatch(
    /has backups of another installation: \S+ is of database \d+, and this one is \d+\./,
  );
  expect((await runCli(['backup:list'])).output).not.toContain('unfinished');
}, 60_000);

test('an invalid restore is refused and leaves no folder that could be started', async () => {
  const restoreFolder = join(folder, 'refused');
  const usedFolder = join(folder, 'full');
  mkdirSync(usedFolder);
  writeFileSync(join(usedFolder, 'something'), '');
  const expectRefusal = async (words: string[], more = {}): Promise<string> => {
    const { code, complaint } = await runCli(['restore', '--into', restoreFolder, ...words], more);
    expect(code).toBe(1);
    return complaint;
  };
  expect((await runCli(['restore', '--into', usedFolder])).complaint).toContain('is not empty');
  expect(await expectRefusal(['--at', '2020-01-01T00:00:00Z'])).toContain('the earliest moment is');
  expect(await expectRefusal(['--at', '2120-01-01T00:00:00Z'])).toContain('is not covered');
  const otherKey = { BACKUP_KEY: 'another key of the tests, just as long as it' };
  expect(await expectRefusal([], otherKey)).toContain('made with another BACKUP_KEY');
  expect(existsSync(restoreFolder)).toBe(false);

  // The smallest part is a file of the data folder, which is read before anything is unpacked.
  const [part = ''] = listParts(target).sort((one, other) => statSync(one).size - statSync(other).size);
  const originalBytes = readFileSync(part);
  const id = basename(dirname(dirname(part)));
  for (const damagedBytes of [
    withFlippedBit(originalBytes),
    originalBytes.subarray(0, originalBytes.length - 1),
  ]) {
    writeFileSync(part, damagedBytes);
    expect(await expectRefusal(['--id', id])).toContain('is damaged');
    expect(existsSync(join(restoreFolder, 'restore-unfinished'))).toBe(true);
    const startAttempt = Program.node('bundle/main.js', [], environment('refused'));
    expect((await startAttempt.finish(30_000)).complaint).toContain('was broken off');
  }
  writeFileSync(part, originalBytes);
}, 120_000);

function withFlippedBit(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  copy[copy.length >> 1]! ^= 1;
  return copy;
}
