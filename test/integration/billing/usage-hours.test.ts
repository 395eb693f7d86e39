import { PostgresMoneyStore, verifyMoney } from '#product/billing';
import { verifyMoneyExclusively } from '#inside/billing/ledger/verify-money';
import { RequestRecordQuery, serialiseRecord } from '#product/audit';
import { uuidv7 } from '#product/kernel';
import { administer } from '../../support/postgres';
import { costing, expectMoneyToAddUp, key, MoneyHouse, wallet } from './money-support';

let house: MoneyHouse;
let store: PostgresMoneyStore;
beforeAll(async () => {
  house = await MoneyHouse.open();
  store = new PostgresMoneyStore(house.database);
  await house.credit(1, 1_000_000n);
});
afterAll(() => house.close());

const refs = [key(1), wallet(1)];
/** Of one hour, also when the next begins meanwhile. */
const began = Date.now();
const settle = (cost: bigint, more: object = {}, at = Date.now(), id = uuidv7()) =>
  store.settle({
    lease: null,
    number: 0,
    records: [serialiseRecord(id, at, { ...costing(cost, refs), ...more })],
    releases: [],
  });
const asOwner = (sql: string) => administer(house.test.ownerUrl, sql);
const wrong = async (full: boolean) =>
  (await verifyMoney(house.database, { full })).checks.filter((check) => check.wrong.length > 0).length;

test('a budget that is set later finds what was spent in the hours of its window, once a record', async () => {
  const id = uuidv7();
  const at = Date.now();
  await settle(300n, {}, at, id);
  await settle(300n, {}, at, id);
  await settle(40n);
  await house.database.transaction((tx) =>
    house.limits.set(tx, { kind: 'key', id: 1 }, { period: 'rolling', limit: 1_000n }),
  );
  expect(await house.limits.state({ kind: 'key', id: 1 })).toMatchObject({ spent: 340n });
  await expectMoneyToAddUp(house.database);
});

test('usage is summed by model and supplier; a name that no lane served is not kept', async () => {
  await settle(5n, { model: 'made up', servedModel: null, supplier: null }, began);
  const rows = await house.database.query<{ model: string | null; requests: string }>(
    'SELECT model, requests FROM usage_hour WHERE key_id = 1 AND served_model IS NULL',
  );
  expect(rows.filter(({ model }) => model !== null)).toEqual([]);
  expect(rows).toHaveLength(1);
});

test('the records of one model are those that it served, each once, in their order', async () => {
  const query = new RequestRecordQuery(house.database);
  const at = Date.now() + 10_000;
  for (const [place, model, servedModel] of [
    [1, 'alias', 'seldom'],
    [2, 'seldom', 'seldom'],
    [3, 'seldom', 'other'],
    [4, 'other', 'other'],
  ] as const)
    await settle(1n, { model, servedModel }, at + place);
  const first = await query.ofKey(1, { model: 'seldom', limit: 1 });
  expect(first.rows.map(({ model, servedModel }) => [model, servedModel])).toEqual([['seldom', 'seldom']]);
  const rest = await query.ofKey(1, { model: 'seldom', limit: 1, cursor: first.next });
  expect(rest.rows.map(({ model }) => model)).toEqual(['alias']);
});

test('what adds up is sealed and not read again, unless everything is asked for', async () => {
  await asOwner("SELECT open_spending_windows('{key}', '{1}', now())");
  // As if it all had happened an hour ago.
  await asOwner(`
    ALTER TABLE ledger_transaction DISABLE TRIGGER USER;
    UPDATE ledger_transaction SET created_at = created_at - interval '1 hour';
    ALTER TABLE ledger_transaction ENABLE TRIGGER USER;
    UPDATE request_record SET settled_at = settled_at - interval '1 hour'`);
  expect(await verifyMoneyExclusively(house.database)).toMatchObject({ addsUp: true });
  // An hour that got a record after the seal is read again as a whole.
  await settle(7n, {}, began);
  expect(await verifyMoneyExclusively(house.database)).toMatchObject({ addsUp: true });
  expect([await wrong(false), await wrong(true)]).toEqual([0, 0]);

  await asOwner(
    'UPDATE usage_hour SET requests = requests + 1, cost_nano = cost_nano + 1 WHERE model IS NULL',
  );
  expect(await wrong(false)).toBeGreaterThan(0);
  await asOwner(
    'UPDATE usage_hour SET requests = requests - 1, cost_nano = cost_nano - 1 WHERE model IS NULL',
  );
  expect([await wrong(false), await wrong(true)]).toEqual([0, 0]);

  await asOwner('UPDATE request_record SET cost_nano = cost_nano + 1 WHERE cost_nano = 40');
  expect(await wrong(true)).toBeGreaterThan(0);
  await asOwner('UPDATE request_record SET cost_nano = cost_nano - 1 WHERE cost_nano = 41');

  await asOwner("UPDATE spending_window SET spent = spent + 1 WHERE kind = 'key'");
  expect([await wrong(false), await wrong(true)]).toEqual([1, 1]);
  await asOwner("UPDATE spending_window SET spent = spent - 1 WHERE kind = 'key'");

  await asOwner("UPDATE spending_window SET spent = spent + 1 WHERE kind = 'wallet'");
  expect(await verifyMoneyExclusively(house.database)).toMatchObject({ addsUp: false });
  await asOwner("UPDATE spending_window SET spent = spent - 1 WHERE kind = 'wallet'");
  expect(await verifyMoneyExclusively(house.database, { full: true })).toMatchObject({ addsUp: true });
  expect(await verifyMoneyExclusively(house.database)).toMatchObject({ addsUp: true });
});

test('a partition of a later month has the indexes of models too', async () => {
  await house.database.query("SELECT ensure_request_record_partitions('2031-05-01', 1)");
  const rows = await house.database.query<{ indexname: string }>(
    "SELECT indexname FROM pg_indexes WHERE tablename = 'request_record_203105' AND indexdef LIKE '%model%'",
  );
  expect(rows).toHaveLength(2);
});
