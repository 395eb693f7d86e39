import { startTestApp, type TestApp } from '../../support/app';
import { NotesExtension, runOrder } from '../../support/notes-extension';
import { createTestDatabase, queryRows, type TestDatabase } from '../../support/postgres';

/*
 * "SQL in an extension leaves its role: set_config('role','none',true) inside any statement reads every table, credits
 * a wallet, makes a platform administrator; with the superuser login of docker-compose.yml also pg_read_file."
 */

/** Statements that try to switch back to the login of the session or to another role. */
const roleEscapes = [
  "SELECT set_config('role', 'none', true)",
  "SELECT set_config('role', 'none', false)",
  "SELECT set_config('role', 'switchboard_app', true)",
  "SELECT set_config('session_authorization', 'switchboard_owner', true)",
  "DO $$ BEGIN EXECUTE 'RESET ROLE'; END $$",
  "DO $$ BEGIN EXECUTE 'SET SESSION AUTHORIZATION DEFAULT'; END $$",
  "DO $$ BEGIN EXECUTE 'SET SESSION AUTHORIZATION switchboard_owner'; END $$",
  "DO $$ BEGIN EXECUTE 'SET ROLE switchboard_app'; END $$",
  'RESET ROLE',
  'SET SESSION AUTHORIZATION DEFAULT',
  'SET SESSION AUTHORIZATION switchboard_owner',
  'SELECT 1; RESET ROLE',
];

/** Actions named in the finding. */
const forbiddenStatements = {
  'reads wallet tables': 'SELECT * FROM public.ledger_entry',
  'credits a wallet':
    "UPDATE public.spending_window SET limit_nano = limit_nano + 1000000000 WHERE kind = 'wallet'",
  'credits a wallet by a function':
    "SELECT public.money_credit(1, 1000000000, 'adjustment', 'adjustment', 'x')",
  'makes a platform administrator': "UPDATE public.user_account SET role = 'platform_admin'",
  'reads a file of the server': "SELECT pg_read_file('PG_VERSION')",
};

describe.each([
  ['a login without rights of its own', ({ url, ownerUrl }: TestDatabase) => ({ url, ownerUrl })],
  ['a superuser as its login', ({ ownerUrl }: TestDatabase) => ({ url: ownerUrl, ownerUrl })],
])('A service with %s', (_login, addresses) => {
  const notes = new NotesExtension('free-notes');
  let database: TestDatabase;
  let app: TestApp;

  beforeAll(async () => {
    database = await createTestDatabase();
    app = await startTestApp({
      sharedDatabase: addresses(database),
      environment: { EXTENSIONS: notes.path },
    });
  });
  afterAll(async () => {
    notes.remove();
    await app.close();
    await database.drop();
  });

  const problemOf = async (statements: readonly string[]): Promise<string | null> =>
    (await runOrder(app, database.ownerUrl, notes, ['transaction', { statements }])).problem;

  test.each(
    Object.entries(forbiddenStatements).flatMap(([deed, sql]) =>
      roleEscapes.map((escape) => [deed, escape, sql] as const),
    ),
  )('refuses an extension that %s after %s', async (_deed, escape, sql) => {
    expect(await problemOf([escape, sql])).toMatch(
      /permission denied|is not taken here|multiple commands|within security-definer/,
    );
  });

  test('runs extension statements under a separate login without role memberships', async () => {
    const sql = `SELECT session_user::text AS session, current_user::text AS current, r.rolsuper, r.rolcreaterole,
        r.rolcreatedb, r.rolreplication, r.rolbypassrls,
        (SELECT count(*) FROM pg_auth_members m WHERE m.member = r.oid) AS memberships
      FROM pg_roles r WHERE r.rolname = session_user`;
    const { answer } = await runOrder(app, database.ownerUrl, notes, ['query', { sql }]);
    expect(answer).toEqual([
      {
        session: expect.stringMatching(/^extension_free_notes_[0-9a-f]{8}$/),
        current: expect.stringMatching(/^extension_free_notes_[0-9a-f]{8}$/),
        ...{ rolsuper: false, rolcreaterole: false, rolcreatedb: false, rolreplication: false },
        ...{ rolbypassrls: false, memberships: 0 },
      },
    ]);
  });

  test('leaves the data of the service unchanged', async () => {
    const promotedSql = "SELECT 1 FROM user_account WHERE role = 'platform_admin'";
    const creditedSql = 'SELECT 1 FROM ledger_entry WHERE amount = 1000000000';
    expect(await queryRows(database.ownerUrl, `${promotedSql} UNION ALL ${creditedSql}`)).toEqual([]);
  });
});
