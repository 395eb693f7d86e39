import { DataSource } from 'typeorm';
import { KnowAddressesByOneForm1764700000000 } from '../../../migrations/1764700000000-know-addresses-by-one-form';
import { PlaceConversations1764700010000 } from '../../../migrations/1764700010000-place-conversations';
import { BoundCreditLimits1764700020000 } from '../../../migrations/1764700020000-bound-credit-limits';
import { PartBudgetsOfPeople1764800100000 } from '../../../migrations/1764800100000-part-budgets-of-people';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';

/** Migrations applied to existing rows: each one is reverted, the rows are inserted, and it runs again. */
let database: TestDatabase;
let source: DataSource;
beforeAll(async () => {
  database = await createTestDatabase();
  source = await new DataSource({ type: 'postgres', url: database.ownerUrl, poolSize: 1 }).initialize();
});
afterAll(async () => {
  await source.destroy();
  await database.drop();
});

const migrations = [
  new KnowAddressesByOneForm1764700000000(),
  new PlaceConversations1764700010000(),
  new BoundCreditLimits1764700020000(),
];

test('accounts with colliding addresses stay unchanged and are reported, and positions and ceilings get current values', async () => {
  const runner = source.createQueryRunner();
  for (const migration of migrations.toReversed()) await migration.down(runner);
  await runner.query(`
    INSERT INTO organisation (id, name, slug) VALUES (1, 'North', 'north'), (2, 'South', 'south');
    INSERT INTO user_account (id, email, display_name, organisation_id) VALUES
      (11, 'iris@example.com', 'Iris', 1), (12, 'ırıs@example.com', 'Irıs', 1), (13, 'mover@example.com', 'Mover', 2);
    INSERT INTO conversation (id, user_id, model) VALUES (21, 11, 'm'), (22, 13, 'm');
    INSERT INTO activity (action, actor_kind, actor_label, user_id, object_type)
      VALUES ('user.organisation-changed', 'system', 'test', 13, 'account');
    INSERT INTO spending_rule (kind, owner_id, period, limit_nano) VALUES
      ('wallet', 11, 'lifetime', 7), ('wallet', 12, 'lifetime', 5);
  `);
  const reportedLines: string[] = [];
  const write = jest
    .spyOn(process.stderr, 'write')
    .mockImplementation((text) => reportedLines.push(String(text)) > 0);
  for (const migration of migrations) await migration.up(runner);
  write.mockRestore();
  expect(reportedLines.join('')).toBe(
    'Accounts 11, 12 have one mail address in other spellings: see doctor.\n',
  );
  expect(await runner.query('SELECT id, email, shares_address FROM user_account ORDER BY id')).toEqual([
    { id: 11, email: 'iris@example.com', shares_address: true },
    { id: 12, email: 'ırıs@example.com', shares_address: true },
    { id: 13, email: 'mover@example.com', shares_address: false },
  ]);
  expect(await runner.query('SELECT id, organisation_id FROM conversation ORDER BY id')).toEqual([
    { id: 21, organisation_id: 1 },
    { id: 22, organisation_id: null },
  ]);
  expect(
    await runner.query('SELECT id, credit_ceiling_nano AS ceiling FROM organisation ORDER BY id'),
  ).toEqual([
    { id: 1, ceiling: '12' },
    { id: 2, ceiling: '0' },
  ]);
  await runner.release();
});

test('splitting a single user budget assigns each part to the level that set it, raises included', async () => {
  const runner = source.createQueryRunner();
  const migration = new PartBudgetsOfPeople1764800100000();
  await migration.down(runner);
  const logChange = (id: number, action: string, minutes: number, changes: object) =>
    runner.query(
      `INSERT INTO activity (action, actor_kind, actor_label, user_id, object_type, object_id, changes, occurred_at)
       VALUES ($1, 'system', 'test', $2::int, 'account', $2::text, $3, now() - $4 * interval '1 minute')`,
      [action, id, JSON.stringify(changes), minutes],
    );
  const [byPlatform, byOrganisation] = ['user.monthly-budget-changed', 'user.billing-config-changed'];
  const budget = { budget: [null, '5'] };
  await logChange(31, byOrganisation, 9, budget);
  await logChange(31, byPlatform, 8, budget);
  await logChange(31, byOrganisation, 7, { billing_type: ['prepaid', 'delegated'] });
  await logChange(32, byPlatform, 9, budget);
  await logChange(32, byOrganisation, 8, budget);
  await runner.query(`
    INSERT INTO spending_rule (kind, owner_id, period, limit_nano) VALUES
      ('user', 31, 'monthly', 5), ('user', 32, 'monthly', 6), ('user', 33, 'daily', 7), ('user', 34, 'monthly', 8);
    INSERT INTO budget_raise (kind, owner_id, amount_nano, reason, ends_at) VALUES
      ('user', 31, 1, 'r', now() + interval '1 day'), ('user', 32, 2, 'r', now() + interval '1 day');
  `);
  await migration.up(runner);
  expect(
    await runner.query(
      `SELECT kind, owner_id, period, limit_nano, budget_raised(kind, owner_id, now()) AS raised FROM spending_rule
        WHERE kind LIKE 'user%' AND limit_nano IS NOT NULL ORDER BY owner_id`,
    ),
  ).toEqual([
    { kind: 'user', owner_id: '31', period: 'monthly', limit_nano: '5', raised: '1' },
    { kind: 'user_budget', owner_id: '32', period: 'monthly', limit_nano: '6', raised: '2' },
    { kind: 'user_budget', owner_id: '33', period: 'daily', limit_nano: '7', raised: '0' },
    { kind: 'user', owner_id: '34', period: 'monthly', limit_nano: '8', raised: '0' },
  ]);
  await runner.release();
});
