import { Client } from 'pg';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { migrations } from '#migrations';
import type { Migration } from '../../../src/platform/database/data-source';
import { migrate } from '#inside/platform/database/migrate';
import { startTestApp, type TestApp } from '../../support/app';
import { administer, createTestDatabase, inDatabase, type TestDatabase } from '../../support/postgres';
import { startSimulator, type Simulator } from '../../support/simulator';
import { testServer } from '../../support/test-server';
import { broken, shapeOf } from './schema-changes';

/** The last migration that made things from nothing. Those after it meet databases that an older version works on. */
const BASELINE = 'CreateIdempotentAnswers1763700320000';

/** Migrations that break the rule all the same, with what they break and why nobody is hurt. */
const exceptions: Readonly<Record<string, readonly string[]>> = {};

/** A migration as a later version might bring it. */
function later(name: string, sql: string): Migration {
  return class implements MigrationInterface {
    readonly name = name;
    async up(runner: QueryRunner): Promise<void> {
      await runner.query(sql);
    }
    async down(): Promise<void> {}
  };
}

describe('a migration only adds, so that the version before it goes on', () => {
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

  test('the baseline is one of them', () => expect(first).toBeGreaterThan(0));

  test('every one since the baseline', async () => {
    const found: Record<string, readonly string[]> = {};
    let before = await shapeOf(client);
    for (let place = first; place < migrations.length; place += 1) {
      await upTo(migrations.slice(0, place + 1));
      const after = await shapeOf(client);
      const wrong = broken(before, after);
      if (wrong.length > 0) found[migrations[place]!.name] = wrong;
      before = after;
    }
    expect(before.tables.size).toBeGreaterThan(20);
    expect(found).toEqual(exceptions);
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
  ])('what is found wrong with: %s', async (sql, wrong) => {
    const before = await shapeOf(client);
    await client.query('BEGIN');
    await client.query(sql);
    const after = await shapeOf(client);
    await client.query('ROLLBACK');
    expect(broken(before, after)).toEqual(wrong);
  });
});

/** A column that may be empty, one that fills itself, and an index, for every table; and a table nobody knows. */
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

describe('a node whose database a later version has migrated', () => {
  const environment = { KEY_PEPPER: 'pepper of both nodes', MASTER_KEY: 'master key of both nodes' };
  let database: TestDatabase;
  let supplier: Simulator;
  let node: TestApp;
  let demo: string;
  let root: string;

  const start = (): Promise<TestApp> =>
    startTestApp({ sandboxUrl: supplier.url, sharedDatabase: database, environment });
  const ask = (content: string, stream = false): Promise<Response> =>
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
  const once = [{ paid: true, added_and_filled: 7 }];

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

  test('serves on, and finishes and charges what was under way', async () => {
    const open = await ask('go on [[tokens=40]] [[pace=20]]', true);
    const version = later('LaterVersion9999999999999', expansion);
    await migrate({ url: database.ownerUrl, migrations: [...migrations, version], queue: true });
    expect(await open.text()).toContain('data: [DONE]');
    expect(await costOf(open)).toEqual(once);
    const next = await ask('and now');
    expect([next.status, await next.json()]).toMatchObject([200, { object: 'chat.completion' }]);
    expect(await costOf(next)).toEqual(once);
  });

  test('makes, changes and ends keys', async () => {
    const { id } = await manage('POST', '', { name: 'made meanwhile', budget_limit: 5 });
    await manage('PATCH', `/${String(id)}`, { name: 'changed meanwhile' });
    expect(await manage('GET', `/${String(id)}`)).toMatchObject({ name: 'changed meanwhile' });
    await manage('DELETE', `/${String(id)}`);
  });

  test('starts anew, as after a way back to the version before', async () => {
    await node.close();
    node = await start();
    expect(node.firstKeys).toBeNull();
    const answer = await ask('once more');
    expect(answer.status).toBe(200);
    await answer.json();
    expect(await costOf(answer)).toEqual(once);
    const columns = await node.database.query(
      "SELECT column_name FROM information_schema.columns WHERE table_name = 'api_key' AND column_name = 'added_later'",
    );
    expect(columns).toHaveLength(1);
  });
});
