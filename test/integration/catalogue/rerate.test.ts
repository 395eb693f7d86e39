import * as fc from 'fast-check';
import { insertRequestRecords, type RequestRecord } from '#product/audit';
import { createRecord, toWrittenRecord } from '../../support/record-fixture';
import { rerate, type RerateDelta, type RerateOptions, summariseRerate } from '#product/catalogue';
import { costOf, NO_USAGE, priceRates, type PriceRates } from '#product/kernel';
import { CatalogueFixture, errorWithCode } from './catalogue-fixture';

let fixture: CatalogueFixture;
let priceIds: [number, number];
const rates: [PriceRates, PriceRates] = [
  priceRates({
    input: 150_000_001n,
    output: 600_000_000n,
    cacheRead: 75_000_000n,
    perCallNano: 7n,
    perMinuteNano: 100_001n,
  }),
  priceRates({
    input: 3_000_000_000n,
    output: 15_000_000_000n,
    tiers: [{ aboveInputTokens: 500, input: 6_000_000_000n }],
  }),
];
const from = new Date('2026-10-01T00:00:00Z');
const to = new Date('2026-10-02T00:00:00Z');

beforeAll(async () => {
  fixture = await CatalogueFixture.open();
  await fixture.models('m');
  const [first, second] = await fixture.write(async (tx) => [
    await fixture.prices.addPrice(tx, { model: 'm', rates: rates[0], source: 'test' }),
    await fixture.prices.addPrice(tx, { model: 'm', rates: rates[1], source: 'test' }),
  ]);
  priceIds = [first.id, second.id];
});
afterAll(() => fixture.close());

const record = (fields: Partial<RequestRecord>): RequestRecord =>
  createRecord({
    ...NO_USAGE,
    createdAt: from,
    keyId: 1,
    organisationId: 1,
    walletId: 5,
    model: 'm',
    servedModel: 'm',
    supplier: 'north',
    priceId: null,
    latencyMs: 1,
    ...fields,
  });

const insert = (records: RequestRecord[]): Promise<unknown> =>
  fixture.write((tx) => insertRequestRecords(tx, records.map(toWrittenRecord)));

const runRerate = (options: Partial<RerateOptions> = {}): AsyncGenerator<RerateDelta, void> =>
  rerate(fixture.database, { from, to, ...options });

/** 4,500 records of every shape: more than two pages. */
const storedRecords: RequestRecord[] = fc
  .sample(
    fc.record({
      which: fc.constantFrom<0 | 1>(0, 1),
      keyId: fc.constantFrom(1, 2, null),
      inputTokens: fc.nat(1_000),
      cacheReadTokens: fc.nat(1_000),
      outputTokens: fc.nat(1_000),
      reasoningTokens: fc.nat(100),
      calls: fc.nat(3),
      audioMilliseconds: fc.nat(90_000),
    }),
    { numRuns: 4_500, seed: 42 },
  )
  .map(({ which, ...fields }) => record({ ...fields, sessionKey: String(which) }));

beforeAll(async () => {
  await insert(
    storedRecords.map((row) => {
      const priceIndex = row.sessionKey === '0' ? 0 : 1;
      return { ...row, priceId: priceIds[priceIndex], costNano: costOf(row, rates[priceIndex]) };
    }),
  );
  await insert([
    record({ status: 402, code: 'budget_exceeded', usageSource: 'none' }),
    record({ createdAt: to, priceId: priceIds[0], costNano: 12_345n }),
    record({ createdAt: new Date(from.getTime() - 1), priceId: priceIds[0], costNano: 12_345n }),
  ]);
});

test('every stored cost is reproduced to the nano-dollar', async () => {
  const summary = await summariseRerate(runRerate());
  expect(summary).toEqual({
    records: 4_501,
    differences: 0,
    deltaNano: 0n,
    byKey: new Map(),
    byOrganisation: new Map(),
  });
});

test('another price previews the differences by key and organisation', async () => {
  const summary = await summariseRerate(runRerate({ priceOverride: new Map([[priceIds[0], priceIds[1]]]) }));
  const expected = new Map<number | null, bigint>();
  for (const row of storedRecords.filter(({ sessionKey }) => sessionKey === '0')) {
    const delta = costOf(row, rates[1]) - costOf(row, rates[0]);
    if (delta !== 0n) expected.set(row.keyId, (expected.get(row.keyId) ?? 0n) + delta);
  }
  const totalDelta = [...expected.values()].reduce((sum, delta) => sum + delta, 0n);
  expect(totalDelta).not.toBe(0n);
  expect(summary.byKey).toEqual(expected);
  expect(summary.byOrganisation).toEqual(new Map([[1, totalDelta]]));
  expect(summary.deltaNano).toBe(totalDelta);
});

test('a wrong cost is reported with everything needed to correct it', async () => {
  const day = new Date('2026-11-01T00:00:00Z');
  const wrongRecord = record({
    createdAt: day,
    priceId: priceIds[0],
    inputTokens: 1_000_000,
    costNano: 150_000_000n,
  });
  const unpricedRecord = record({ createdAt: day, costNano: 3n, keyId: null });
  await insert([wrongRecord, unpricedRecord]);
  const deltas: RerateDelta[] = [];
  for await (const delta of runRerate({ from: day, to: new Date(day.getTime() + 1) })) deltas.push(delta);
  expect(deltas).toHaveLength(2);
  expect(deltas.find(({ requestId }) => requestId === wrongRecord.requestId)).toEqual({
    requestId: wrongRecord.requestId,
    createdAt: day,
    keyId: 1,
    organisationId: 1,
    walletId: 5,
    priceId: priceIds[0],
    storedNano: 150_000_000n,
    recomputedNano: 150_000_001n,
    deltaNano: 1n,
  });
  expect(deltas.find(({ requestId }) => requestId === unpricedRecord.requestId)?.deltaNano).toBe(-3n);
});

test('an unknown price id fails before the first record', async () => {
  const priceOverride = new Map([[priceIds[0], 999_999]]);
  await expect(runRerate({ priceOverride }).next()).rejects.toEqual(
    errorWithCode('supplier_price_unresolved'),
  );
});

test('stopping halfway leaves no open transaction', async () => {
  for await (const delta of runRerate()) {
    expect(delta.deltaNano).toBe(0n);
    break;
  }
  const openTransactions = await fixture.database.query(
    "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%'",
  );
  expect(openTransactions).toEqual([]);
});
