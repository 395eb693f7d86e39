import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { applicationUrl } from '#inside/platform/database/connection-url';
import { executeCommand } from '#inside/commands/run-command';
import { startTestApp } from '../../support/app';
import { NotesExtension, runOrder } from '../../support/notes-extension';
import { administer, createTestDatabase, inSession, type TestDatabase } from '../../support/postgres';

/*
 * "`doctor` says ok" to the superuser login of docker-compose.yml. Wanted: "Compose and Helm create an owner and an
 * application login without superuser; `doctor` looks at `session_user` and its attributes."
 */

let database: TestDatabase;
beforeEach(async () => {
  database = await createTestDatabase();
});
afterEach(() => database.drop());

const notes = new NotesExtension('login-notes');
afterAll(() => notes.remove());

async function findings(url: string): Promise<ReadonlyMap<string, string>> {
  let output = '';
  await executeCommand(['doctor'], {
    environment: { NODE_ENV: 'test', DATABASE_URL: url, MIGRATION_DATABASE_URL: database.ownerUrl },
    write: (text) => (output += text),
    writeStderr: () => undefined,
    confirm: () => Promise.resolve(false),
  });
  return new Map(
    [...output.matchAll(/^(ok|warn|fail) +([^:]+): (.*)$/gm)].map(([, verdict, what, words]) => [
      String(what),
      `${verdict} ${words}`,
    ]),
  );
}

test('doctor warns when the session login is a superuser', async () => {
  expect((await findings(database.ownerUrl)).get('database role')).toBe(
    'warn switchboard_app works under the login switchboard_owner, which is a superuser, creates roles, ' +
      'creates databases, replicates, bypasses row security',
  );
  expect((await findings(database.url)).get('database role')).toBe(
    'ok switchboard_app may do its work and no more',
  );
});

test('doctor checks the logins of extensions', async () => {
  const login = `extension_watched_${randomBytes(4).toString('hex')}`;
  await administer(database.ownerUrl, 'CREATE SCHEMA ext_watched');
  expect((await findings(database.url)).get('extension logins')).toBe(
    'warn no login for the tables in ext_watched',
  );
  await administer(
    database.ownerUrl,
    `CREATE ROLE ${login} LOGIN; GRANT CREATE ON SCHEMA ext_watched TO ${login}`,
  );
  try {
    expect((await findings(database.url)).get('extension logins')).toBe(
      'ok without attributes, members of no role',
    );
    await administer(database.ownerUrl, `ALTER ROLE ${login} CREATEDB; GRANT switchboard_app TO ${login}`);
    const loginFinding = (await findings(database.url)).get('extension logins');
    expect(loginFinding).toContain(`fail ${login} creates databases`);
    expect(loginFinding).toContain(`${login} is a member of switchboard_app`);
  } finally {
    await administer(database.ownerUrl, `DROP OWNED BY ${login}; DROP ROLE ${login}`);
  }
});

describe('Database logins of docker-compose.yml', () => {
  const passwords = { owner: randomBytes(16).toString('hex'), service: randomBytes(16).toString('hex') };
  // Passwords are passed as psql variables, which only psql expands.
  const file = readFileSync(resolve(__dirname, '../../../deploy/postgres/logins.sql'), 'utf8');
  const sql = file.slice(file.indexOf('DO $logins$'));

  const createLogins = (): Promise<void> =>
    inSession(database.ownerUrl, async (session) => {
      for (const [name, password] of Object.entries(passwords))
        await session.query('SELECT set_config($1, $2, false)', [`logins.${name}`, password]);
      await session.query(sql);
    });

  const urlFor = (user: string, password: string): string => {
    const loginUrl = new URL(database.ownerUrl);
    [loginUrl.username, loginUrl.password] = [user, password];
    return loginUrl.href;
  };

  test('serve an installation and its extensions that were created by a superuser', async () => {
    const addresses = { url: database.url, ownerUrl: database.ownerUrl };
    const firstApp = await startTestApp({
      sharedDatabase: addresses,
      environment: { EXTENSIONS: notes.path },
    });
    await firstApp.close();
    await createLogins();
    await createLogins();
    const [url, ownerUrl] = [
      urlFor('switchboard_service', passwords.service),
      urlFor('switchboard_migrator', passwords.owner),
    ];
    try {
      const changedNotes = notes.copy().migration('003-more.sql', 'ALTER TABLE orders ADD COLUMN more text');
      const app = await startTestApp({
        sharedDatabase: { url: applicationUrl(url), ownerUrl },
        environment: { EXTENSIONS: changedNotes.path },
      });
      try {
        const sql = 'SELECT count(more) AS count FROM orders';
        expect(await runOrder(app, database.ownerUrl, changedNotes, ['query', { sql }])).toEqual({
          answer: [{ count: 0 }],
          problem: null,
        });
        const loginFindings = await findings(url);
        expect(loginFindings.get('database role')).toBe('ok switchboard_app may do its work and no more');
        expect(loginFindings.get('extension logins')).toBe('ok without attributes, members of no role');
      } finally {
        await app.close();
        changedNotes.remove();
      }
      await inSession(database.ownerUrl, async (session) => {
        const { rows } = await session.query(
          `SELECT c.oid::regclass::text AS left FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname IN ('public', 'contract', 'bullmq') AND c.relowner <> 'switchboard_migrator'::regrole
           UNION ALL SELECT rolname FROM pg_roles
            WHERE rolname IN ('switchboard_migrator', 'switchboard_service') AND rolsuper`,
        );
        expect(rows).toEqual([]);
      });
    } finally {
      await administer(
        database.ownerUrl,
        'REASSIGN OWNED BY switchboard_migrator TO CURRENT_USER; DROP OWNED BY switchboard_migrator, switchboard_service;' +
          'DROP ROLE switchboard_service',
      );
      await database.drop();
      await administer(new URL('/postgres', database.ownerUrl).href, 'DROP ROLE switchboard_migrator');
    }
  });
});
