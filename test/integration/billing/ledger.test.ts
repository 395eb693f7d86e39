import { Client } from 'pg';
import { MoneyWatch, verifyMoney } from '#product/billing';
import { Logger, Metrics } from '#product/platform';
import { expectMoneyToAddUp, MoneyHouse } from './money-support';

let house: MoneyHouse;
let owner: Client;
beforeAll(async () => {
  house = await MoneyHouse.open();
  owner = new Client({ connectionString: house.test.ownerUrl });
  await owner.connect();
});
afterEach(() => expectMoneyToAddUp(house.database));
afterAll(async () => {
  await owner.end();
  await house.close();
});

test('a posting happens once, however often and from wherever it is sent', async () => {
  const sent = await Promise.all(Array.from({ length: 12 }, () => house.credit(1, 500n, 'event-1')));
  expect(sent.filter((posted) => posted)).toHaveLength(1);
  expect((await house.ledger.wallet(1)).balance).toBe(500n);
});

test('a refund after spending leaves debt, and the next top-up pays it', async () => {
  await house.credit(2, 100n);
  await house.credit(2, -250n);
  expect((await house.ledger.wallet(2)).balance).toBe(-150n);
  await house.credit(2, 400n);
  expect((await house.ledger.wallet(2)).balance).toBe(250n);
  const amounts = (await house.ledger.lines(2, 10)).map(({ amount }) => amount);
  expect(amounts).toEqual([400n, -250n, 100n]);
});

test('a posting that is rolled back was never there', async () => {
  const failing = house.database.transaction(async (tx) => {
    await house.ledger.post(tx, { walletId: 3, amount: 5n, against: 'adjustment', kind: 'gift', ref: '3' });
    throw new Error('after all not');
  });
  await expect(failing).rejects.toThrow('after all not');
  expect(await house.credit(3, 7n, 'kept')).toBe(true);
  expect((await house.ledger.wallet(3)).balance).toBe(7n);
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
  await expect(house.database.query(sql)).rejects.toThrow(
    /ledger transaction \d+ has \d entries that sum to/,
  );
});

test('an entry cannot join a transaction that was balanced long ago', async () => {
  await house.credit(4, 10n);
  const late = `INSERT INTO ledger_entry SELECT max(t.id), (SELECT id FROM ledger_account WHERE kind = 'usage'), 5
                  FROM ledger_transaction t`;
  await expect(house.database.query(late)).rejects.toThrow('that sum to 5');
});

test.each([
  'UPDATE ledger_entry SET amount = amount + 1',
  'DELETE FROM ledger_entry',
  'TRUNCATE ledger_entry CASCADE',
  'UPDATE ledger_transaction SET ref = ref',
  'DELETE FROM ledger_transaction',
  'TRUNCATE ledger_account CASCADE',
])('nobody does this, not even the owner of the tables: %s', async (sql) => {
  await house.credit(5, 10n, 'stays');
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
])('the application has no right to this: %s', async (sql) => {
  await expect(house.database.query(sql)).rejects.toThrow('permission denied');
});

test('money cannot be credited in the name of a settlement, or against a wallet', async () => {
  const credit = (against: string, kind: string) =>
    house.database.query('SELECT money_credit(1, 5, $1, $2, $3)', [against, kind, 'x']);
  await expect(credit('processor', 'settlement')).rejects.toThrow('is not credited');
  await expect(credit('wallet', 'topup')).rejects.toThrow('is not credited');
  await expect(credit('usage', 'topup')).rejects.toThrow('is not credited');
});

test('the checks do find what is wrong', async () => {
  await house.credit(6, 10n);
  const wrong = async (sql: string): Promise<string[]> => {
    await owner.query('BEGIN');
    await owner.query(sql);
    await owner.query('COMMIT');
    const { checks } = await verifyMoney(house.database);
    return checks.filter((check) => check.wrong.length > 0).map(({ name }) => name);
  };
  const change = (by: number) =>
    `UPDATE spending_window SET spent = spent + ${by} WHERE kind = 'wallet' AND owner_id = 6`;
  expect(await wrong(change(1))).toEqual([
    'what a wallet spent is the usage it paid for',
    'a wallet is the sum of its entries',
  ]);
  expect(
    await wrong(
      `${change(-1)}; UPDATE spending_window SET escrowed = 3 WHERE kind = 'wallet' AND owner_id = 6`,
    ),
  ).toEqual(['escrowed is the sum of the slices']);
  expect(
    await wrong("UPDATE spending_window SET escrowed = 0 WHERE kind = 'wallet' AND owner_id = 6"),
  ).toEqual([]);
});

test('what is wrong is in the log, once for all who look at the same time', async () => {
  const lines: string[] = [];
  const logger = Logger.create(
    { logLevel: 'info', logFormat: 'json' },
    { write: (line: string) => lines.push(line) },
  );
  const metrics = new Metrics();
  const watch = new MoneyWatch(house.database, logger, metrics);
  await house.credit(7, 10n);
  const change = (by: number) =>
    owner.query(`UPDATE spending_window SET spent = spent + ${by} WHERE kind = 'wallet' AND owner_id = 7`);
  await change(1);
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
    await change(-1);
  }
});
