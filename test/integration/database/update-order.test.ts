import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { migrations } from '#migrations';
import type { Migration } from '../../../src/platform/database/data-source';
import { migrate, type MigrationProgress } from '#inside/platform/database/migrate';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';
import { until } from '../../support/until';

let database: TestDatabase;
let owner: Client;
beforeEach(async () => {
  database = await createTestDatabase();
  owner = new Client({ connectionString: database.ownerUrl });
  await owner.connect();
});
afterEach(async () => {
  await owner.end();
  await database.drop();
});

/** Creates a migration as a later version could add it. */
function laterMigration(name: string, sql: string): Migration {
  return class implements MigrationInterface {
    readonly name = name;
    static {
      Object.defineProperty(this, 'name', { value: name });
    }
    async up(runner: QueryRunner): Promise<void> {
      await runner.query(sql);
    }
    async down(): Promise<void> {}
  };
}

const update = (
  extraMigrations: readonly Migration[],
  report?: (progress: MigrationProgress) => void,
): Promise<void> =>
  migrate({
    url: database.ownerUrl,
    serviceUrl: database.url,
    migrations: [...extraMigrations, ...migrations],
    queue: false,
    ...(report && { report }),
  });
const isFunctions = ({ name }: { name: string }): boolean => name.startsWith('LoadMoneyFunctions_');
const removeFunctionLoads = (): Promise<unknown> =>
  owner.query(
    "UPDATE migrations SET name = 'LoadMoneyFunctions_0123456789ab_1763800310000' WHERE name LIKE 'LoadMoneyFunctions\\_%'",
  );

test('functions are loaded once all tables that they reference exist', async () => {
  expect(isFunctions(migrations.at(-1)!)).toBe(true);
  await removeFunctionLoads();
  const { rows: before } = await owner.query<{ id: number }>('SELECT max(id) AS id FROM migrations');
  await update([laterMigration('Expand9000000000000', 'CREATE TABLE expanded (id int)')]);
  const { rows } = await owner.query<{ name: string }>(
    'SELECT name FROM migrations WHERE id > $1 ORDER BY id',
    [before[0]?.id],
  );
  expect(rows.map(({ name }) => name)).toEqual(['Expand9000000000000', migrations.at(-1)?.name]);
});

test('an update reports each step, and reports nothing without pending migrations', async () => {
  const progressReports: MigrationProgress[] = [];
  const note = (progress: MigrationProgress): void => void progressReports.push(progress);
  await update([], note);
  expect(progressReports).toEqual([]);
  const extraMigrations = [
    laterMigration('One9000000000001', 'SELECT 1'),
    laterMigration('Two9000000000002', 'SELECT 2'),
  ];
  await update(extraMigrations, note);
  expect(progressReports).toMatchObject([
    { step: 'begins', migration: 'One9000000000001', number: 1, of: 2 },
    { step: 'done', migration: 'One9000000000001', number: 1, of: 2 },
    { step: 'begins', migration: 'Two9000000000002', number: 2, of: 2 },
    { step: 'done', migration: 'Two9000000000002', number: 2, of: 2 },
  ]);
});

test('a migration that waits for a lock does not block other sessions and gets the lock eventually', async () => {
  const lockHolder = new Client({ connectionString: database.ownerUrl });
  await lockHolder.connect();
  const reports: string[] = [];
  try {
    await lockHolder.query('BEGIN; SELECT count(*) FROM organisation');
    const name = `added_${randomBytes(3).toString('hex')}`;
    const updating = update(
      [laterMigration('Wide9000000000000', `ALTER TABLE organisation ADD COLUMN ${name} text`)],
      ({ step }) => void reports.push(step),
    );
    await until(() => Promise.resolve(reports.includes('waits')));
    // Another session reads the table while the migration waits for an exclusive lock.
    const { rowCount } = await owner.query({ text: 'SELECT FROM organisation LIMIT 0' });
    expect(rowCount).toBe(0);
    await lockHolder.query('COMMIT');
    await updating;
    expect(reports.at(-1)).toBe('done');
  } finally {
    await lockHolder.end();
  }
});

test('a long migration reports its progress every second, with the phase of an index build', async () => {
  class Build implements MigrationInterface {
    readonly name = 'Build9000000000000';
    readonly transaction = false;
    async up(runner: QueryRunner): Promise<void> {
      await runner.query('CREATE INDEX CONCURRENTLY built ON organisation (id)');
    }
    async down(): Promise<void> {}
  }
  const writer = new Client({ connectionString: database.ownerUrl });
  await writer.connect();
  const progressReports: MigrationProgress[] = [];
  try {
    await writer.query('BEGIN; LOCK TABLE organisation IN ROW EXCLUSIVE MODE');
    const updating = update([Build], (progress) => void progressReports.push(progress));
    const continueReports = (): MigrationProgress[] =>
      progressReports.filter(({ step }) => step === 'continues');
    await until(() => Promise.resolve(continueReports().length >= 2));
    await writer.query('COMMIT');
    await updating;
    expect(continueReports()[1]).toMatchObject({
      migration: 'Build9000000000000',
      phase: 'waiting for writers before build',
    });
    expect(progressReports.at(-1)).toMatchObject({ step: 'done' });
  } finally {
    await writer.end();
  }
});

/** A node and a migration lock two tables in opposite order; PostgreSQL aborts the migration. */
describe('A migration aborted by a deadlock', () => {
  let node: Client;
  beforeEach(async () => {
    await owner.query('CREATE TABLE first (id int); CREATE TABLE second (id int)');
    node = new Client({ connectionString: database.ownerUrl });
    await node.connect();
    // PostgreSQL aborts the session that detects the deadlock, and this session never checks.
    await node.query(`SET deadlock_timeout = '1h'`);
  });
  afterEach(() => node.end());

  const isWaiting = async (): Promise<boolean> => {
    const { rowCount } = await owner.query(
      `SELECT FROM pg_locks WHERE relation = 'first'::regclass AND NOT granted`,
    );
    return rowCount === 1;
  };

  test("is retried once the node's transaction has ended", async () => {
    const errorCodes: (string | undefined)[] = [];
    const reports: string[] = [];
    let nodeHasBoth: Promise<unknown> | undefined;
    class Crossing implements MigrationInterface {
      readonly name = 'Crossing9000000000000';
      async up(runner: QueryRunner): Promise<void> {
        await runner.query(`SET LOCAL lock_timeout = 0; SET LOCAL deadlock_timeout = '1ms'`);
        await runner.query('ALTER TABLE first ADD COLUMN added int');
        if (nodeHasBoth === undefined) {
          nodeHasBoth = node.query('LOCK TABLE first');
          await until(isWaiting);
        }
        await runner.query('ALTER TABLE second ADD COLUMN added int').catch((error: { code?: string }) => {
          errorCodes.push(error.code);
          throw error;
        });
      }
      async down(): Promise<void> {}
    }
    await node.query('BEGIN; LOCK TABLE second');
    await update([Crossing], ({ step }) => {
      reports.push(step);
      if (step === 'waits') void nodeHasBoth?.then(() => node.query('COMMIT'));
    });
    expect(errorCodes).toEqual(['40P01']);
    expect(reports.filter((step) => step !== 'continues')).toEqual(['begins', 'waits', 'done']);
    await owner.query('SELECT f.added, s.added FROM first f, second s');
  });

  test('is not retried if it is not transactional', async () => {
    let attempts = 0;
    class Lasting implements MigrationInterface {
      readonly name = 'Lasting9000000000000';
      readonly transaction = false;
      async up(runner: QueryRunner): Promise<void> {
        attempts += 1;
        await runner.query(
          `DO $$ BEGIN RAISE 'deadlock detected' USING ERRCODE = 'deadlock_detected'; END $$`,
        );
      }
      async down(): Promise<void> {}
    }
    await expect(update([Lasting])).rejects.toThrow('Lasting9000000000000 failed: deadlock detected');
    expect(attempts).toBe(1);
  });
});
