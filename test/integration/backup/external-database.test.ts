import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { FrameBuffer } from '#inside/billing/engine/settlement/journal-frames';
import { journalHeader } from '#inside/billing/engine/settlement/journal-owner';
import { serialiseRecord } from '#product/audit';
import { Ledger } from '#product/billing';
import { uuidv7 } from '#product/kernel';
import { ordinaryOutcome } from '../../../proofs/money/record';
import { startTestApp } from '../../support/app';
import { addKey, addUser } from '../../support/users';
import { createTestDatabase, queryRows, type TestDatabase } from '../../support/postgres';
import { makeScratchFolder } from '../../support/scratch';
import { until } from '../../support/until';
import { type ProgramOutcome, Program } from '../../system/program';

const folder = makeScratchFolder('switchboard-external-');
const [data, target] = [join(folder, 'data'), join(folder, 'target')];
const chargeId = uuidv7();
const journalPath = 'journal/lost-node.1.journal';
/** Files stored next to the database. */
const files: Record<string, string> = {
  'audit/anchor.jsonl': '',
  'extension-notes.sql': 'CREATE TABLE note ();\n',
};
let database: TestDatabase;
let keyPepper = '';
let journalBytes: Buffer = Buffer.alloc(0);

beforeAll(async () => {
  database = await createTestDatabase();
  mkdirSync(target);
  const app = await startTestApp({ sharedDatabase: database, environment: { WORKERS: 'off' } });
  keyPepper = String(app.environment['KEY_PEPPER']);
  const userId = await addUser(app, 'platform_owner');
  const { id: keyId } = await addKey(app, userId);
  const ledger = app.application.get(Ledger, { strict: false });
  const credit = { walletId: userId, amount: 10_000_000_000n, kind: 'topup', ref: 'x' } as const;
  await app.database.transaction((tx) => ledger.post(tx, { ...credit, against: 'adjustment' }));
  await app.close();
  journalBytes = createJournal({ keyId, userId, walletId: userId });
  for (const [path, content] of [...Object.entries(files), [journalPath, journalBytes] as const]) {
    mkdirSync(dirname(join(data, path)), { recursive: true });
    writeFileSync(join(data, path), content);
  }
});
afterAll(async () => {
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
});

/** Journal of a node that is gone, with one complete charge and half of another. */
function createJournal(facts: { keyId: number; userId: number; walletId: number }): Buffer {
  const frames = new FrameBuffer();
  frames.add(JSON.stringify({ ...(JSON.parse(journalHeader('lost-node')) as object), pid: 2 ** 22 + 1 }));
  frames.add(serialiseRecord(chargeId, Date.now(), ordinaryOutcome({ ...facts, costNano: 1_000_000n })).text);
  return Buffer.from(frames.content);
}

const runCli = (...words: string[]): Promise<ProgramOutcome> =>
  Program.node('bundle/cli.js', words, {
    NODE_ENV: 'test',
    DATA_FOLDER: data,
    DATABASE_URL: database.url,
    KEY_PEPPER: keyPepper,
    MIGRATION_DATABASE_URL: database.ownerUrl,
    BACKUP_TARGET: target,
    BACKUP_KEY: 'a key of the tests, long enough for anybody',
  }).finish(120_000);

const listFiles = (place: string): string[] =>
  readdirSync(place, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(place.length + 1));

const readCharges = (): Promise<object[]> =>
  queryRows(database.ownerUrl, `SELECT cost_nano FROM request_record WHERE request_id = '${chargeId}'`);

/** Runs a service on this folder and the database until the journals are settled. */
async function settleJournals(place: string): Promise<void> {
  const app = await startTestApp({
    sharedDatabase: database,
    environment: { DATA_FOLDER: place, WORKERS: 'off' },
  });
  await until(() => !existsSync(join(place, journalPath)));
  await app.close();
}

test('a backup with an external database has journals, secrets and anchor, and explains how to back up the rest', async () => {
  // A record still being written during the backup was not acknowledged.
  writeFileSync(join(data, journalPath), Buffer.concat([journalBytes, journalBytes.subarray(0, 20)]));
  const backupResult = await runCli('backup');
  expect([backupResult.code, backupResult.output]).toEqual([0, expect.stringContaining('pgBackRest')]);
  expect((await runCli('backup:list')).output).toMatch(/^\S+ {2}from \S+, files only, .*not verified$/m);

  const verifyResult = await runCli('backup:verify');
  expect([verifyResult.code, verifyResult.output]).toEqual([
    0,
    expect.stringMatching(
      /holds {3}every file is whole\nholds {3}every journal .*\n.*2 of 2 hold\n.*is not in it/,
    ),
  ]);
  expect((await runCli('backup:list')).output).toMatch(/ verified 2/);
});

test('restored journals are charged once, even after repeated starts', async () => {
  const [into, again] = [join(folder, 'restored'), join(folder, 'again')];
  const restoreResult = await runCli('restore', '--into', into);
  expect([restoreResult.code, restoreResult.output]).toEqual([
    0,
    expect.stringContaining('quarantine begin --moment'),
  ]);
  expect(listFiles(into).sort()).toEqual([...Object.keys(files), journalPath, 'secrets.json'].sort());
  expect(readFileSync(join(into, journalPath)).equals(journalBytes)).toBe(true);
  expect(readFileSync(join(into, 'secrets.json'))).toEqual(readFileSync(join(data, 'secrets.json')));

  expect(await readCharges()).toEqual([]);
  await settleJournals(into);
  expect(await readCharges()).toHaveLength(1);
  expect((await runCli('restore', '--into', again)).code).toBe(0);
  await settleJournals(again);
  expect(await readCharges()).toHaveLength(1);
  const { output } = await runCli('money:verify', '--full');
  // Only this check fails, because the charge was inserted without a price.
  expect(output.match(/^BROKEN .*$/gm)).toEqual(['BROKEN  a record costs what its usage does at its price']);
});

test('a damaged file is reported, and nothing is restored', async () => {
  const [part = ''] = listFiles(target).filter((path) => path.includes('/parts/'));
  const bytes = readFileSync(join(target, part));
  bytes[bytes.length >> 1]! ^= 1;
  writeFileSync(join(target, part), bytes);
  const restoreFolder = join(folder, 'refused');
  for (const args of [['backup:verify'], ['restore', '--into', restoreFolder]]) {
    const { code, complaint } = await runCli(...args);
    expect([code, complaint]).toEqual([1, expect.stringContaining('is damaged')]);
  }
  expect(existsSync(restoreFolder)).toBe(false);
});

test('nodes that back up to the same target at the same time create separate backups', async () => {
  const outcomes = await Promise.all([runCli('backup'), runCli('backup')]);
  expect(outcomes.map(({ code }) => code)).toEqual([0, 0]);
  expect((await runCli('backup:list')).output).toMatch(/^backup:list: 3 in/m);
});
