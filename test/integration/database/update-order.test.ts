import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { migrations } from '../../../migrations';
import type { Migration } from '../../../src/platform/database/data-source';
import { migrate, type MigrationProgress } from '../../../src/platform/database/migrate';
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

/** As a later version might bring it. */
function later(name: string, sql: string): Migration {
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

const update = (added: readonly Migration[], report?: (progress: MigrationProgress) => void): Promise<void> =>
  migrate({
    url: database.ownerUrl,
    serviceUrl: database.url,
    migrations: [...added, ...migrations],
    queue: false,
    ...(report && { report }),
  });
const isFunctions = ({ name }: { name: string }): boolean => name.startsWith('LoadMoneyFunctions_');
const asLeftByAnOlderVersion = (): Promise<unknown> =>
  owner.query(
    "UPDATE migrations SET name = 'LoadMoneyFunctions_0123456789ab_1763800310000' WHERE name LIKE 'LoadMoneyFunctions\\_%'",
  );

test('functions are loaded once every table that they name is there', async () => {
  expect(isFunctions(migrations.at(-1)!)).toBe(true);
  await asLeftByAnOlderVersion();
  const { rows: before } = await owner.query<{ id: number }>('SELECT max(id) AS id FROM migrations');
  await update([later('Expand9000000000000', 'CREATE TABLE expanded (id int)')]);
  const { rows } = await owner.query<{ name: string }>(
    'SELECT name FROM migrations WHERE id > $1 ORDER BY id',
    [before[0]?.id],
  );
  expect(rows.map(({ name }) => name)).toEqual(['Expand9000000000000', migrations.at(-1)?.name]);
});

test('an update tells what it does, step by step; nothing to do is nothing to tell', async () => {
  const told: MigrationProgress[] = [];
  const note = (progress: MigrationProgress): void => void told.push(progress);
  await update([], note);
  expect(told).toEqual([]);
  const added = [later('One9000000000001', 'SELECT 1'), later('Two9000000000002', 'SELECT 2')];
  await update(added, note);
  expect(told).toMatchObject([
    { step: 'begins', migration: 'One9000000000001', number: 1, of: 2 },
    { step: 'done', migration: 'One9000000000001', number: 1, of: 2 },
    { step: 'begins', migration: 'Two9000000000002', number: 2, of: 2 },
    { step: 'done', migration: 'Two9000000000002', number: 2, of: 2 },
  ]);
});

test('a migration that waits for a lock does not hold up those who work, and gets it in the end', async () => {
  const holder = new Client({ connectionString: database.ownerUrl });
  await holder.connect();
  const told: string[] = [];
  try {
    await holder.query('BEGIN; SELECT count(*) FROM organisation');
    const name = `added_${randomBytes(3).toString('hex')}`;
    const updated = update(
      [later('Wide9000000000000', `ALTER TABLE organisation ADD COLUMN ${name} text`)],
      ({ step }) => void told.push(step),
    );
    await until(() => Promise.resolve(told.includes('waits')));
    // Somebody else reads the table, though the migration wants it alone.
    const { rowCount } = await owner.query({ text: 'SELECT FROM organisation LIMIT 0' });
    expect(rowCount).toBe(0);
    await holder.query('COMMIT');
    await updated;
    expect(told.at(-1)).toBe('done');
  } finally {
    await holder.end();
  }
});
