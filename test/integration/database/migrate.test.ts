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
import { driftOf } from '../../support/drift';
import { administer, inDatabase, inSession } from '../../support/postgres';
import { testServer } from '../../support/test-server';

const made: string[] = [];
const { ownerUrl } = testServer();

afterAll(async () => {
  for (const statement of made.reverse()) await administer(ownerUrl, statement);
});

const unique = (word: string) => `${word}_${randomBytes(5).toString('hex')}`;

async function emptyDatabase(owner?: string): Promise<string> {
  const name = unique('empty');
  await administer(ownerUrl, `CREATE DATABASE ${name}${owner ? ` OWNER ${owner}` : ''}`);
  made.push(`DROP DATABASE ${name} WITH (FORCE)`);
  return inDatabase(ownerUrl, name);
}

async function login(rights: string): Promise<{ name: string; as: (url: string) => string }> {
  const name = unique('login');
  await administer(ownerUrl, `CREATE ROLE ${name} LOGIN PASSWORD 'word' ${rights}`);
  made.push(`DROP ROLE ${name}`);
  const as = (url: string) => {
    const address = new URL(url);
    address.username = name;
    address.password = 'word';
    return address.href;
  };
  return { name, as };
}

const ask = (url: string, sql: string): Promise<unknown[]> =>
  inSession(url, async (session) =>
    (await session.query<unknown[]>({ text: sql, rowMode: 'array' })).rows.flat(),
  );

const applied = 'SELECT name FROM migrations ORDER BY id';

test('two nodes that start at once migrate an empty database once', async () => {
  const url = await emptyDatabase();
  const node = () => runChild(join(__dirname, 'migrate-once.process.ts'), [url]).finish();
  expect(await Promise.all([node(), node()])).toMatchObject(Array(2).fill({ code: 0, complaint: '' }));
  expect(await ask(url, applied)).toEqual(migrations.map(({ name }) => name));
});

test('a migration that fails is undone, and those before it stand', async () => {
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
  const url = await emptyDatabase();
  const attempt = migrate({ url, migrations: [First1763600000001, Broken1763600000002], queue: false });
  await expect(attempt).rejects.toThrow('The migration Broken1763600000002 failed: division by zero');
  expect(await ask(url, applied)).toEqual(['First1763600000001']);
  expect(await ask(url, `SELECT to_regclass('first')::text, to_regclass('second')::text`)).toEqual([
    'first',
    null,
  ]);
});

test('a node that waits too long for its turn says whom it waits for', async () => {
  const url = await emptyDatabase();
  await inSession(url, async (slow) => {
    await slow.query('SELECT pg_advisory_lock(5719024)');
    const attempt = migrate({ url, migrations, queue: false, deadlineMs: 50 });
    await expect(attempt).rejects.toThrow('Another node has been migrating this database');
  });
});

test('a node that finds nothing to do waits for nobody', async () => {
  const url = await emptyDatabase();
  await migrate({ url, migrations, queue: true });
  await inSession(url, async (slow) => {
    await slow.query('SELECT pg_advisory_lock(5719024)');
    await migrate({ url, migrations, queue: true, deadlineMs: 50 });
    await slow.query("DELETE FROM migrations WHERE name LIKE 'AddLaneOrder%'");
    const attempt = migrate({ url, migrations, queue: true, deadlineMs: 50 });
    await expect(attempt).rejects.toThrow('Another node has been migrating this database');
  });
});

test('a service with a login of its own is admitted to the application role', async () => {
  const url = await emptyDatabase();
  const service = await login('');
  await migrate({ url, serviceUrl: service.as(url), migrations, queue: true });
  expect(await ask(applicationUrl(service.as(url)), 'SELECT current_user')).toEqual(['switchboard_app']);
  expect(
    await ask(applicationUrl(service.as(url)), 'SELECT count(*)::int FROM bullmq.migration'),
  ).not.toEqual([0]);
});

test('an owner that is no superuser migrates and serves under one login', async () => {
  const owner = await login('');
  await administer(ownerUrl, `GRANT switchboard_app TO ${owner.name} WITH ADMIN OPTION`);
  const url = owner.as(await emptyDatabase(owner.name));
  await migrate({ url, migrations, queue: true });
  expect(await ask(applicationUrl(url), 'SELECT session_user, current_user')).toEqual([
    owner.name,
    'switchboard_app',
  ]);
  await expect(ask(applicationUrl(url), 'DROP TABLE migrations')).rejects.toThrow('must be owner');
});

test('an owner that may not admit anybody is told what an administrator has to run', async () => {
  const owner = await login('');
  const url = owner.as(await emptyDatabase(owner.name));
  const attempt = migrate({ url, migrations: [], queue: false });
  await expect(attempt).rejects.toThrow(`GRANT switchboard_app TO "${owner.name}";`);
});

/** An extension of its own, as roles belong to the whole server, with one file. */
function someExtension(): { tables: ExtensionTables; role: string } {
  const extension = unique('ext').replaceAll('_', '-');
  const role = extensionRole(extension);
  made.push(`DROP ROLE IF EXISTS ${role}`);
  const text = 'CREATE TABLE own (id int)';
  return { tables: { extension, files: [{ name: '001-own.sql', text, digest: '0'.repeat(64) }] }, role };
}

const masterKey = 'the master key of these tests';

/** Its login in the database is dropped after the tests. */
async function withTables(
  url: string,
  tables: ExtensionTables,
  key = masterKey,
): Promise<{ name: string; url: string }> {
  const name = extensionLoginName(tables.extension, url);
  const drop = `DROP ROLE IF EXISTS ${name}`;
  const place = made.findIndex((statement) =>
    statement.endsWith(` ${tables.extension.replaceAll('-', '_')}`),
  );
  if (!made.includes(drop)) made.splice(Math.max(place, 0), 0, drop);
  await migrate({ url, migrations, queue: true, extensions: { tables: [tables], masterKey: key } });
  return { name, url: urlForLogin(url, extensionLogin(tables.extension, url, key)) };
}

test('an owner that is no superuser makes the tables of an extension, and its login works on them', async () => {
  const owner = await login('CREATEROLE');
  await administer(ownerUrl, `GRANT switchboard_app TO ${owner.name} WITH ADMIN OPTION`);
  const { tables, role } = someExtension();
  const url = owner.as(await emptyDatabase(owner.name));
  const own = await withTables(url, tables);
  expect(await ask(url, `SELECT tableowner::text FROM pg_tables WHERE schemaname = '${role}'`)).toEqual([
    own.name,
  ]);
  expect(await ask(own.url, `SELECT count(*)::int, session_user::text FROM ${role}.own`)).toEqual([
    0,
    own.name,
  ]);
  await expect(ask(own.url, 'SELECT * FROM public.organisation')).rejects.toThrow('permission denied');
  // The rights of the service itself are not wider for it.
  await expect(ask(applicationUrl(url), `SELECT * FROM ${role}.own`)).rejects.toThrow('permission denied');
});

test('migrate fails with the SQL for an administrator if the owner cannot create the login of an extension', async () => {
  const owner = await login('');
  await administer(ownerUrl, `GRANT switchboard_app TO ${owner.name} WITH ADMIN OPTION`);
  const { tables, role } = someExtension();
  const url = owner.as(await emptyDatabase(owner.name));
  const refusal = await withTables(url, tables).then(
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
  const own = await withTables(url, tables);
  expect(await ask(url, 'SELECT name FROM extension_migration')).toEqual(['001-own.sql']);
  expect(await ask(own.url, `SELECT count(*)::int FROM ${role}.own`)).toEqual([0]);
});

test('tables that the version before made under the role of their schema go to the login', async () => {
  const { tables, role } = someExtension();
  const url = await emptyDatabase();
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
  const own = await withTables(url, tables);
  expect(await ask(own.url, `DELETE FROM ${role}.own WHERE id = ${role}.seven() RETURNING id`)).toEqual([7]);
  expect(await ask(own.url, `ALTER TABLE ${role}.own ADD COLUMN more int`)).toEqual([]);
  // Nodes of that version work on during the update, under the role that still owns the schema.
  const inRole = withSessionSettings(applicationUrl(url), { role });
  expect(await ask(inRole, `INSERT INTO ${role}.own VALUES (8) RETURNING id`)).toEqual([8]);
  expect(
    await ask(url, `SELECT nspowner::regrole::text FROM pg_namespace WHERE nspname = '${role}'`),
  ).toEqual([role]);
});

test('a copy of a database under another name gets logins of its own', async () => {
  const { tables, role } = someExtension();
  const url = await emptyDatabase();
  const own = await withTables(url, tables);
  const copy = unique('copy');
  await administer(ownerUrl, `CREATE DATABASE ${copy} TEMPLATE ${new URL(url).pathname.slice(1)}`);
  made.push(`DROP DATABASE ${copy} WITH (FORCE)`);
  const other = await withTables(inDatabase(url, copy), tables, 'another master key');
  expect(other.name).not.toBe(own.name);
  expect(await ask(other.url, `SELECT count(*)::int FROM ${role}.own`)).toEqual([0]);
  expect(await ask(own.url, `SELECT count(*)::int FROM ${role}.own`)).toEqual([0]);
  await expect(
    ask(
      urlForLogin(inDatabase(url, copy), extensionLogin(tables.extension, url, masterKey)),
      `SELECT * FROM ${role}.own`,
    ),
  ).rejects.toThrow('permission denied');
});

test('the login of an extension follows MASTER_KEY as long as the former key is named', async () => {
  const { tables, role } = someExtension();
  const url = await emptyDatabase();
  await withTables(url, tables);
  const next = await withTables(url, tables, `the next master key,${masterKey}`);
  expect(await ask(next.url, `SELECT count(*)::int FROM ${role}.own`)).toEqual([0]);
  expect(await ask((await withTables(url, tables, 'the next master key')).url, 'SELECT 1')).toEqual([1]);
  const attempt = withTables(url, tables, 'a foreign master key');
  await expect(attempt).rejects.toThrow(
    `the database does not let its login ${next.name} in (password authentication failed for user "${next.name}"). ` +
      'Its password comes from MASTER_KEY',
  );
  expect(await ask(next.url, 'SELECT 1')).toEqual([1]);
  await administer(ownerUrl, `ALTER ROLE ${next.name} NOLOGIN`);
  const last = await withTables(url, tables, 'a foreign master key');
  expect(await ask(last.url, `SELECT count(*)::int FROM ${role}.own`)).toEqual([0]);
});

test.each([
  ['SUPERUSER', (name: string) => `ALTER ROLE ${name} SUPERUSER`],
  ['a membership', (name: string) => `GRANT switchboard_app TO ${name}`],
])('refuses an extension whose login has %s', async (_what, change) => {
  const { tables } = someExtension();
  const url = await emptyDatabase();
  const { name } = await withTables(url, tables);
  await administer(ownerUrl, change(name));
  await expect(withTables(url, tables)).rejects.toThrow(
    `the login ${name} has to be without attributes, a member of no role`,
  );
});

test('a schema that somebody else made is not taken for that of an extension', async () => {
  const { tables, role } = someExtension();
  const url = await emptyDatabase();
  await administer(url, `CREATE SCHEMA ${role}`);
  const attempt = withTables(url, tables);
  await expect(attempt).rejects.toThrow(`the database has a role or a schema ${role} of other make`);
});

test('an entity that does not fit its table is found', async () => {
  @Entity({ name: 'organisation' })
  class Stranger {
    @PrimaryColumn()
    id: number;

    @Column()
    motto: string;
  }
  expect((await driftOf([Stranger])).join('\n')).toContain('ADD "motto"');
});
