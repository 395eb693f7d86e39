import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runningEmbeddedPostgres } from '#inside/platform/database/embedded-postgres';
import { rowsOf } from '../../support/postgres';
import { makeScratchFolder } from '../../support/scratch';
import { until } from '../../support/until';
import { type Outcome, Program } from '../../system/program';

/*
 * "One unreadable newest log segment (cut in half, one bit flipped) makes the complete target useless:
 * backup:list, backup:verify, restore, restore --at of an earlier moment and restore --id of an older backup all end
 * with 'is damaged'". Unit tests go through every position; here PostgreSQL replays what is left.
 */
const folder = makeScratchFolder('switchboard-damaged-');
const target = join(folder, 'target');
const dataFolder = join(folder, 'data');
const programs: Program[] = [];
const environment = {
  NODE_ENV: 'test',
  DATA_FOLDER: dataFolder,
  BACKUP_TARGET: target,
  BACKUP_KEY: 'a key of the tests, long enough for anybody',
  BACKUP_RATE: '1GiB',
  PORT: '0',
  METRICS_PORT: '0',
  LOG_FORMAT: 'json',
  SANDBOX: 'off',
  WORKERS: 'off',
};
const cli = (...words: string[]): Promise<Outcome> =>
  Program.node('bundle/cli.js', words, environment).finish(120_000);
const ownerUrl = (): string => runningEmbeddedPostgres(dataFolder)!.ownerUrl;

let moment: Date;
let olderId = '';

beforeAll(async () => {
  mkdirSync(target);
  const program = Program.node('bundle/main.js', [], environment);
  programs.push(program);
  await program.find(/ is ready at (http:\S+)/);
  const taken = await cli('backup');
  olderId = /backup: (\S+),/.exec(taken.output)?.[1] ?? '';
  await rowsOf(ownerUrl(), 'CREATE TABLE drill AS SELECT 1 AS row');
  const [row] = await rowsOf<{ now: Date }>(ownerUrl(), 'SELECT clock_timestamp() AS now');
  moment = row!.now;
  await until(async () => {
    await rowsOf(ownerUrl(), "SELECT pg_create_restore_point('drill'), pg_switch_wal()");
    const listed = (await cli('backup:list')).output;
    return new Date(/ to (\S+Z),/.exec(listed)?.[1] ?? 0) > moment;
  }, 120_000);
  await rowsOf(ownerUrl(), 'INSERT INTO drill VALUES (2)');
  await program.stop();
  // Ships the rest of the log, and is the newest backup.
  expect((await cli('backup')).code).toBe(0);
}, 240_000);

afterAll(async () => {
  await Promise.all(programs.map((program) => program.stop()));
  rmSync(folder, { recursive: true, force: true });
});

const cut = (bytes: Buffer): Buffer => bytes.subarray(0, bytes.length >> 1);
const flip = (bytes: Buffer): Buffer => {
  bytes[bytes.length >> 1]! ^= 1;
  return bytes;
};

function copyWithNewestSegment(name: string, spoil: (bytes: Buffer) => Buffer): [string, string] {
  const copy = join(folder, `copy ${name}`);
  cpSync(target, copy, { recursive: true });
  const newest = readdirSync(join(copy, 'wal', '00000001'))
    .sort()
    .at(-1)!;
  const path = join(copy, 'wal', '00000001', newest);
  writeFileSync(path, spoil(readFileSync(path)));
  return [copy, newest];
}

test('a newest segment cut in half leaves everything before it listed, verified and restored', async () => {
  const [copy, newest] = copyWithNewestSegment('cut', cut);
  const listed = await cli('backup:list', copy);
  expect(listed).toMatchObject({ code: 0, complaint: '' });
  expect(listed.output).toContain(`${newest} is damaged`);
  const refused = await cli('restore', copy, '--into', join(folder, 'refused'));
  expect(refused.code).toBe(1);
  const reached = /The log is complete to (\S+Z): restore to it with --at/.exec(refused.complaint)?.[1] ?? '';
  expect(new Date(reached) > moment).toBe(true);
  const older = await cli('restore', copy, '--into', join(folder, 'refused'), '--id', olderId);
  expect(older.complaint).toMatch(/The segment \w{24} of the log is damaged\. The log is complete to /);

  const into = join(folder, 'restored');
  const restored = await cli('restore', copy, '--into', into, '--at', moment.toISOString());
  expect(restored.complaint).not.toContain('damaged');
  expect(restored.output).toContain(`is as of ${moment.toISOString()}`);
  const verified = await cli('backup:verify', copy, '--scratch', join(folder, 'scratch'));
  expect(verified.code).toBe(0);
  expect(verified.output).toMatch(/The log is complete to \S+Z: its segment \w{24} is damaged\./);
}, 180_000);

test('a newest segment with one bit flipped is a gap as well', async () => {
  const [copy, newest] = copyWithNewestSegment('flipped', flip);
  const listed = await cli('backup:list', copy);
  expect(listed).toMatchObject({ code: 0, complaint: '' });
  expect(listed.output).toContain(`the log is complete to there: ${newest} is damaged`);
}, 60_000);
