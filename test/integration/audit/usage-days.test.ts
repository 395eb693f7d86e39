import fc from 'fast-check';
import {
  p95Of,
  UsageDays,
  usageGroupings,
  UsageQuery,
  type UsageRequest,
  serialiseRecord,
} from '#product/audit';
import { PostgresMoneyStore, WalletHistory } from '#product/billing';
import { uuidv7 } from '#product/kernel';
import { administer } from '../../support/postgres';
import { outcomeOf, key, MoneyFixture, wallet } from '../billing/money-fixture';

const platform = { kind: 'platform' } as const;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const startMs = Date.parse('2026-09-20T00:00:00Z');
const end = Date.parse('2026-10-30T00:00:00Z');

let fixture: MoneyFixture;
let query: UsageQuery;
let store: PostgresMoneyStore;

const recordAt = (at: number, place: number, model = place % 5 === 0 ? 'large' : 'small') =>
  serialiseRecord(uuidv7(), at, {
    ...outcomeOf(BigInt(1 + ((place * 7_919) % 100_003)), [
      key(1),
      wallet(1),
      { kind: 'user' as const, id: 7 },
    ]),
    keyId: 1 + (place % 5),
    projectId: place % 6 === 0 ? 4 : null,
    model,
    servedModel: place % 11 === 0 ? null : model,
    supplier: place % 2 === 0 ? 'north' : 'south',
    region: place % 4 === 0 ? 'eu' : null,
    code: place % 11 === 0 ? 'upstream_error' : null,
    status: place % 11 === 0 ? 502 : 200,
    latencyMs: (place * 131) % 20_000,
    endUser: place % 3 === 0 ? `person ${place % 40}` : null,
    tags: place % 4 === 0 ? ['night', `tag ${place % 7}`] : null,
  });
const settleRecords = (records: readonly ReturnType<typeof recordAt>[]) =>
  store.settle({ lease: null, number: 0, records: [...records], releases: [] });
const mergedDays = async (): Promise<number[]> =>
  (await fixture.database.query<{ day: Date }>('SELECT day FROM usage_day_merged ORDER BY 1')).map(
    ({ day }) => day.getTime(),
  );

beforeAll(async () => {
  fixture = await MoneyFixture.open();
  query = new UsageQuery(fixture.database);
  store = new PostgresMoneyStore(fixture.database);
  await fixture.credit(1, 1_000_000_000_000n);
  await fixture.database.query("SELECT ensure_request_record_partitions('2026-09-01', 4)");
  const records = [];
  for (let at = startMs, place = 0; at < end; at += 7 * 60_000 + 31, place += 1)
    records.push(recordAt(at, place));
  for (let from = 0; from < records.length; from += 500) await settleRecords(records.slice(from, from + 500));
});
afterAll(() => fixture.close());

const zones = [
  'UTC',
  'Europe/Berlin',
  'America/Los_Angeles',
  'Pacific/Auckland',
  'Asia/Kolkata',
  'Asia/Kathmandu',
];
const questionArbitrary = fc
  .record({
    from: fc.integer({ min: startMs - DAY_MS, max: end - 2 * DAY_MS }),
    length: fc.integer({ min: 60_000, max: 35 * DAY_MS }),
    zone: fc.constantFrom(...zones),
    bucket: fc.constantFrom('day' as const, 'month' as const),
    groupBy: fc.constantFrom(null, ...usageGroupings),
    mostGroups: fc.constantFrom(2, 50),
    unit: fc.constantFrom(1, DAY_MS),
  })
  .map(({ from, length, unit, ...rest }): UsageRequest => {
    const start = Math.floor(from / unit) * unit;
    return { ...rest, from: new Date(start), to: new Date(start + Math.ceil(length / unit) * unit) };
  });
const questions = fc.sample(questionArbitrary, { numRuns: 60, seed: 7 });
const queryAll = async () => {
  const all = [];
  for (const each of questions) all.push(await query.read(platform, each));
  return all;
};
/** The ledger totals and a statement of the wallet that paid. */
const readBooks = async () => {
  const history = new WalletHistory(fixture.database);
  const lines = [];
  for await (const line of history.all(1, 1_000)) lines.push(line);
  return { lines, statement: await history.statement(1, new Date(startMs + 5 * DAY_MS), new Date(end)) };
};

test('query results are the same with all, some or no days merged', async () => {
  const hourResults = await queryAll();
  const hourBooks = await readBooks();
  expect(await mergedDays()).toEqual([]);
  await new UsageDays(fixture.database).merge();
  const days = await mergedDays();
  expect(days.length).toBeGreaterThanOrEqual((end - startMs) / DAY_MS);
  expect(await queryAll()).toEqual(hourResults);
  expect(await readBooks()).toEqual(hourBooks);
  await administer(
    fixture.test.ownerUrl,
    'DELETE FROM usage_day_merged WHERE extract(epoch FROM day)::bigint / 86400 % 3 = 0',
  );
  expect((await mergedDays()).length).toBeLessThan(days.length);
  expect(await queryAll()).toEqual(hourResults);
  expect(await readBooks()).toEqual(hourBooks);
  expect(hourBooks.lines.filter(({ kind }) => kind === 'usage')).toHaveLength((end - startMs) / DAY_MS);
  expect(hourResults.some(({ total }) => total.requests > 1_000)).toBe(true);
});

test('a late record counts immediately and makes its day be merged again', async () => {
  await new UsageDays(fixture.database).merge();
  const period = {
    from: new Date(startMs),
    to: new Date(end),
    bucket: 'day',
    zone: 'UTC',
    groupBy: 'key',
  } as const;
  const resultBefore = await query.read(platform, period);
  const day = startMs + 9 * DAY_MS;
  await settleRecords([recordAt(day + 5 * HOUR_MS, 4)]);
  expect(await mergedDays()).not.toContain(day);
  const resultAfter = await query.read(platform, period);
  expect(resultAfter.total.requests).toBe(resultBefore.total.requests + 1);
  await new UsageDays(fixture.database).merge();
  expect(await mergedDays()).toContain(day);
  expect(await query.read(platform, period)).toEqual(resultAfter);
});

test('a day is not merged while a late record of it is being written', async () => {
  await new UsageDays(fixture.database).merge();
  const day = new Date(startMs + 4 * DAY_MS);
  const countRequests = async () => {
    const [row] = await fixture.database.query<{ requests: string }>(
      "SELECT requests FROM usage_day WHERE day = $1 AND dimension = 'all'",
      [day],
    );
    return Number(row?.requests);
  };
  const countBefore = await countRequests();
  const { merging } = await fixture.database.transaction(async (tx) => {
    await tx.query(
      `INSERT INTO request_record (request_id, created_at, surface, usage_source, cost_nano, status, stream, failover, latency_ms)
       VALUES (gen_random_uuid(), $1, 'chat', 'none', 0, 200, false, false, 1)`,
      [day],
    );
    const merging = fixture.database.source.query('SELECT merge_usage_day($1)', [day]);
    const isWaiting = async (): Promise<boolean> => {
      const rows = await tx.query<unknown[]>(
        `SELECT FROM pg_locks l JOIN pg_database d ON d.oid = l.database
          WHERE l.locktype = 'advisory' AND NOT l.granted AND d.datname = current_database()`,
      );
      return rows.length > 0;
    };
    while (!(await isWaiting()));
    return { merging };
  });
  await merging;
  expect(await countRequests()).toBe(countBefore + 1);
});

test('a day is not merged until six hours after its end', async () => {
  const mergeDay = (day: string) => fixture.database.query(`SELECT merge_usage_day(${day})`);
  await expect(mergeDay('now()')).rejects.toThrow('is not over for long enough');
  const [row] = await fixture.database.query<{ young: boolean }>(
    "SELECT now() < date_trunc('day', now(), 'UTC') + interval '6 hours' AS young",
  );
  const mergeResult = mergeDay("now() - interval '24 hours'");
  if (row?.young) await expect(mergeResult).rejects.toThrow('is not over for long enough');
  else expect(await mergeResult).toHaveLength(1);
});

test('the latency buckets approximate the p95', async () => {
  const { total } = await query.read(platform, {
    from: new Date(startMs),
    to: new Date(end),
    bucket: 'month',
    zone: 'UTC',
  });
  const [row] = await fixture.database.query<{ exact: number }>(
    `SELECT percentile_disc(0.95) WITHIN GROUP (ORDER BY latency_ms)::integer AS exact FROM request_record
      WHERE created_at >= $1 AND created_at < $2`,
    [new Date(startMs), new Date(end)],
  );
  expect(total.latencySteps.reduce((sum, count) => sum + count, 0)).toBe(total.requests);
  // Each bucket is at most 1.75 times as long as the one before.
  const factor = (p95Of(total) ?? 0) / (row?.exact ?? 1);
  expect(factor).toBeGreaterThan(1 / 1.75);
  expect(factor).toBeLessThan(1.75);
});

test('filter choices cover merged days and the hours next to them', async () => {
  await new UsageDays(fixture.database).merge();
  const days = await mergedDays();
  expect(days.length).toBeGreaterThan(20);
  const allChoices = {
    model: ['large', 'small'],
    supplier: ['north', 'south'],
    region: ['eu'],
    key: ['1', '2', '3', '4', '5'],
    project: ['4'],
  };
  const choicesFor = async (from: number, to: number) => {
    const choices = await query.choices(platform, { from: new Date(from), to: new Date(to) });
    return Object.fromEntries(
      Object.entries(choices).map(([dimension, list]) => [
        dimension,
        list.map(({ value }) => value).toSorted(),
      ]),
    );
  };
  const noChoices = Object.fromEntries(Object.keys(allChoices).map((dimension) => [dimension, []]));
  expect(await choicesFor(startMs + 5 * DAY_MS + HOUR_MS, startMs + 20 * DAY_MS)).toEqual(allChoices);
  expect(await choicesFor(startMs - 3 * DAY_MS, startMs)).toEqual(noChoices);
  // A late record discards the merged day, which is then read hour by hour again.
  await settleRecords([recordAt(startMs + 8 * DAY_MS, 1, 'late')]);
  expect(await mergedDays()).not.toContain(startMs + 8 * DAY_MS);
  expect((await choicesFor(startMs + 8 * DAY_MS, startMs + 9 * DAY_MS))['model']).toEqual([
    'large',
    'late',
    'small',
  ]);
  expect((await choicesFor(startMs + 9 * DAY_MS, startMs + 10 * DAY_MS))['model']).toEqual([
    'large',
    'small',
  ]);
});
