import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { runningEmbeddedPostgres } from '#inside/platform/database/embedded-postgres';
import { rowsOf } from '../../support/postgres';
import { until } from '../../support/until';
import { freePort } from '../../system/free-port';
import { makeScratchFolder } from '../../support/scratch';
import { type Outcome, Program } from '../../system/program';

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

interface Running {
  readonly program: Program;
  readonly url: string;
}

async function start(dataFolder: string): Promise<Running> {
  const program = Program.node('bundle/main.js', [], environment(dataFolder));
  programs.push(program);
  const [, url = ''] = await program.find(/ is ready at (http:\S+)/);
  return { program, url };
}

const cli = (words: string[], more: Record<string, string> = {}): Promise<Outcome> =>
  Program.node('bundle/cli.js', words, { ...environment('first'), ...more }).finish(120_000);

const manage = async (url: string, root: string, body?: object): Promise<unknown> => {
  const response = await fetch(`${url}/v1/manage/keys`, {
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    headers: { authorization: `Bearer ${root}`, 'content-type': 'application/json' },
  });
  expect(response.status).toBeLessThan(300);
  return response.json();
};

const makeKey = (url: string, root: string, name: string): Promise<unknown> =>
  manage(url, root, { name, budget_limit: 10 });

const namesOfKeys = async (url: string, root: string): Promise<string> =>
  JSON.stringify(await manage(url, root));

/** The objects of all backups but their manifests. */
const partsIn = (place: string): string[] =>
  readdirSync(place, { recursive: true, withFileTypes: true })
    .filter(({ name, parentPath }) => parentPath.endsWith('/parts') && !name.startsWith('.draft-'))
    .map((entry) => join(entry.parentPath, entry.name));

test('an installation is restored to a moment: what came before serves, what came after is gone', async () => {
  const first = await start('first');
  const [, root = ''] = await first.program.find(/root admin key +(svc_\w+)/);
  await makeKey(first.url, root, 'before the backup');
  const taken = await cli(['backup']);
  expect(taken.code).toBe(0);
  await makeKey(first.url, root, 'before the moment');
  const moment = new Date();
  await makeKey(first.url, root, 'after the moment');
  await first.program.stop();
  // The command starts the database by itself, and ships its log up to now.
  expect((await cli(['backup'])).code).toBe(0);

  const into = join(folder, 'restored');
  const restored = await cli(['restore', '--into', into, '--at', moment.toISOString()]);
  expect(restored.complaint).not.toMatch(/cover|recover/);
  expect(restored.output).toContain(`is as of ${moment.toISOString()}`);
  expect(JSON.parse(readFileSync(join(into, 'restored.json'), 'utf8'))).toMatchObject({
    version: 1,
    moment: moment.toISOString(),
  });
  // Its operator has decided what lies between.
  rmSync(join(into, 'restored.json'));
  const second = await start('restored');
  const names = await namesOfKeys(second.url, root);
  expect(names).toContain('before the backup');
  expect(names).toContain('before the moment');
  expect(names).not.toContain('after the moment');
  await second.program.stop();
}, 180_000);

/** A service that runs its jobs, with a place for its backups. */
async function startScheduled(name: string, more: Record<string, string> = {}): Promise<Scheduled> {
  const place = join(folder, `${name}-target`);
  mkdirSync(place);
  const own = { DATA_FOLDER: join(folder, name), BACKUP_TARGET: place };
  const metricsPort = await freePort();
  const program = Program.node('bundle/main.js', [], {
    ...environment(name),
    ...own,
    WORKERS: 'inline',
    METRICS_PORT: String(metricsPort),
    ...more,
  });
  programs.push(program);
  await program.find(/ is ready at (http:\S+)/);
  const { ownerUrl } = runningEmbeddedPostgres(own.DATA_FOLDER)!;
  return {
    program,
    place,
    own,
    metrics: async () => (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text(),
    // What waits for its minute is due now. The jobs are announced a moment after the start.
    due: async (job) => {
      const due = `UPDATE repeating_job SET due_at = now() WHERE name = '${job}' RETURNING name`;
      await until(async () => (await rowsOf(ownerUrl, due)).length === 1, 60_000);
    },
  };
}

interface Scheduled {
  readonly program: Program;
  readonly place: string;
  readonly own: Record<string, string>;
  readonly metrics: () => Promise<string>;
  readonly due: (job: string) => Promise<void>;
}

test('the service ships its log, takes and examines the first backup itself, and says so in metrics', async () => {
  const { program, place, own, metrics, due } = await startScheduled('scheduled');
  await due('backup');
  await until(async () => /gateway_backup_success_timestamp_seconds [1-9]/.test(await metrics()), 60_000);
  // The backup itself closes a segment, which is shipped a moment later.
  await until(async () => (await metrics()).includes('gateway_backup_segments_waiting 0'), 60_000);
  expect(partsIn(place).length).toBeGreaterThan(0);
  const doctor = await cli(['doctor'], own);
  expect(doctor.output).toMatch(/^warn {2}backups: the newest ended .*none was verified$/m);
  await due('backup verification');
  await until(async () => /gateway_backup_verified_timestamp_seconds [1-9]/.test(await metrics()), 60_000);
  await program.stop();
}, 180_000);

test('a backup of the service ends with the service that was killed, and is continued', async () => {
  const { program, place, own, due } = await startScheduled('killed', { BACKUP_RATE: '1MiB' });
  await due('backup');
  await until(() => partsIn(place).some((path) => readFileSync(path).length > 100_000), 60_000);
  program.kill();
  await program.ended;
  // A backup that is still being taken would refuse this one, and would take a minute at its rate.
  const outcomes: Outcome[] = [];
  await until(
    async () => outcomes.push(await cli(['backup'], own)) > 0 && outcomes.at(-1)!.code === 0,
    30_000,
  );
  expect(outcomes.at(-1)!.output).toMatch(/^Continued: [1-9]\d* parts/m);
}, 120_000);

test('the newest backup is examined in a folder of its own and marked', async () => {
  const verified = await cli(['backup:verify', '--scratch', join(folder, 'scratch')]);
  expect([verified.code, verified.output]).toEqual([0, expect.stringContaining('holds')]);
  expect(readdirSync(join(folder, 'scratch'))).toEqual([]);
  const listed = await cli(['backup:list']);
  expect(listed.output.match(/verified 2/g)).toHaveLength(1);
}, 120_000);

test('a backup of another installation does not go beside those of this one', async () => {
  const { code, complaint } = await cli(['backup'], { DATA_FOLDER: join(folder, 'scheduled') });
  expect(code).toBe(1);
  expect(complaint).toMatch(
    /has backups of another installation: \S+ is of database \d+, and this one is \d+\./,
  );
  expect((await cli(['backup:list'])).output).not.toContain('unfinished');
}, 60_000);

test('a restore that cannot be right is refused, and leaves nothing that could be started', async () => {
  const into = join(folder, 'refused');
  const full = join(folder, 'full');
  mkdirSync(full);
  writeFileSync(join(full, 'something'), '');
  const refused = async (words: string[], more = {}): Promise<string> => {
    const { code, complaint } = await cli(['restore', '--into', into, ...words], more);
    expect(code).toBe(1);
    return complaint;
  };
  expect((await cli(['restore', '--into', full])).complaint).toContain('is not empty');
  expect(await refused(['--at', '2020-01-01T00:00:00Z'])).toContain('the earliest moment is');
  expect(await refused(['--at', '2120-01-01T00:00:00Z'])).toContain('is not covered');
  const otherKey = { BACKUP_KEY: 'another key of the tests, just as long as it' };
  expect(await refused([], otherKey)).toContain('made with another BACKUP_KEY');
  expect(existsSync(into)).toBe(false);

  // The smallest holds a file of the data folder, which is read before anything is unpacked.
  const [part = ''] = partsIn(target).sort((one, other) => statSync(one).size - statSync(other).size);
  const whole = readFileSync(part);
  const id = basename(dirname(dirname(part)));
  for (const damage of [flipped(whole), whole.subarray(0, whole.length - 1)]) {
    writeFileSync(part, damage);
    expect(await refused(['--id', id])).toContain('is damaged');
    expect(existsSync(join(into, 'restore-unfinished'))).toBe(true);
    const started = Program.node('bundle/main.js', [], environment('refused'));
    expect((await started.finish(30_000)).complaint).toContain('was broken off');
  }
  writeFileSync(part, whole);
}, 120_000);

function flipped(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  copy[copy.length >> 1]! ^= 1;
  return copy;
}
