import { PostgresMoneyStore, verifyMoney } from '#product/billing';
import { verifyMoneyExclusively } from '#inside/billing/ledger/verify-money';
import { RequestRecordQuery, serialiseRecord } from '#product/audit';
import { uuidv7 } from '#product/kernel';
import { administer } from '../../support/postgres';
import { outcomeOf, expectMoneyToAddUp, key, MoneyFixture, wallet } from './money-fixture';

let fixture: MoneyFixture;
let store: PostgresMoneyStore;
beforeAll(async () => {
  fixture = await MoneyFixture.open();
  store = new PostgresMoneyStore(fixture.database);
  await fixture.credit(1, 1_000_000n);
});
afterAll(() => fixture.close());

const refs = [key(1), wallet(1)];
/** Fixed, so that all records are in one hour even if the next one begins during the test. */
const startMs = Date.now();
const settleRecord = (cost: bigint, more: object = {}, at = Date.now(), id = uuidv7()) =>
  store.settle({
    lease: null,
    number: 0,
    records: [serialiseRecord(id, at, { ...outcomeOf(cost, refs), ...more })],
    releases: [],
  });
const asOwner = (sql: string) => administer(fixture.test.ownerUrl, sql);
const brokenChecks = async (full: boolean) =>
  (await verifyMoney(fixture.database, { full })).checks.filter((check) => check.wrong.length > 0).length;

test('a budget set later counts the spending in the hours of its window once per record', async () => {
  const id = uuidv7();
  const at = Date.now();
  await settleRecord(300n, {}, at, id);
  await settleRecord(300n, {}, at, id);
  await settleRecord(40n);
  await fixture.database.transaction((tx) =>
    fixture.limits.set(tx, { kind: 'key', id: 1 }, { period: 'rolling', limit: 1_000n }),
  );
  expect(await fixture.limits.state({ kind: 'key', id: 1 })).toMatchObject({ spent: 340n });
  await expectMoneyToAddUp(fixture.database);
});

test('usage is summed by model and supplier, without names that no lane served', async () => {
  await settleRecord(5n, { model: 'made up', servedModel: null, supplier: null }, startMs);
  const rows = await fixture.database.query<{ model: string | null; requests: string }>(
    'SELECT model, requests FROM usage_hour WHERE key_id = 1 AND served_model IS NULL',
  );
  expect(rows.filter(({ model }) => model !== null)).toEqual([]);
  expect(rows).toHaveLength(1);
});

test('the records of a model are those it served, once each and in order', async () => {
  const query = new RequestRecordQuery(fixture.database);
  const at = Date.now() + 10_000;
  for (const [place, model, servedModel] of [
    [1, 'alias', 'seldom'],
    [2, 'seldom', 'seldom'],
    [3, 'seldom', 'other'],
    [4, 'other', 'other'],
  ] as const)
    await settleRecord(1n, { model, servedModel }, at + place);
  const firstPage = await query.ofKey(1, { model: 'seldom', limit: 1 });
  expect(firstPage.rows.map(({ model, servedModel }) => [model, servedModel])).toEqual([
    ['seldom', 'seldom'],
  ]);
  const secondPage = await query.ofKey(1, { model: 'seldom', limit: 1, cursor: firstPage.next });
  expect(secondPage.rows.map(({ model }) => model)).toEqual(['alias']);
});

test('verified hours are sealed and skipped, except by a full check', async () => {
  await asOwner("SELECT open_spending_windows('{key}', '{1}', now())");
  // Moves everything one hour into the past.
  await asOwner(`
    ALTER TABLE ledger_transaction DISABLE TRIGGER USER;
    UPDATE ledger_transaction SET created_at = created_at - interval '1 hour';
    ALTER TABLE ledger_transaction ENABLE TRIGGER USER;
    UPDATE request_record SET settled_at = settled_at - interval '1 hour'`);
  expect(await verifyMoneyExclusively(fixture.database)).toMatchObject({ addsUp: true });
  // A sealed hour that gets another record is verified again completely.
  await settleRecord(7n, {}, startMs);
  expect(await verifyMoneyExclusively(fixture.database)).toMatchObject({ addsUp: true });
  expect([await brokenChecks(false), await brokenChecks(true)]).toEqual([0, 0]);

  await asOwner(
    'UPDATE usage_hour SET requests = requests + 1, cost_nano = cost_nano + 1 WHERE model IS NULL',
  );
  expect(await brokenChecks(false)).toBeGreaterThan(0);
  await asOwner(
    'UPDATE usage_hour SET requests = requests - 1, cost_nano = cost_nano - 1 WHERE model IS NULL',
  );
  expect([await brokenChecks(false), await brokenChecks(true)]).toEqual([0, 0]);

  await asOwner('UPDATE request_record SET cost_nano = cost_nano + 1 WHERE cost_nano = 40');
  expect(await brokenChecks(true)).toBeGreaterThan(0);
  await asOwner('UPDATE request_record SET cost_nano = cost_nano - 1 WHERE cost_nano = 41');

  await asOwner("UPDATE spending_window SET spent = spent + 1 WHERE kind = 'key'");
  expect([await brokenChecks(false), await brokenChecks(true)]).toEqual([1, 1]);
  await asOwner("UPDATE spending_window SET spent = spent - 1 WHERE kind = 'key'");

  await asOwner("UPDATE spending_window SET spent = spent + 1 WHERE kind = 'wallet'");
  expect(await verifyMoneyExclusively(fixture.database)).toMatchObject({ addsUp: false });
  await asOwner("UPDATE spending_window SET spent = spent - 1 WHERE kind = 'wallet'");
  expect(await verifyMoneyExclusively(fixture.database, { full: true })).toMatchObject({ addsUp: true });
  expect(await verifyMoneyExclusively(fixture.database)).toMatchObject({ addsUp: true });
});

test('the partition of a later month has the model indexes too', async () => {
  await fixture.database.query("SELECT ensure_request_record_partitions('2031-05-01', 1)");
  const rows = await fixture.database.query<{ indexname: string }>(
    "SELECT indexname FROM pg_indexes WHERE tablename = 'request_record_203105' AND indexdef LIKE '%model%'",
  );
  expect(rows).toHaveLength(2);
});
