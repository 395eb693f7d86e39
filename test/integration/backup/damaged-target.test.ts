import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runningEmbeddedPostgres } from '#inside/platform/database/embedded-postgres';
import { queryRows } from '../../support/postgres';
import { makeScratchFolder } from '../../support/scratch';
import { until } from '../../support/until';
import { type ProgramOutcome, Program } from '../../system/program';

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
const runCli = (...words: string[]): Promise<ProgramOutcome> =>
  Program.node('bundle/cli.js', words, environment).finish(120_000);
const ownerUrl = (): string => runningEmbeddedPostgres(dataFolder)!.ownerUrl;

let moment: Date;
let olderId = '';

beforeAll(async () => {
  mkdirSync(target);
  const program = Program.node('bundle/main.js', [], environment);
  programs.push(program);
  await program.find(/ is ready at (http:\S+)/);
  const backupResult = await runCli('backup');
  olderId = /backup: (\S+),/.exec(backupResult.output)?.[1] ?? '';
  await queryRows(ownerUrl(), 'CREATE TABLE drill AS SELECT 1 AS row');
  const [row] = await queryRows<{ now: Date }>(ownerUrl(), 'SELECT clock_timestamp() AS now');
  moment = row!.now;
  await until(async () => {
    await queryRows(ownerUrl(), "SELECT pg_create_restore_point('drill'), pg_switch_wal()");
    const listOutput = (await runCli('backup:list')).output;
    return new Date(/ to (\S+Z),/.exec(listOutput)?.[1] ?? 0) > moment;
  }, 120_000);
  await queryRows(ownerUrl(), 'INSERT INTO drill VALUES (2)');
  await program.stop();
  // Ships the rest of the log and creates the newest backup.
  expect((await runCli('backup')).code).toBe(0);
}, 240_000);

afterAll(async () => {
  await Promise.all(programs.map((program) => program.stop()));
  rmSync(folder, { recursive: true, force: true });
});

const cutInHalf = (bytes: Buffer): Buffer => bytes.subarray(0, bytes.length >> 1);
const flipBit = (bytes: Buffer): Buffer => {
  bytes[bytes.length >> 1]! ^= 1;
  return bytes;
};

function copyWithNewestSegment(name: string, spoil: (bytes: Buffer) => Buffer): [string, string] {
  const copy = join(folder, `copy ${name}`);
  cpSync(target, copy, { recursive: true });
  const newestSegment = readdirSync(join(copy, 'wal', '00000001'))
    .sort()
    .at(-1)!;
  const path = join(copy, 'wal', '00000001', newestSegment);
  writeFileSync(path, spoil(readFileSync(path)));
  return [copy, newestSegment];
}

test('a newest segment cut in half leaves everything before it listed, verifiable and restorable', async () => {
  const [copy, newest] = copyWithNewestSegment('cut', cutInHalf);
  const listResult = await runCli('backup:list', copy);
  expect(listResult).toMatchObject({ code: 0, complaint: '' });
  expect(listResult.output).toContain(`${newest} is damaged`);
  const refusal = await runCli('restore', copy, '--into', join(folder, 'refused'));
  expect(refusal.code).toBe(1);
  const coveredUntil =
    /The log is complete to (\S+Z): restore to it with --at/.exec(refusal.complaint)?.[1] ?? '';
  expect(new Date(coveredUntil) > moment).toBe(true);
  const olderRestore = await runCli('restore', copy, '--into', join(folder, 'refused'), '--id', olderId);
  expect(olderRestore.complaint).toMatch(
    /The segment \w{24} of the log is damaged\. The log is complete to /,
  );

  const restoreFolder = join(folder, 'restored');
  const restoreResult = await runCli('restore', copy, '--into', restoreFolder, '--at', moment.toISOString());
  expect(restoreResult.complaint).not.toContain('damaged');
  expect(restoreResult.output).toContain(`is as of ${moment.toISOString()}`);
  const verifyResult = await runCli('backup:verify', copy, '--scratch', join(folder, 'scratch'));
  expect(verifyResult.code).toBe(0);
  expect(verifyResult.output).toMatch(/The log is complete to \S+Z: its segment \w{24} is damaged\./);
}, 180_000);

test('a newest segment with one flipped bit is treated as a gap', async () => {
  const [copy, newest] = copyWithNewestSegment('flipped', flipBit);
  const listResult = await runCli('backup:list', copy);
  expect(listResult).toMatchObject({ code: 0, complaint: '' });
  expect(listResult.output).toContain(`the log is complete to there: ${newest} is damaged`);
}, 60_000);
