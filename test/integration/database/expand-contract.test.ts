import { Client } from 'pg';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { migrations } from '#migrations';
import type { Migration } from '../../../src/platform/database/data-source';
import { migrate } from '#inside/platform/database/migrate';
import { startTestApp, type TestApp } from '../../support/app';
import { administer, createTestDatabase, inDatabase, type TestDatabase } from '../../support/postgres';
import { startSimulator, type Simulator } from '../../support/simulator';
import { testServer } from '../../support/test-server';
import { findBreakingChanges, readShape } from './schema-changes';

/** The last migration of the initial schema; later ones run while an older version uses the database. */
const BASELINE = 'CreateIdempotentAnswers1763700320000';

/** Accepted violations of the rule, with the objects they break and why that is safe. */
const exceptions: Readonly<Record<string, readonly string[]>> = {};

/** Creates a migration as a later version could add it. */
function laterMigration(name: string, sql: string): Migration {
  return class implements MigrationInterface {
    readonly name = name;
    async up(runner: QueryRunner): Promise<void> {
      await runner.query(sql);
    }
    async down(): Promise<void> {}
  };
}

describe('Migrations only add, so that the previous version keeps working', () => {
  const name = `expand_${process.pid}_${Date.now()}`;
  const { ownerUrl } = testServer();
  const url = inDatabase(ownerUrl, name);
  const first = migrations.findIndex((migration) => migration.name === BASELINE) + 1;
  const upTo = (list: readonly Migration[]): Promise<void> =>
    migrate({ url, migrations: list, queue: false });

  const client = new Client({ connectionString: url });

  beforeAll(async () => {
    await administer(ownerUrl, `CREATE DATABASE ${name}`);
    await upTo(migrations.slice(0, first));
    await client.connect();
  });
  afterAll(async () => {
    await client.end();
    await administer(ownerUrl, `DROP DATABASE ${name} WITH (FORCE)`);
  });

  test('the baseline is a known migration', () => expect(first).toBeGreaterThan(0));

  test('every migration since the baseline only adds', async () => {
    const violations: Record<string, readonly string[]> = {};
    let shapeBefore = await readShape(client);
    for (let index = first; index < migrations.length; index += 1) {
      await upTo(migrations.slice(0, index + 1));
      const shapeAfter = await readShape(client);
      const problems = findBreakingChanges(shapeBefore, shapeAfter);
      if (problems.length > 0) violations[migrations[index]!.name] = problems;
      shapeBefore = shapeAfter;
    }
    expect(shapeBefore.tables.size).toBeGreaterThan(20);
    expect(violations).toEqual(exceptions);
  });

  test.each([
    ['ALTER TABLE api_key DROP COLUMN created_by', ['api_key.created_by is gone']],
    [
      'ALTER TABLE api_key RENAME COLUMN created_by TO title',
      ['api_key.created_by is gone', 'api_key.title is new and has to be given'],
    ],
    ['ALTER TABLE session RENAME TO visit', ['session is gone']],
    [
      'ALTER TABLE organisation ADD COLUMN motto text NOT NULL',
      ['organisation.motto is new and has to be given'],
    ],
    [
      'ALTER TABLE api_key ALTER COLUMN created_by TYPE varchar(200)',
      ['api_key.created_by has another type'],
    ],
    [
      'ALTER TABLE api_key ALTER COLUMN expires_at SET NOT NULL',
      ['api_key.expires_at has to have a value now'],
    ],
    [
      'ALTER TABLE request_record ALTER COLUMN calls DROP DEFAULT',
      ['request_record.calls has lost its default'],
    ],
    [
      'DROP FUNCTION drop_request_record_partitions(date)',
      ['the function drop_request_record_partitions(date) is gone'],
    ],
    ['ALTER TABLE organisation ADD COLUMN motto text', []],
    ["ALTER TABLE organisation ADD COLUMN motto text NOT NULL DEFAULT ''", []],
    ['CREATE TABLE visit (id bigint PRIMARY KEY, at timestamptz NOT NULL)', []],
    ['CREATE INDEX ON api_key (name)', []],
  ])('the check reports breaking changes only: %s', async (sql, wrong) => {
    const shapeBefore = await readShape(client);
    await client.query('BEGIN');
    await client.query(sql);
    const shapeAfter = await readShape(client);
    await client.query('ROLLBACK');
    expect(findBreakingChanges(shapeBefore, shapeAfter)).toEqual(wrong);
  });
});

/** Adds a nullable column, a generated column and an index to every table, and an unknown table. */
const expansion = `
  DO $$
  DECLARE
    name text;
  BEGIN
    FOR name IN SELECT tablename FROM pg_tables
                 WHERE schemaname = 'public' AND tablename <> 'migrations' AND tablename !~ '^request_record_'
    LOOP
      EXECUTE format('ALTER TABLE %I ADD COLUMN added_later text', name);
      EXECUTE format('ALTER TABLE %I ADD COLUMN added_and_filled integer NOT NULL DEFAULT 7', name);
      EXECUTE format('CREATE INDEX ON %I (added_later)', name);
    END LOOP;
    CREATE TABLE made_later (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, word text NOT NULL);
  END $$`;

describe('A node whose database was migrated by a later version', () => {
  const environment = { KEY_PEPPER: 'pepper of both nodes', MASTER_KEY: 'master key of both nodes' };
  let database: TestDatabase;
  let supplier: Simulator;
  let node: TestApp;
  let demo: string;
  let root: string;

  const start = (): Promise<TestApp> =>
    startTestApp({ sandboxUrl: supplier.url, sharedDatabase: database, environment });
  const chat = (content: string, stream = false): Promise<Response> =>
    fetch(`${node.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${demo}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sim-small', stream, messages: [{ role: 'user', content }] }),
    });
  const manage = async (method: string, path: string, body?: object): Promise<Record<string, unknown>> => {
    const answer = await fetch(`${node.url}/v1/manage/keys${path}`, {
      method,
      headers: { authorization: `Bearer ${root}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    expect(answer.ok).toBe(true);
    return (await answer.json()) as Record<string, unknown>;
  };
  const costOf = async ({ headers }: Response): Promise<unknown> => {
    const rows = await node.database.query<{ paid: boolean; added_and_filled?: number }>(
      'SELECT cost_nano > 0 AS paid, added_and_filled FROM request_record WHERE request_id = $1',
      [headers.get('x-request-id')],
    );
    return rows;
  };
  const expectedCharge = [{ paid: true, added_and_filled: 7 }];

  beforeAll(async () => {
    [database, supplier] = await Promise.all([createTestDatabase(), startSimulator()]);
    node = await start();
    demo = node.firstKeys?.demo ?? '';
    root = node.firstKeys?.root ?? '';
  });
  afterAll(async () => {
    await node.close();
    await supplier.stop();
    await database.drop();
  });

  test('keeps serving, and completes and charges requests in progress', async () => {
    const openStream = await chat('go on [[tokens=40]] [[pace=20]]', true);
    const version = laterMigration('LaterVersion9999999999999', expansion);
    await migrate({ url: database.ownerUrl, migrations: [...migrations, version], queue: true });
    expect(await openStream.text()).toContain('data: [DONE]');
    expect(await costOf(openStream)).toEqual(expectedCharge);
    const nextResponse = await chat('and now');
    expect([nextResponse.status, await nextResponse.json()]).toMatchObject([
      200,
      { object: 'chat.completion' },
    ]);
    expect(await costOf(nextResponse)).toEqual(expectedCharge);
  });

  test('creates, changes and revokes keys', async () => {
    const { id } = await manage('POST', '', { name: 'made meanwhile', budget_limit: 5 });
    await manage('PATCH', `/${String(id)}`, { name: 'changed meanwhile' });
    expect(await manage('GET', `/${String(id)}`)).toMatchObject({ name: 'changed meanwhile' });
    await manage('DELETE', `/${String(id)}`);
  });

  test('restarts, as after a downgrade', async () => {
    await node.close();
    node = await start();
    expect(node.firstKeys).toBeNull();
    const answer = await chat('once more');
    expect(answer.status).toBe(200);
    await answer.json();
    expect(await costOf(answer)).toEqual(expectedCharge);
    const columns = await node.database.query(
      "SELECT column_name FROM information_schema.columns WHERE table_name = 'api_key' AND column_name = 'added_later'",
    );
    expect(columns).toHaveLength(1);
  });
});
