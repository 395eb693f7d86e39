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
import { addKey, addUser, signIn } from '../../support/people';
import { administer, inDatabase, rowsOf } from '../../support/postgres';
import { makeScratchFolder } from '../../support/scratch';
import { testServer } from '../../support/test-server';
import { free, settle } from '../extensions/tap-house';

const CREDIT = 7_000_000_000n;
const notes = new NotesExtension('moved-notes');
const top = makeScratchFolder('switchboard-test-');
const dataFolder = join(top, 'data');
const name = `move_${randomBytes(6).toString('hex')}`;
const server = testServer();
const target = inDatabase(server.ownerUrl, name);
const { password } = new URL(target);
const address = target.replace(`:${password}@`, '@');

interface Spoken {
  readonly code: number;
  readonly output: string;
  readonly complaint: string;
}

async function run(words: string[], more: Readonly<Record<string, string>> = {}): Promise<Spoken> {
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

/** The command takes the secrets of the installation from its data folder. */
const masterKey = (): string => readOrCreateSecrets(dataFolder).masterKey;

const withEmbedded = async <T>(work: (urls: { url: string; ownerUrl: string }) => Promise<T>): Promise<T> => {
  const embedded = await startEmbeddedPostgres({ dataFolder, durable: false });
  try {
    return await work(embedded);
  } finally {
    await embedded.stop();
  }
};

/** An installation of some age: people, keys, money, records of an old month, a mail, an outbox, an extension's rows. */
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
  await settle(app, [free(id, { createdAt: new Date('2024-02-03T04:05:06Z') }), free(id), free(id)]);
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
  chmodSync(top, 0o711);
  // A first start makes them before its database.
  readOrCreateSecrets(dataFolder);
  await administer(server.ownerUrl, `CREATE DATABASE ${name}`);
});
afterAll(async () => {
  await administer(server.ownerUrl, `DROP DATABASE ${name} WITH (FORCE)`);
  rmSync(top, { recursive: true, force: true });
  notes.remove();
});

test('an embedded database is moved whole, and the service goes on with it', async () => {
  const { owner, key, cookie } = await fill();
  const backlog =
    'SELECT count(*)::int AS count FROM tap t JOIN tap_outbox o ON (o.xid, o.id) > (t.after_xid, t.after_id)';

  // What is refused changes nothing, and says what to do.
  await withEmbedded(async () => {
    expect((await run(['database:move', address])).complaint).toContain('Stop it');
  });
  expect(await run(['database:move', address], { DATABASE_URL: target })).toMatchObject({ code: 1 });
  expect(await run(['database:move', 'mysql://x'])).toMatchObject({ code: 64 });
  // "Database password in argv of database:move"
  const told = await run(['database:move', 'postgres://somebody:secret@127.0.0.1:1/none']);
  expect([told.code, told.complaint]).toEqual([64, expect.stringContaining('set it as PGPASSWORD')]);
  expect(told.complaint).not.toContain('secret');
  const listed = await run(['database:move', address], { EXTENSIONS: '' });
  expect(listed).toMatchObject({ code: 1 });
  expect(listed.complaint).toContain('moved-notes');

  // A try that failed in the middle is begun again by the same command.
  await administer(target, 'CREATE TABLE others (id integer)');
  expect((await run(['database:move', address])).complaint).toContain(
    'it has tables of others, such as public.others',
  );
  await administer(target, 'DROP TABLE others');
  await migrate({ url: target, migrations, queue: true });

  const moved = await run(['database:move', address]);
  expect([moved.code, moved.complaint]).toEqual([
    0,
    expect.stringContaining('public.request_record_202402: 1 rows copied'),
  ]);
  expect(moved.output).toMatch(/^Moved: [\d,]+ rows of \d+ tables in /);
  expect(moved.output).toMatch(/money:verify there: (\d+) of \1 hold\n/);
  expect(moved.output).toContain('all as they were sealed');
  expect(moved.output).toContain(`/${name}`);
  expect(moved.output).not.toContain(new URL(target).password);
  expect((await run(['database:move', address])).complaint).toContain('it holds an installation already');

  expect(await rowsOf(target, backlog)).toEqual([{ count: 2 }]);
  expect(await rowsOf(target, `SELECT kind FROM ${notes.role}.orders ORDER BY id`)).toEqual([
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
    await serves(app, { owner, key, cookie });
    expect(await rowsOf(target, backlog)).toEqual([{ count: 3 }]);
  } finally {
    await app.close();
  }
});

async function serves(app: TestApp, was: { owner: number; key: string; cookie: string }): Promise<void> {
  const models = await fetch(`${app.url}/v1/models`, { headers: { authorization: `Bearer ${was.key}` } });
  expect(models.status).toBe(200);
  expect((await fetch(`${app.url}/dashboard`, { headers: { cookie: was.cookie } })).status).toBe(200);
  expect((await app.application.get(Ledger, { strict: false }).wallet(was.owner)).balance).toBe(CREDIT);
  expect((await app.application.get(QueueSupervisor).waiting())['mail']).toBe(1);
  // Numbers go on where they were, triggers and foreign keys are there again.
  const { id } = await addKey(app, await addUser(app));
  await settle(app, [free(id)]);
  await expect(app.database.query('UPDATE ledger_entry SET amount = amount + 1')).rejects.toThrow();
  await expect(
    app.database.query(
      'INSERT INTO session (token_hash, public_id, user_id, expires_at) VALUES ($1, gen_random_uuid(), 99999, now())',
      [Buffer.alloc(32)],
    ),
  ).rejects.toThrow(/session_user/);
}
