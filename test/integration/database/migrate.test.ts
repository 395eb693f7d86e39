import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { migrations } from '#migrations';
import { applicationUrl, withSessionSettings } from '#inside/platform/database/connection-url';
import {
  extensionLogin,
  extensionLoginName,
  extensionRole,
  type ExtensionTables,
  urlForLogin,
} from '#product/platform';
import { migrate } from '#inside/platform/database/migrate';
import { runChild } from '../../support/child';
import { findDrift } from '../../support/drift';
import { administer, inDatabase, inSession } from '../../support/postgres';
import { testServer } from '../../support/test-server';

const createdObjects: string[] = [];
const { ownerUrl } = testServer();

afterAll(async () => {
  for (const statement of createdObjects.reverse()) await administer(ownerUrl, statement);
});

const unique = (word: string) => `${word}_${randomBytes(5).toString('hex')}`;

async function createEmptyDatabase(owner?: string): Promise<string> {
  const name = unique('empty');
  await administer(ownerUrl, `CREATE DATABASE ${name}${owner ? ` OWNER ${owner}` : ''}`);
  createdObjects.push(`DROP DATABASE ${name} WITH (FORCE)`);
  return inDatabase(ownerUrl, name);
}

async function createLogin(rights: string): Promise<{ name: string; as: (url: string) => string }> {
  const name = unique('login');
  await administer(ownerUrl, `CREATE ROLE ${name} LOGIN PASSWORD 'word' ${rights}`);
  createdObjects.push(`DROP ROLE ${name}`);
  const as = (url: string) => {
    const address = new URL(url);
    address.username = name;
    address.password = 'word';
    return address.href;
  };
  return { name, as };
}

const query = (url: string, sql: string): Promise<unknown[]> =>
  inSession(url, async (session) =>
    (await session.query<unknown[]>({ text: sql, rowMode: 'array' })).rows.flat(),
  );

const applied = 'SELECT name FROM migrations ORDER BY id';

test('two nodes that start at the same time migrate an empty database once', async () => {
  const url = await createEmptyDatabase();
  const node = () => runChild(join(__dirname, 'migrate-once.process.ts'), [url]).finish();
  expect(await Promise.all([node(), node()])).toMatchObject(Array(2).fill({ code: 0, complaint: '' }));
  expect(await query(url, applied)).toEqual(migrations.map(({ name }) => name));
});

test('a failing migration is rolled back, and earlier ones stay applied', async () => {
  class First1763600000001 implements MigrationInterface {
    readonly name = 'First1763600000001';
    async up(runner: QueryRunner) {
      await runner.query('CREATE TABLE first (id int)');
    }
    async down() {}
  }
  class Broken1763600000002 implements MigrationInterface {
    readonly name = 'Broken1763600000002';
    async up(runner: QueryRunner) {
      await runner.query('CREATE TABLE second (id int)');
      await runner.query('SELECT 1 / 0');
    }
    async down() {}
  }
  const url = await createEmptyDatabase();
  const attempt = migrate({ url, migrations: [First1763600000001, Broken1763600000002], queue: false });
  await expect(attempt).rejects.toThrow('The migration Broken1763600000002 failed: division by zero');
  expect(await query(url, applied)).toEqual(['First1763600000001']);
  expect(await query(url, `SELECT to_regclass('first')::text, to_regclass('second')::text`)).toEqual([
    'first',
    null,
  ]);
});

test('a node that exceeds the wait limit names the session that it waits for', async () => {
  const url = await createEmptyDatabase();
  await inSession(url, async (slow) => {
    await slow.query('SELECT pg_advisory_lock(5719024)');
    const attempt = migrate({ url, migrations, queue: false, deadlineMs: 50 });
    await expect(attempt).rejects.toThrow('Another node has been migrating this database');
  });
});

test('a node with no pending migrations does not wait for the lock', async () => {
  const url = await createEmptyDatabase();
  await migrate({ url, migrations, queue: true });
  await inSession(url, async (slow) => {
    await slow.query('SELECT pg_advisory_lock(5719024)');
    await migrate({ url, migrations, queue: true, deadlineMs: 50 });
    await slow.query("DELETE FROM migrations WHERE name LIKE 'AddLaneOrder%'");
    const attempt = migrate({ url, migrations, queue: true, deadlineMs: 50 });
    await expect(attempt).rejects.toThrow('Another node has been migrating this database');
  });
});

test('a service with its own login is granted the application role', async () => {
  const url = await createEmptyDatabase();
  const service = await createLogin('');
  await migrate({ url, serviceUrl: service.as(url), migrations, queue: true });
  expect(await query(applicationUrl(service.as(url)), 'SELECT current_user')).toEqual(['switchboard_app']);
  expect(
    await query(applicationUrl(service.as(url)), 'SELECT count(*)::int FROM bullmq.migration'),
  ).not.toEqual([0]);
});

test('an owner who is not a superuser migrates and serves under one login', async () => {
  const owner = await createLogin('');
  await administer(ownerUrl, `GRANT switchboard_app TO ${owner.name} WITH ADMIN OPTION`);
  const url = owner.as(await createEmptyDatabase(owner.name));
  await migrate({ url, migrations, queue: true });
  expect(await query(applicationUrl(url), 'SELECT session_user, current_user')).toEqual([
    owner.name,
    'switchboard_app',
  ]);
  await expect(query(applicationUrl(url), 'DROP TABLE migrations')).rejects.toThrow('must be owner');
});

test('an owner without the right to grant roles gets the SQL that an administrator must run', async () => {
  const owner = await createLogin('');
  const url = owner.as(await createEmptyDatabase(owner.name));
  const attempt = migrate({ url, migrations: [], queue: false });
  await expect(attempt).rejects.toThrow(`GRANT switchboard_app TO "${owner.name}";`);
});

/** Creates a uniquely named extension with one migration file, because roles are shared by the complete server. */
function createExtension(): { tables: ExtensionTables; role: string } {
  const extension = unique('ext').replaceAll('_', '-');
  const role = extensionRole(extension);
  createdObjects.push(`DROP ROLE IF EXISTS ${role}`);
  const text = 'CREATE TABLE own (id int)';
  return { tables: { extension, files: [{ name: '001-own.sql', text, digest: '0'.repeat(64) }] }, role };
}

const masterKey = 'the master key of these tests';

/** Creates the extension's tables; the database login is dropped after the tests. */
async function installTables(
  url: string,
  tables: ExtensionTables,
  key = masterKey,
): Promise<{ name: string; url: string }> {
  const name = extensionLoginName(tables.extension, url);
  const drop = `DROP ROLE IF EXISTS ${name}`;
  const position = createdObjects.findIndex((statement) =>
    statement.endsWith(` ${tables.extension.replaceAll('-', '_')}`),
  );
  if (!createdObjects.includes(drop)) createdObjects.splice(Math.max(position, 0), 0, drop);
  await migrate({ url, migrations, queue: true, extensions: { tables: [tables], masterKey: key } });
  return { name, url: urlForLogin(url, extensionLogin(tables.extension, url, key)) };
}

test('an owner who is not a superuser creates the tables of an extension, and its login can use them', async () => {
  const owner = await createLogin('CREATEROLE');
  await administer(ownerUrl, `GRANT switchboard_app TO ${owner.name} WITH ADMIN OPTION`);
  const { tables, role } = createExtension();
  const url = owner.as(await createEmptyDatabase(owner.name));
  const extensionAccess = await installTables(url, tables);
  expect(await query(url, `SELECT tableowner::text FROM pg_tables WHERE schemaname = '${role}'`)).toEqual([
    extensionAccess.name,
  ]);
  expect(
    await query(extensionAccess.url, `SELECT count(*)::int, session_user::text FROM ${role}.own`),
  ).toEqual([0, extensionAccess.name]);
  await expect(query(extensionAccess.url, 'SELECT * FROM public.organisation')).rejects.toThrow(
    'permission denied',
  );
  // The service's own rights do not include the extension's schema.
  await expect(query(applicationUrl(url), `SELECT * FROM ${role}.own`)).rejects.toThrow('permission denied');
});

test('migrate fails with the SQL for an administrator if the owner cannot create the login of an extension', async () => {
  const owner = await createLogin('');
  await administer(ownerUrl, `GRANT switchboard_app TO ${owner.name} WITH ADMIN OPTION`);
  const { tables, role } = createExtension();
  const url = owner.as(await createEmptyDatabase(owner.name));
  const refusal = await installTables(url, tables).then(
    () => 'it started',
    (error: Error) => error.message,
  );
  expect(refusal).toContain(
    `The extension ${tables.extension} cannot be used: the database user ${owner.name} may not`,
  );
  const [, advice = ''] = /Let an administrator run: (.*)$/.exec(refusal) ?? [];
  const name = extensionLoginName(tables.extension, url);
  expect(advice).toContain(`CREATE ROLE ${role} NOLOGIN; CREATE ROLE ${name} LOGIN PASSWORD 'SCRAM-SHA-256$`);
  expect(advice).toContain(`GRANT ${role}, ${name} TO ${owner.name} WITH ADMIN OPTION;`);
  const administrator = new URL(ownerUrl);
  administrator.pathname = new URL(url).pathname;
  await administer(administrator.href, advice);
  const extensionAccess = await installTables(url, tables);
  expect(await query(url, 'SELECT name FROM extension_migration')).toEqual(['001-own.sql']);
  expect(await query(extensionAccess.url, `SELECT count(*)::int FROM ${role}.own`)).toEqual([0]);
});

test('extension tables of the previous version, owned by the schema role, are handed over to the login', async () => {
  const { tables, role } = createExtension();
  const url = await createEmptyDatabase();
  await migrate({ url, migrations, queue: true });
  await administer(
    url,
    `CREATE ROLE ${role} NOLOGIN; GRANT ${role} TO switchboard_app WITH INHERIT FALSE;
     CREATE SCHEMA ${role} AUTHORIZATION ${role}; SET ROLE ${role};
     CREATE TABLE ${role}.own (id int); INSERT INTO ${role}.own VALUES (7);
     CREATE FUNCTION ${role}.seven() RETURNS int LANGUAGE sql AS 'SELECT 7'; RESET ROLE;
     INSERT INTO extension_migration (extension, name, digest)
       VALUES ('${tables.extension}', '001-own.sql', '${'0'.repeat(64)}')`,
  );
  const extensionAccess = await installTables(url, tables);
  expect(
    await query(extensionAccess.url, `DELETE FROM ${role}.own WHERE id = ${role}.seven() RETURNING id`),
  ).toEqual([7]);
  expect(await query(extensionAccess.url, `ALTER TABLE ${role}.own ADD COLUMN more int`)).toEqual([]);
  // Nodes of that version keep working during the update under the role that still owns the schema.
  const inRole = withSessionSettings(applicationUrl(url), { role });
  expect(await query(inRole, `INSERT INTO ${role}.own VALUES (8) RETURNING id`)).toEqual([8]);
  expect(
    await query(url, `SELECT nspowner::regrole::text FROM pg_namespace WHERE nspname = '${role}'`),
  ).toEqual([role]);
});

test('a copy of a database under another name gets its own extension logins', async () => {
  const { tables, role } = createExtension();
  const url = await createEmptyDatabase();
  const extensionAccess = await installTables(url, tables);
  const copy = unique('copy');
  await administer(ownerUrl, `CREATE DATABASE ${copy} TEMPLATE ${new URL(url).pathname.slice(1)}`);
  createdObjects.push(`DROP DATABASE ${copy} WITH (FORCE)`);
  const copyAccess = await installTables(inDatabase(url, copy), tables, 'another master key');
  expect(copyAccess.name).not.toBe(extensionAccess.name);
  expect(await query(copyAccess.url, `SELECT count(*)::int FROM ${role}.own`)).toEqual([0]);
  expect(await query(extensionAccess.url, `SELECT count(*)::int FROM ${role}.own`)).toEqual([0]);
  await expect(
    query(
      urlForLogin(inDatabase(url, copy), extensionLogin(tables.extension, url, masterKey)),
      `SELECT * FROM ${role}.own`,
    ),
  ).rejects.toThrow('permission denied');
});

test('the extension login is accepted under a new MASTER_KEY if the former key is listed', async () => {
  const { tables, role } = createExtension();
  const url = await createEmptyDatabase();
  await installTables(url, tables);
  const nextAccess = await installTables(url, tables, `the next master key,${masterKey}`);
  expect(await query(nextAccess.url, `SELECT count(*)::int FROM ${role}.own`)).toEqual([0]);
  expect(await query((await installTables(url, tables, 'the next master key')).url, 'SELECT 1')).toEqual([1]);
  const attempt = installTables(url, tables, 'a foreign master key');
  await expect(attempt).rejects.toThrow(
    `the database does not let its login ${nextAccess.name} in (password authentication failed for user "${nextAccess.name}"). ` +
      'Its password comes from MASTER_KEY',
  );
  expect(await query(nextAccess.url, 'SELECT 1')).toEqual([1]);
  await administer(ownerUrl, `ALTER ROLE ${nextAccess.name} NOLOGIN`);
  const lastAccess = await installTables(url, tables, 'a foreign master key');
  expect(await query(lastAccess.url, `SELECT count(*)::int FROM ${role}.own`)).toEqual([0]);
});

test.each([
  ['SUPERUSER', (name: string) => `ALTER ROLE ${name} SUPERUSER`],
  ['a membership', (name: string) => `GRANT switchboard_app TO ${name}`],
])('an extension whose login has %s is refused', async (_what, change) => {
  const { tables } = createExtension();
  const url = await createEmptyDatabase();
  const { name } = await installTables(url, tables);
  await administer(ownerUrl, change(name));
  await expect(installTables(url, tables)).rejects.toThrow(
    `the login ${name} has to be without attributes, a member of no role`,
  );
});

test('an existing schema of another owner is not adopted for an extension', async () => {
  const { tables, role } = createExtension();
  const url = await createEmptyDatabase();
  await administer(url, `CREATE SCHEMA ${role}`);
  const attempt = installTables(url, tables);
  await expect(attempt).rejects.toThrow(`the database has a role or a schema ${role} of other make`);
});

test('an entity that does not match its table is reported', async () => {
  @Entity({ name: 'organisation' })
  class UnmatchedEntity {
    @PrimaryColumn()
    id: number;

    @Column()
    motto: string;
  }
  expect((await findDrift([UnmatchedEntity])).join('\n')).toContain('ADD "motto"');
});
