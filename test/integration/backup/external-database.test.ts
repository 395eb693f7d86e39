import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { FrameBuffer } from '#inside/billing/engine/settlement/journal-frames';
import { journalHeader } from '#inside/billing/engine/settlement/journal-owner';
import { serialiseRecord } from '#product/audit';
import { Ledger } from '#product/billing';
import { uuidv7 } from '#product/kernel';
import { ordinaryOutcome } from '../../../proofs/money/record';
import { startTestApp } from '../../support/app';
import { addKey, addUser } from '../../support/people';
import { createTestDatabase, rowsOf, type TestDatabase } from '../../support/postgres';
import { makeScratchFolder } from '../../support/scratch';
import { until } from '../../support/until';
import { type Outcome, Program } from '../../system/program';

const folder = makeScratchFolder('switchboard-external-');
const [data, target] = [join(folder, 'data'), join(folder, 'target')];
const charge = uuidv7();
const journal = 'journal/lost-node.1.journal';
/** Beside the database there are these. */
const files: Record<string, string> = {
  'audit/anchor.jsonl': '',
  'extension-notes.sql': 'CREATE TABLE note ();\n',
};
let database: TestDatabase;
let pepper = '';
let journalBytes: Buffer = Buffer.alloc(0);

beforeAll(async () => {
  database = await createTestDatabase();
  mkdirSync(target);
  const app = await startTestApp({ sharedDatabase: database, environment: { WORKERS: 'off' } });
  pepper = String(app.environment['KEY_PEPPER']);
  const userId = await addUser(app, 'platform_owner');
  const { id: keyId } = await addKey(app, userId);
  const ledger = app.application.get(Ledger, { strict: false });
  const credit = { walletId: userId, amount: 10_000_000_000n, kind: 'topup', ref: 'x' } as const;
  await app.database.transaction((tx) => ledger.post(tx, { ...credit, against: 'adjustment' }));
  await app.close();
  journalBytes = journalOf({ keyId, userId, walletId: userId });
  for (const [path, content] of [...Object.entries(files), [journal, journalBytes] as const]) {
    mkdirSync(dirname(join(data, path)), { recursive: true });
    writeFileSync(join(data, path), content);
  }
});
afterAll(async () => {
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
});

/** A node that has gone left one charge, and half of another. */
function journalOf(facts: { keyId: number; userId: number; walletId: number }): Buffer {
  const frames = new FrameBuffer();
  frames.add(JSON.stringify({ ...(JSON.parse(journalHeader('lost-node')) as object), pid: 2 ** 22 + 1 }));
  frames.add(serialiseRecord(charge, Date.now(), ordinaryOutcome({ ...facts, costNano: 1_000_000n })).text);
  return Buffer.from(frames.content);
}

const cli = (...words: string[]): Promise<Outcome> =>
  Program.node('bundle/cli.js', words, {
    NODE_ENV: 'test',
    DATA_FOLDER: data,
    DATABASE_URL: database.url,
    KEY_PEPPER: pepper,
    MIGRATION_DATABASE_URL: database.ownerUrl,
    BACKUP_TARGET: target,
    BACKUP_KEY: 'a key of the tests, long enough for anybody',
  }).finish(120_000);

const filesBelow = (place: string): string[] =>
  readdirSync(place, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(place.length + 1));

const charges = (): Promise<object[]> =>
  rowsOf(database.ownerUrl, `SELECT cost_nano FROM request_record WHERE request_id = '${charge}'`);

/** A service on this folder and the database, until it has settled what the folder holds. */
async function serveOn(place: string): Promise<void> {
  const app = await startTestApp({
    sharedDatabase: database,
    environment: { DATA_FOLDER: place, WORKERS: 'off' },
  });
  await until(() => !existsSync(join(place, journal)));
  await app.close();
}

test('beside a database of your own, a backup carries journals, secrets and anchor, and says where the rest is', async () => {
  // What was being written while it was read was not acknowledged.
  writeFileSync(join(data, journal), Buffer.concat([journalBytes, journalBytes.subarray(0, 20)]));
  const taken = await cli('backup');
  expect([taken.code, taken.output]).toEqual([0, expect.stringContaining('pgBackRest')]);
  expect((await cli('backup:list')).output).toMatch(/^\S+ {2}from \S+, files only, .*not verified$/m);

  const verified = await cli('backup:verify');
  expect([verified.code, verified.output]).toEqual([
    0,
    expect.stringMatching(
      /holds {3}every file is whole\nholds {3}every journal .*\n.*2 of 2 hold\n.*is not in it/,
    ),
  ]);
  expect((await cli('backup:list')).output).toMatch(/ verified 2/);
});

test('its files are restored, and what a journal holds is charged once, however often', async () => {
  const [into, again] = [join(folder, 'restored'), join(folder, 'again')];
  const restored = await cli('restore', '--into', into);
  expect([restored.code, restored.output]).toEqual([0, expect.stringContaining('quarantine begin --moment')]);
  expect(filesBelow(into).sort()).toEqual([...Object.keys(files), journal, 'secrets.json'].sort());
  expect(readFileSync(join(into, journal)).equals(journalBytes)).toBe(true);
  expect(readFileSync(join(into, 'secrets.json'))).toEqual(readFileSync(join(data, 'secrets.json')));

  expect(await charges()).toEqual([]);
  await serveOn(into);
  expect(await charges()).toHaveLength(1);
  expect((await cli('restore', '--into', again)).code).toBe(0);
  await serveOn(again);
  expect(await charges()).toHaveLength(1);
  const { output } = await cli('money:verify', '--full');
  // All but this agree: the charge was made up, without a price.
  expect(output.match(/^BROKEN .*$/gm)).toEqual(['BROKEN  a record costs what its usage does at its price']);
});

test('a file that is not whole is told of, and nothing is restored', async () => {
  const [part = ''] = filesBelow(target).filter((path) => path.includes('/parts/'));
  const bytes = readFileSync(join(target, part));
  bytes[bytes.length >> 1]! ^= 1;
  writeFileSync(join(target, part), bytes);
  const into = join(folder, 'refused');
  for (const words of [['backup:verify'], ['restore', '--into', into]]) {
    const { code, complaint } = await cli(...words);
    expect([code, complaint]).toEqual([1, expect.stringContaining('is damaged')]);
  }
  expect(existsSync(into)).toBe(false);
});

test('nodes that send at the same time to one place have each a backup of its own', async () => {
  const outcomes = await Promise.all([cli('backup'), cli('backup')]);
  expect(outcomes.map(({ code }) => code)).toEqual([0, 0]);
  expect((await cli('backup:list')).output).toMatch(/^backup:list: 3 in/m);
});
