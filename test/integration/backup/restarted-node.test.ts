import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { archiveFolderOf, runningEmbeddedPostgres } from '#inside/platform/database/embedded-postgres';
import { queryRows } from '../../support/postgres';
import { makeScratchFolder } from '../../support/scratch';
import { until } from '../../support/until';
import { freePort } from '../../system/free-port';
import { type ProgramOutcome, Program } from '../../system/program';

/*
 * "A node restarted every 25 s ships nothing. Segments are closed by a monotonic timer of ours
 * (pg_switch_wal)". Finding C3: "The first backup starts with the release".
 */
const folder = makeScratchFolder('switchboard-restarted-');
const target = join(folder, 'target');
const programs: Program[] = [];
const environment = {
  NODE_ENV: 'test',
  DATA_FOLDER: join(folder, 'data'),
  BACKUP_TARGET: target,
  BACKUP_KEY: 'a key of the tests, long enough for anybody',
  BACKUP_RATE: '1GiB',
  PORT: '0',
  METRICS_PORT: '0',
  LOG_FORMAT: 'json',
  SANDBOX: 'off',
  WORKERS: 'off',
};
beforeAll(() => mkdirSync(target));
afterAll(async () => {
  await Promise.all(programs.map((program) => program.stop()));
  rmSync(folder, { recursive: true, force: true });
});

async function startService(more: Record<string, string> = {}): Promise<Program> {
  const program = Program.node('bundle/main.js', [], { ...environment, ...more });
  programs.push(program);
  await program.find(/ is ready at (http:\S+)/);
  return program;
}
const runCli = (...words: string[]): Promise<ProgramOutcome> =>
  Program.node('bundle/cli.js', words, environment).finish(120_000);
const server = (): NonNullable<ReturnType<typeof runningEmbeddedPostgres>> =>
  runningEmbeddedPostgres(environment.DATA_FOLDER)!;

test('a node restarted every minute ships its log and reports how far it reaches', async () => {
  const firstRun = await startService();
  const { ownerUrl, folder: serverFolder } = server();
  expect(await queryRows(ownerUrl, "SELECT current_setting('archive_timeout') AS timeout")).toEqual([
    { timeout: '0' },
  ]);
  expect((await runCli('backup')).code).toBe(0);
  await queryRows(ownerUrl, 'CREATE TABLE drill AS SELECT 1 AS row');
  const [row] = await queryRows<{ now: Date }>(ownerUrl, 'SELECT clock_timestamp() AS now');
  await firstRun.stop();
  const waitingSegments = (): string[] =>
    readdirSync(archiveFolderOf(serverFolder)).filter((name) => /^[0-9A-F]{24}$/.test(name));
  expect(waitingSegments().length).toBeGreaterThan(0);
  const secondRun = await startService();
  await until(() => waitingSegments().length === 0, 60_000);
  await secondRun.stop();
  const listOutput = (await runCli('backup:list')).output;
  expect(new Date(/ to (\S+Z),/.exec(listOutput)?.[1] ?? 0) >= row!.now).toBe(true);
}, 240_000);

test('a restored installation has no coverage until its release, which starts its first backup', async () => {
  const restoreFolder = join(folder, 'restored');
  const restoreResult = await runCli('restore', '--into', restoreFolder);
  expect(restoreResult.complaint).not.toContain('cannot');
  const metricsPort = await freePort();
  const ownEnvironment = { DATA_FOLDER: restoreFolder, WORKERS: 'inline', METRICS_PORT: String(metricsPort) };
  const program = await startService(ownEnvironment);
  const { ownerUrl } = runningEmbeddedPostgres(restoreFolder)!;
  const gauge = async (name: string): Promise<number> => {
    const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    return Number(
      new RegExp(`^gateway_backup_${name}_timestamp_seconds (\\S+)$`, 'm').exec(text)?.[1] ?? NaN,
    );
  };
  // The target has backups and a log, but none of this database.
  await until(async () => (await gauge('covered')) === 0 && (await gauge('success')) === 0, 60_000);
  // The scheduled time would be up to ten minutes away.
  const scheduleSql = `INSERT INTO repeating_job (name, cron, due_at, succeed_by)
    VALUES ('backup', '*/10 * * * *', now() + interval '1 hour', now() + interval '2 hours')
    ON CONFLICT (name) DO UPDATE SET due_at = excluded.due_at`;
  await queryRows(ownerUrl, scheduleSql);
  const releaseArgs = [
    '--payments',
    'later',
    '--mails',
    'drop',
    '--evaluations',
    'drop',
    '--keys',
    'keep',
    '--yes',
  ];
  const releaseResult = await Program.node('bundle/cli.js', ['quarantine', 'release', ...releaseArgs], {
    ...environment,
    ...ownEnvironment,
  }).finish(60_000);
  expect(releaseResult.code).toBe(0);
  await until(async () => (await gauge('success')) > 0 && (await gauge('covered')) > 0, 120_000);
  await program.stop();
  // A second restore follows the new timeline.
  const listLines = (await runCli('backup:list')).output.trim().split('\n');
  expect(listLines.length).toBe(3);
  const secondRestore = await runCli('restore', '--into', join(folder, 'again'));
  expect(secondRestore.complaint).toContain(/^(\S+) {2}/.exec(listLines[1]!)![1]);
}, 300_000);
