import { randomBytes } from 'node:crypto';
import { chmodSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { migrations } from '#migrations';
import { Ledger } from '#product/billing';
import { executeCommand } from '#inside/commands/run-command';
import { startEmbeddedPostgres } from '#inside/platform/database/embedded-postgres';
import { migrate } from '#inside/platform/database/migrate';
import { Mailer, QueueSupervisor, readOrCreateSecrets } from '#product/platform';
import { startTestApp, type TestApp } from '../../support/app';
import { NotesExtension } from '../../support/notes-extension';
import { addKey, addUser, signIn } from '../../support/users';
import { administer, inDatabase, queryRows } from '../../support/postgres';
import { makeScratchFolder } from '../../support/scratch';
import { testServer } from '../../support/test-server';
import { freeRecord, settle } from '../extensions/tap-fixture';

const CREDIT = 7_000_000_000n;
const notes = new NotesExtension('moved-notes');
const scratchFolder = makeScratchFolder('switchboard-test-');
const dataFolder = join(scratchFolder, 'data');
const name = `move_${randomBytes(6).toString('hex')}`;
const server = testServer();
const target = inDatabase(server.ownerUrl, name);
const { password } = new URL(target);
const addressWithoutPassword = target.replace(`:${password}@`, '@');

interface MoveResult {
  readonly code: number;
  readonly output: string;
  readonly complaint: string;
}

async function run(words: string[], more: Readonly<Record<string, string>> = {}): Promise<MoveResult> {
  let [output, complaint] = ['', ''];
  const code = await executeCommand(words, {
    environment: {
      NODE_ENV: 'test',
      DATA_FOLDER: dataFolder,
      EXTENSIONS: notes.path,
      PGPASSWORD: decodeURIComponent(password),
      ...more,
    },
    write: (text) => (output += text),
    writeStderr: (text) => (complaint += text),
    confirm: () => Promise.resolve(false),
  });
  return { code, output, complaint };
}

/** The move command reads the secrets of the installation from its data folder. */
const masterKey = (): string => readOrCreateSecrets(dataFolder).masterKey;

const withEmbedded = async <T>(work: (urls: { url: string; ownerUrl: string }) => Promise<T>): Promise<T> => {
  const embedded = await startEmbeddedPostgres({ dataFolder, durable: false });
  try {
    return await work(embedded);
  } finally {
    await embedded.stop();
  }
};

/** Fills an older installation: users, keys, money, records of a past month, an email, an outbox and extension rows. */
const fill = (): Promise<{ owner: number; key: string; cookie: string }> =>
  withEmbedded(async (urls) => {
    await migrate({ url: urls.ownerUrl, serviceUrl: urls.url, migrations, queue: true });
    const app = await startTestApp({
      sharedDatabase: urls,
      environment: { EXTENSIONS: notes.path, WORKERS: 'off', MASTER_KEY: masterKey() },
    });
    try {
      return await fillThrough(app, urls.ownerUrl);
    } finally {
      await app.close();
    }
  });

async function fillThrough(
  app: TestApp,
  ownerUrl: string,
): Promise<{ owner: number; key: string; cookie: string }> {
  const owner = await addUser(app, 'platform_owner');
  const { text: key, id } = await addKey(app, owner);
  const ledger = app.application.get(Ledger, { strict: false });
  await app.database.transaction((tx) =>
    ledger.post(tx, { walletId: owner, amount: CREDIT, against: 'adjustment', kind: 'topup', ref: 'x' }),
  );
  await administer(ownerUrl, "SELECT ensure_request_record_partitions('2024-02-01', 1)");
  await settle(app, [
    freeRecord(id, { createdAt: new Date('2024-02-03T04:05:06Z') }),
    freeRecord(id),
    freeRecord(id),
  ]);
  await app.application
    .get(Mailer, { strict: false })
    .send({ to: 'somebody@example.com', subject: 'Moved', text: 'ä\t\\N "quoted"\n', id: 'moved' });
  const cookie = await signIn(app, owner);
  await administer(ownerUrl, `INSERT INTO ${notes.role}.orders (kind, argument) VALUES ('kept', '{}')`);
  await administer(
    ownerUrl,
    `INSERT INTO tap (name, after_xid, after_id) SELECT 'some/tap', xid, id FROM tap_outbox ORDER BY xid, id LIMIT 1`,
  );
  return { owner, key, cookie };
}

beforeAll(async () => {
  chmodSync(scratchFolder, 0o711);
  // A first start writes the secrets before it creates its database.
  readOrCreateSecrets(dataFolder);
  await administer(server.ownerUrl, `CREATE DATABASE ${name}`);
});
afterAll(async () => {
  await administer(server.ownerUrl, `DROP DATABASE ${name} WITH (FORCE)`);
  rmSync(scratchFolder, { recursive: true, force: true });
  notes.remove();
});

test('database:move copies an embedded database completely, and the service continues with the copy', async () => {
  const { owner, key, cookie } = await fill();
  const backlog =
    'SELECT count(*)::int AS count FROM tap t JOIN tap_outbox o ON (o.xid, o.id) > (t.after_xid, t.after_id)';

  // A refused move changes nothing and explains what to do.
  await withEmbedded(async () => {
    expect((await run(['database:move', addressWithoutPassword])).complaint).toContain('Stop it');
  });
  expect(await run(['database:move', addressWithoutPassword], { DATABASE_URL: target })).toMatchObject({
    code: 1,
  });
  expect(await run(['database:move', 'mysql://x'])).toMatchObject({ code: 64 });
  // "Database password in argv of database:move"
  const passwordRefusal = await run(['database:move', 'postgres://somebody:secret@127.0.0.1:1/none']);
  expect([passwordRefusal.code, passwordRefusal.complaint]).toEqual([
    64,
    expect.stringContaining('set it as PGPASSWORD'),
  ]);
  expect(passwordRefusal.complaint).not.toContain('secret');
  const missingExtension = await run(['database:move', addressWithoutPassword], { EXTENSIONS: '' });
  expect(missingExtension).toMatchObject({ code: 1 });
  expect(missingExtension.complaint).toContain('moved-notes');

  // A move that failed halfway can be repeated with the same command.
  await administer(target, 'CREATE TABLE others (id integer)');
  expect((await run(['database:move', addressWithoutPassword])).complaint).toContain(
    'it has tables of others, such as public.others',
  );
  await administer(target, 'DROP TABLE others');
  await migrate({ url: target, migrations, queue: true });

  const moveResult = await run(['database:move', addressWithoutPassword]);
  expect([moveResult.code, moveResult.complaint]).toEqual([
    0,
    expect.stringContaining('public.request_record_202402: 1 rows copied'),
  ]);
  expect(moveResult.output).toMatch(/^Moved: [\d,]+ rows of \d+ tables in /);
  expect(moveResult.output).toMatch(/money:verify there: (\d+) of \1 hold\n/);
  expect(moveResult.output).toContain('all as they were sealed');
  expect(moveResult.output).toContain(`/${name}`);
  expect(moveResult.output).not.toContain(new URL(target).password);
  expect((await run(['database:move', addressWithoutPassword])).complaint).toContain(
    'it holds an installation already',
  );

  expect(await queryRows(target, backlog)).toEqual([{ count: 2 }]);
  expect(await queryRows(target, `SELECT kind FROM ${notes.role}.orders ORDER BY id`)).toEqual([
    { kind: 'greet' },
    { kind: 'kept' },
  ]);
  const app = await startTestApp({
    sharedDatabase: { url: target, ownerUrl: target },
    environment: {
      ...{ EXTENSIONS: notes.path, DATA_FOLDER: dataFolder, WORKERS: 'off' },
      MASTER_KEY: masterKey(),
    },
  });
  try {
    await expectServed(app, { owner, key, cookie });
    expect(await queryRows(target, backlog)).toEqual([{ count: 3 }]);
  } finally {
    await app.close();
  }
});

async function expectServed(
  app: TestApp,
  was: { owner: number; key: string; cookie: string },
): Promise<void> {
  const models = await fetch(`${app.url}/v1/models`, { headers: { authorization: `Bearer ${was.key}` } });
  expect(models.status).toBe(200);
  expect((await fetch(`${app.url}/dashboard`, { headers: { cookie: was.cookie } })).status).toBe(200);
  expect((await app.application.get(Ledger, { strict: false }).wallet(was.owner)).balance).toBe(CREDIT);
  expect((await app.application.get(QueueSupervisor).waiting())['mail']).toBe(1);
  // Sequences continue, and triggers and foreign keys exist again.
  const { id } = await addKey(app, await addUser(app));
  await settle(app, [freeRecord(id)]);
  await expect(app.database.query('UPDATE ledger_entry SET amount = amount + 1')).rejects.toThrow();
  await expect(
    app.database.query(
      'INSERT INTO session (token_hash, public_id, user_id, expires_at) VALUES ($1, gen_random_uuid(), 99999, now())',
      [Buffer.alloc(32)],
    ),
  ).rejects.toThrow(/session_user/);
}
