import { cpSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { extensionLoginName, Metrics } from '#product/platform';
import { startTestApp, type TestApp } from '../../support/app';
import { NotesExtension } from '../../support/notes-extension';
import { createTestDatabase, inSession, queryRows, type TestDatabase } from '../../support/postgres';

let database: TestDatabase;
beforeEach(async () => {
  database = await createTestDatabase();
});
afterEach(() => database.drop());

const extensionsToRemove: NotesExtension[] = [];
afterAll(() => {
  for (const extension of extensionsToRemove) extension.remove();
});

function createNotes(from?: NotesExtension): NotesExtension {
  const extension = from?.copy() ?? new NotesExtension('own-notes');
  extensionsToRemove.push(extension);
  return extension;
}

const start = (...extensions: NotesExtension[]): Promise<TestApp> =>
  startTestApp({
    sharedDatabase: database,
    environment: { EXTENSIONS: extensions.map(({ path }) => path).join(',') },
  });

async function startAndStop(...extensions: NotesExtension[]): Promise<void> {
  const app = await start(...extensions);
  await app.close();
}

const refusalOf = async (extension: NotesExtension): Promise<string> => {
  const app = await start(extension).catch((error: Error) => error.message);
  if (typeof app === 'string') return app;
  await app.close();
  return 'it started';
};

const owner = <Row extends object>(sql: string): Promise<Row[]> => queryRows<Row>(database.ownerUrl, sql);

const appliedFiles = async (): Promise<string[]> =>
  (await owner<{ name: string }>('SELECT name FROM extension_migration ORDER BY run_at, name')).map(
    ({ name }) => name,
  );

const orderKinds = async (): Promise<string[]> =>
  (await owner<{ kind: string }>('SELECT kind FROM ext_own_notes.orders ORDER BY id')).map(
    ({ kind }) => kind,
  );

test('migrations run once in order, and a later one sees existing rows', async () => {
  await startAndStop(createNotes());
  expect(await appliedFiles()).toEqual(['001-orders.sql', '002-answers.sql']);
  await owner(`INSERT INTO ext_own_notes.orders (kind, argument) VALUES ('kept', '{}')`);
  await startAndStop(
    createNotes().migration('003-say.sql', `ALTER TABLE orders ADD COLUMN said text NOT NULL DEFAULT 'no'`),
  );
  expect(await appliedFiles()).toEqual(['001-orders.sql', '002-answers.sql', '003-say.sql']);
  expect(await owner('SELECT kind, said FROM ext_own_notes.orders ORDER BY id')).toEqual([
    { kind: 'greet', said: 'no' },
    { kind: 'kept', said: 'no' },
  ]);
});

test('a start without the extension keeps its tables for its return', async () => {
  await startAndStop(createNotes());
  await owner(`INSERT INTO ext_own_notes.orders (kind, argument) VALUES ('kept', '{}')`);
  await startAndStop();
  expect(await orderKinds()).toEqual(['greet', 'kept']);
  await startAndStop(createNotes());
  expect(await orderKinds()).toEqual(['greet', 'kept']);
});

test('two nodes that start together run each migration once', async () => {
  const nodes = await Promise.all([start(createNotes()), start(createNotes())]);
  for (const node of nodes) await node.close();
  expect(await appliedFiles()).toEqual(['001-orders.sql', '002-answers.sql']);
  expect(await orderKinds()).toEqual(['greet']);
});

test('a start without pending migrations does not wait for the migration lock', async () => {
  await startAndStop(createNotes());
  await inSession(database.ownerUrl, async (slow) => {
    await slow.query('SELECT pg_advisory_lock(5719024)');
    await startAndStop(createNotes());
  });
});

test('a failed migration is rolled back completely, earlier ones stay, and the next start continues', async () => {
  const brokenNotes = createNotes().migration(
    '003-half.sql',
    `CREATE TABLE half (id int);\nINSERT INTO orders (kind, argument) VALUES ('half', '{}');\nSELECT nothing FROM nowhere;`,
  );
  expect(await refusalOf(brokenNotes)).toBe(
    'The extension own-notes cannot be used: its migration 003-half.sql failed: relation "nowhere" does not exist (line 3)',
  );
  expect(await appliedFiles()).toEqual(['001-orders.sql', '002-answers.sql']);
  expect(await orderKinds()).toEqual(['greet']);
  expect(await owner(`SELECT to_regclass('ext_own_notes.half') AS half`)).toEqual([{ half: null }]);
  await startAndStop(createNotes(brokenNotes).migration('003-half.sql', 'CREATE TABLE half (id int)'));
  expect(await appliedFiles()).toEqual(['001-orders.sql', '002-answers.sql', '003-half.sql']);
});

test('a changed, missing or inserted earlier migration prevents the start', async () => {
  await startAndStop(createNotes());
  const advice = '. Migrations only go forward: add a new file';
  const changedNotes = createNotes().migration('002-answers.sql', 'SELECT 1');
  expect(await refusalOf(changedNotes)).toContain(
    `its migration 002-answers.sql was run here and has been changed since${advice}`,
  );
  expect(await refusalOf(createNotes().withoutMigration('002-answers.sql'))).toContain(
    `its migration 002-answers.sql was run here and is missing now${advice}`,
  );
  expect(await refusalOf(createNotes().migration('000-late.sql', 'SELECT 1'))).toContain(
    `its migration 000-late.sql comes before 002-answers.sql, which was run here${advice}`,
  );
  const crlfNotes = createNotes().rewrite('migrations/002-answers.sql', (text) =>
    text.replaceAll('\n', '\r\n'),
  );
  expect(await refusalOf(crlfNotes)).toBe('it started');
});

describe('An invalid migration file prevents the start', () => {
  test.each([
    ['another ending', '003-notes.txt', 'x', '003-notes.txt of its migrations is not named as'],
    ['no number', 'notes.sql', 'x', 'notes.sql of its migrations is not named as'],
    ['a number twice', '002-again.sql', 'SELECT 1', '002-again.sql and 002-answers.sql have one number'],
    ['no text', '003-bytes.sql', Buffer.from([0xff, 0xfe]), '003-bytes.sql is no text in UTF-8'],
    ['a NUL', '003-nul.sql', 'SELECT 1;\0', '003-nul.sql has a NUL character'],
    ['much', '003-much.sql', ' '.repeat(1024 * 1024 + 1), '003-much.sql is no file of at most 1 MiB'],
  ])('%s', async (_what, name, content, expected) => {
    expect(await refusalOf(createNotes().migration(name, content))).toContain(expected);
  });

  test('a migrations folder that is missing or outside the extension', async () => {
    const missingFolder = createNotes().rewrite('index.cjs', (text) =>
      text.replace('./migrations', './nowhere'),
    );
    expect(await refusalOf(missingFolder)).toContain('it has no folder ./nowhere for its migrations');
    const outside = createNotes();
    const outsidePath = join(outside.path, '..', 'elsewhere');
    mkdirSync(outsidePath);
    cpSync(join(outside.path, 'migrations'), outsidePath, { recursive: true });
    symlinkSync(outsidePath, join(outside.path, 'linked'));
    outside.rewrite('index.cjs', (text) => text.replace('./migrations', './linked'));
    expect(await refusalOf(outside)).toContain('its migrations lie outside of it');
  });
});

describe('A migration cannot leave its role or its transaction', () => {
  test.each([
    ['RESET ROLE', 'cannot set parameter "role" within security-definer function'],
    ['SET ROLE switchboard_app', 'cannot set parameter "role" within security-definer function'],
    [
      "SELECT set_config('role', 'none', false)",
      'cannot set parameter "role" within security-definer function',
    ],
    ['SET SESSION AUTHORIZATION DEFAULT', 'cannot set parameter "session_authorization" within'],
    [
      "DO $$ BEGIN EXECUTE 'RESET ROLE'; END $$",
      'cannot set parameter "role" within security-definer function',
    ],
    ['CREATE TABLE more (id int); COMMIT', 'EXECUTE of transaction commands is not implemented'],
    ['ROLLBACK', 'EXECUTE of transaction commands is not implemented'],
    ['DO $$ BEGIN COMMIT; END $$', 'invalid transaction termination'],
    ['SELECT secret_hash FROM public.api_key', 'permission denied for table api_key'],
    ['CREATE TABLE public.mine (id int)', 'permission denied for schema public'],
    ['DELETE FROM contract.request', 'permission denied for view request'],
    ["UPDATE public.extension_migration SET digest = ''", 'permission denied for table extension_migration'],
    ["SELECT pg_read_file('/etc/passwd')", 'permission denied for function pg_read_file'],
    ["COPY orders TO PROGRAM 'true'", 'permission denied to COPY to or from an external program'],
    ['ALTER ROLE ext_own_notes SUPERUSER', 'permission denied to alter role'],
    ['CREATE ROLE another', 'permission denied to create role'],
    ['SET session_replication_role = replica', 'permission denied to set parameter'],
    [
      `CREATE FUNCTION leave() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RESET ROLE; RETURN NULL; END';
       CREATE CONSTRAINT TRIGGER later AFTER INSERT ON orders DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION leave();
       INSERT INTO orders (kind, argument) VALUES ('x', '{}')`,
      'cannot set parameter "role" within security-definer function',
    ],
  ])('%s', async (sql, expected) => {
    const message = await refusalOf(createNotes().migration('003-escape.sql', sql));
    expect(message).toContain('its migration 003-escape.sql failed: ');
    expect(message).toContain(expected);
    expect(await appliedFiles()).toEqual(['001-orders.sql', '002-answers.sql']);
  });
});

test('the login of an extension changes only its own schema and reads only the published views', async () => {
  await startAndStop(createNotes());
  const [facts] = await owner(`
    SELECT r.rolcanlogin, r.rolsuper, r.rolcreaterole, r.rolcreatedb, r.rolbypassrls,
           ARRAY(SELECT nspname::text FROM pg_namespace WHERE has_schema_privilege(r.oid, oid, 'CREATE')
                  AND nspname !~ '^pg_') AS creates,
           ARRAY(SELECT DISTINCT c.relnamespace::regnamespace::text FROM pg_class c
                  WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND c.relnamespace::regnamespace::text NOT IN ('pg_catalog', 'information_schema')
                    AND has_table_privilege(r.oid, c.oid, 'SELECT') ORDER BY 1) AS reads,
           ARRAY(SELECT DISTINCT c.relnamespace::regnamespace::text FROM pg_class c
                  WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND c.relnamespace::regnamespace::text NOT IN ('pg_catalog', 'information_schema')
                    AND has_table_privilege(r.oid, c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
                  ORDER BY 1) AS writes,
           ARRAY(SELECT p.oid::regprocedure::text FROM pg_proc p
                  WHERE p.prosecdef AND p.prorettype <> 'trigger'::regtype AND has_function_privilege(r.oid, p.oid, 'EXECUTE')
                    AND has_schema_privilege(r.oid, p.pronamespace, 'USAGE')) AS borrows,
           ARRAY(SELECT m.roleid::regrole::text FROM pg_auth_members m WHERE m.member = r.oid) AS member
      FROM pg_roles r WHERE rolname = '${extensionLoginName('own-notes', database.ownerUrl)}'`);
  expect(facts).toEqual({
    rolcanlogin: true,
    rolsuper: false,
    rolcreaterole: false,
    rolcreatedb: false,
    rolbypassrls: false,
    creates: ['ext_own_notes'],
    reads: ['contract', 'ext_own_notes'],
    writes: ['ext_own_notes'],
    // Records a migration of this extension; the service refuses a record without a file.
    borrows: ['contract.record_migration(text,text)'],
    member: [],
  });
});

test('the connections of an extension are reported as a pool with its name', async () => {
  const app = await start(createNotes());
  try {
    const text = await app.application.get(Metrics, { strict: false }).text();
    const poolMetrics = [
      ...text.matchAll(/^gateway_database_(\S+)\{pool="extension\/own-notes"(.*)\} (\d+)$/gm),
    ];
    expect(poolMetrics.map(([, name, label, value]) => [name + label!, value])).toEqual([
      ['connections,state="used"', '0'],
      ['connections,state="idle"', expect.stringMatching(/^[012]$/)],
      ['pool_limit', '2'],
      ['waiting', '0'],
    ]);
  } finally {
    await app.close();
  }
});
