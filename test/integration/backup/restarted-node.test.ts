import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { archiveFolderOf, runningEmbeddedPostgres } from '#inside/platform/database/embedded-postgres';
import { rowsOf } from '../../support/postgres';
import { makeScratchFolder } from '../../support/scratch';
import { until } from '../../support/until';
import { freePort } from '../../system/free-port';
import { type Outcome, Program } from '../../system/program';

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

async function start(more: Record<string, string> = {}): Promise<Program> {
  const program = Program.node('bundle/main.js', [], { ...environment, ...more });
  programs.push(program);
  await program.find(/ is ready at (http:\S+)/);
  return program;
}
const cli = (...words: string[]): Promise<Outcome> =>
  Program.node('bundle/cli.js', words, environment).finish(120_000);
const server = (): NonNullable<ReturnType<typeof runningEmbeddedPostgres>> =>
  runningEmbeddedPostgres(environment.DATA_FOLDER)!;

test('a node that never runs for a minute ships its log, and says how far it reaches', async () => {
  const first = await start();
  const { ownerUrl, folder: serverFolder } = server();
  expect(await rowsOf(ownerUrl, "SELECT current_setting('archive_timeout') AS timeout")).toEqual([
    { timeout: '0' },
  ]);
  expect((await cli('backup')).code).toBe(0);
  await rowsOf(ownerUrl, 'CREATE TABLE drill AS SELECT 1 AS row');
  const [row] = await rowsOf<{ now: Date }>(ownerUrl, 'SELECT clock_timestamp() AS now');
  await first.stop();
  const waiting = (): string[] =>
    readdirSync(archiveFolderOf(serverFolder)).filter((name) => /^[0-9A-F]{24}$/.test(name));
  expect(waiting().length).toBeGreaterThan(0);
  const second = await start();
  await until(() => waiting().length === 0, 60_000);
  await second.stop();
  const listed = (await cli('backup:list')).output;
  expect(new Date(/ to (\S+Z),/.exec(listed)?.[1] ?? 0) >= row!.now).toBe(true);
}, 240_000);

test('a restored installation has no coverage until its release, and its first backup starts with it', async () => {
  const into = join(folder, 'restored');
  const restored = await cli('restore', '--into', into);
  expect(restored.complaint).not.toContain('cannot');
  const metricsPort = await freePort();
  const own = { DATA_FOLDER: into, WORKERS: 'inline', METRICS_PORT: String(metricsPort) };
  const program = await start(own);
  const { ownerUrl } = runningEmbeddedPostgres(into)!;
  const gauge = async (name: string): Promise<number> => {
    const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    return Number(
      new RegExp(`^gateway_backup_${name}_timestamp_seconds (\\S+)$`, 'm').exec(text)?.[1] ?? NaN,
    );
  };
  // The target has backups and a log, and none of them leads to this database.
  await until(async () => (await gauge('covered')) === 0 && (await gauge('success')) === 0, 60_000);
  // A scheduled time would be up to ten minutes away.
  const schedule = `INSERT INTO repeating_job (name, cron, due_at, succeed_by)
    VALUES ('backup', '*/10 * * * *', now() + interval '1 hour', now() + interval '2 hours')
    ON CONFLICT (name) DO UPDATE SET due_at = excluded.due_at`;
  await rowsOf(ownerUrl, schedule);
  const words = [
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
  const released = await Program.node('bundle/cli.js', ['quarantine', 'release', ...words], {
    ...environment,
    ...own,
  }).finish(60_000);
  expect(released.code).toBe(0);
  await until(async () => (await gauge('success')) > 0 && (await gauge('covered')) > 0, 120_000);
  await program.stop();
  // A second loss finds the new timeline.
  const listed = (await cli('backup:list')).output.trim().split('\n');
  expect(listed.length).toBe(3);
  const again = await cli('restore', '--into', join(folder, 'again'));
  expect(again.complaint).toContain(/^(\S+) {2}/.exec(listed[1]!)![1]);
}, 300_000);
