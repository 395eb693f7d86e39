import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { migrations } from '#migrations';
import { migrate } from '#inside/platform/database/migrate';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';

let database: TestDatabase;
let owner: Client;
beforeAll(async () => {
  database = await createTestDatabase();
  owner = new Client({ connectionString: database.ownerUrl });
  await owner.connect();
});
afterAll(async () => {
  await owner.end();
  await database.drop();
});

const folder = join(__dirname, '../../../migrations/sql/money');
const appliedLoads = async () =>
  (
    await owner.query<{ name: string }>(
      "SELECT name FROM migrations WHERE name LIKE 'LoadMoney%' ORDER BY id",
    )
  ).rows;
const functionResult = async () =>
  (
    await owner.query<{ starts: Date }>(
      "SELECT starts_at AS starts FROM spending_period('daily', '2026-05-06T07:08Z')",
    )
  ).rows[0]?.starts.toISOString();
const migrateAgain = () =>
  migrate({ url: database.ownerUrl, serviceUrl: database.url, migrations, queue: false });

test('the functions are loaded once per content of their files', async () => {
  const files = readdirSync(folder).sort();
  const sql = files.map((file) => readFileSync(join(folder, file), 'utf8')).join('\n');
  const name = `LoadMoneyFunctions_${createHash('sha256').update(sql).digest('hex').slice(0, 12)}_1763800310000`;
  expect(await appliedLoads()).toEqual([{ name }]);

  // Simulates another version of the files.
  await owner.query(
    "UPDATE migrations SET name = 'LoadMoneyFunctions_0123456789ab_1763800310000' WHERE name = $1",
    [name],
  );
  await owner.query(`
    CREATE OR REPLACE FUNCTION spending_period(period text, at timestamptz, OUT starts_at timestamptz, OUT ends_at timestamptz)
    LANGUAGE sql STABLE AS $$ SELECT at, at $$`);
  expect(await functionResult()).toBe('2026-05-06T07:08:00.000Z');
  await migrateAgain();
  expect(await functionResult()).toBe('2026-05-06T00:00:00.000Z');
  expect((await appliedLoads()).map((row) => row.name)).toEqual([
    'LoadMoneyFunctions_0123456789ab_1763800310000',
    name,
  ]);

  // An applied migration is not repeated, so an older node does not restore its functions.
  await migrateAgain();
  expect(await appliedLoads()).toHaveLength(2);
});

test('every function that moves money is defined in the files', async () => {
  const sql = readdirSync(folder)
    .map((file) => readFileSync(join(folder, file), 'utf8'))
    .join('\n');
  const inFiles = new Set([...sql.matchAll(/FUNCTION (\w+)\(/g)].map(([, name]) => name));
  const { rows } = await owner.query<{ name: string }>(
    `SELECT DISTINCT proname AS name FROM pg_proc WHERE pronamespace = 'public'::regnamespace
        AND prosrc ~ '(ledger_|spending_|escrow_|usage_hour)'`,
  );
  expect(rows.map(({ name }) => name).filter((name) => !inFiles.has(name))).toEqual([]);
  expect(inFiles.size).toBeGreaterThanOrEqual(rows.length);
});
