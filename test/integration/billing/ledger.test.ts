import { Client } from 'pg';
import { MoneyWatch, verifyMoney } from '#product/billing';
import { Logger, Metrics } from '#product/platform';
import { expectMoneyToAddUp, MoneyFixture } from './money-fixture';

let fixture: MoneyFixture;
let owner: Client;
beforeAll(async () => {
  fixture = await MoneyFixture.open();
  owner = new Client({ connectionString: fixture.test.ownerUrl });
  await owner.connect();
});
afterEach(() => expectMoneyToAddUp(fixture.database));
afterAll(async () => {
  await owner.end();
  await fixture.close();
});

test('a posting is applied once, however often and from wherever it is sent', async () => {
  const results = await Promise.all(Array.from({ length: 12 }, () => fixture.credit(1, 500n, 'event-1')));
  expect(results.filter((posted) => posted)).toHaveLength(1);
  expect((await fixture.ledger.wallet(1)).balance).toBe(500n);
});

test('a refund after spending leaves a balance due, which the next top-up pays', async () => {
  await fixture.credit(2, 100n);
  await fixture.credit(2, -250n);
  expect((await fixture.ledger.wallet(2)).balance).toBe(-150n);
  await fixture.credit(2, 400n);
  expect((await fixture.ledger.wallet(2)).balance).toBe(250n);
  const amounts = (await fixture.ledger.lines(2, 10)).map(({ amount }) => amount);
  expect(amounts).toEqual([400n, -250n, 100n]);
});

test('a posting that is rolled back leaves no entry', async () => {
  const failedTransaction = fixture.database.transaction(async (tx) => {
    await fixture.ledger.post(tx, { walletId: 3, amount: 5n, against: 'adjustment', kind: 'gift', ref: '3' });
    throw new Error('after all not');
  });
  await expect(failedTransaction).rejects.toThrow('after all not');
  expect(await fixture.credit(3, 7n, 'kept')).toBe(true);
  expect((await fixture.ledger.wallet(3)).balance).toBe(7n);
});

test.each([
  [
    'one entry',
    "INSERT INTO ledger_entry SELECT t.id, a.id, 5 FROM t, ledger_account a WHERE a.kind = 'usage'",
  ],
  [
    'two entries that do not cancel out',
    "INSERT INTO ledger_entry SELECT t.id, a.id, CASE a.kind WHEN 'usage' THEN 5 ELSE -4 END FROM t, ledger_account a WHERE a.kind IN ('usage', 'promotion')",
  ],
  ['no entry at all', 'SELECT FROM t'],
])('the database refuses a transaction of %s', async (_what, entries) => {
  const sql = `WITH t AS (INSERT INTO ledger_transaction (kind, ref) VALUES ('test', 'unbalanced') RETURNING id) ${entries}`;
  await expect(fixture.database.query(sql)).rejects.toThrow(
    /ledger transaction \d+ has \d entries that sum to/,
  );
});

test('an entry cannot be added to an earlier balanced transaction', async () => {
  await fixture.credit(4, 10n);
  const lateEntrySql = `INSERT INTO ledger_entry SELECT max(t.id), (SELECT id FROM ledger_account WHERE kind = 'usage'), 5
                  FROM ledger_transaction t`;
  await expect(fixture.database.query(lateEntrySql)).rejects.toThrow('that sum to 5');
});

test.each([
  'UPDATE ledger_entry SET amount = amount + 1',
  'DELETE FROM ledger_entry',
  'TRUNCATE ledger_entry CASCADE',
  'UPDATE ledger_transaction SET ref = ref',
  'DELETE FROM ledger_transaction',
  'TRUNCATE ledger_account CASCADE',
])('the database refuses even the owner of the tables: %s', async (sql) => {
  await fixture.credit(5, 10n, 'stays');
  await expect(owner.query(sql)).rejects.toThrow('the ledger only grows');
});

test.each([
  'UPDATE ledger_entry SET amount = 1',
  'UPDATE spending_window SET limit_nano = 1000000',
  'UPDATE spending_window SET spent = 0',
  'DELETE FROM escrow_slice',
  'DELETE FROM request_record',
  "INSERT INTO spending_rule (kind, owner_id, period, limit_nano) VALUES ('key', 1, 'daily', 5)",
  "SELECT open_wallets('{1}')",
])('the service login has no permission: %s', async (sql) => {
  await expect(fixture.database.query(sql)).rejects.toThrow('permission denied');
});

test('a credit cannot claim to be a settlement or post against a wallet', async () => {
  const credit = (against: string, kind: string) =>
    fixture.database.query('SELECT money_credit(1, 5, $1, $2, $3)', [against, kind, 'x']);
  await expect(credit('processor', 'settlement')).rejects.toThrow('is not credited');
  await expect(credit('wallet', 'topup')).rejects.toThrow('is not credited');
  await expect(credit('usage', 'topup')).rejects.toThrow('is not credited');
});

test('the checks detect inconsistent data', async () => {
  await fixture.credit(6, 10n);
  const brokenChecks = async (sql: string): Promise<string[]> => {
    await owner.query('BEGIN');
    await owner.query(sql);
    await owner.query('COMMIT');
    const { checks } = await verifyMoney(fixture.database);
    return checks.filter((check) => check.wrong.length > 0).map(({ name }) => name);
  };
  const changeBalance = (by: number) =>
    `UPDATE spending_window SET spent = spent + ${by} WHERE kind = 'wallet' AND owner_id = 6`;
  expect(await brokenChecks(changeBalance(1))).toEqual([
    'what a wallet spent is the usage it paid for',
    'a wallet is the sum of its entries',
  ]);
  expect(
    await brokenChecks(
      `${changeBalance(-1)}; UPDATE spending_window SET escrowed = 3 WHERE kind = 'wallet' AND owner_id = 6`,
    ),
  ).toEqual(['escrowed is the sum of the slices']);
  expect(
    await brokenChecks("UPDATE spending_window SET escrowed = 0 WHERE kind = 'wallet' AND owner_id = 6"),
  ).toEqual([]);
});

test('a detected inconsistency is logged once, however many nodes check at the same time', async () => {
  const lines: string[] = [];
  const logger = Logger.create(
    { logLevel: 'info', logFormat: 'json' },
    { write: (line: string) => lines.push(line) },
  );
  const metrics = new Metrics();
  const watch = new MoneyWatch(fixture.database, logger, metrics);
  await fixture.credit(7, 10n);
  const changeBalance = (by: number) =>
    owner.query(`UPDATE spending_window SET spent = spent + ${by} WHERE kind = 'wallet' AND owner_id = 7`);
  await changeBalance(1);
  try {
    await owner.query('BEGIN');
    await owner.query('SELECT pg_advisory_xact_lock(5719026)');
    await watch.verify();
    expect(lines).toEqual([]);
    await owner.query('COMMIT');
    await watch.verify();
    expect(lines).toEqual([
      expect.stringContaining('what a wallet spent is the usage it paid for'),
      expect.stringContaining('a wallet is the sum of its entries'),
    ]);
    expect(await metrics.text()).toContain('gateway_money_differences_total 2\n');
  } finally {
    await changeBalance(-1);
  }
});
