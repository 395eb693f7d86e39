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
import { costing, key, MoneyHouse, wallet } from '../billing/money-support';

const platform = { kind: 'platform' } as const;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const begin = Date.parse('2026-09-20T00:00:00Z');
const end = Date.parse('2026-10-30T00:00:00Z');

let house: MoneyHouse;
let query: UsageQuery;
let store: PostgresMoneyStore;

const record = (at: number, place: number, model = place % 5 === 0 ? 'large' : 'small') =>
  serialiseRecord(uuidv7(), at, {
    ...costing(BigInt(1 + ((place * 7_919) % 100_003)), [
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
const settle = (records: readonly ReturnType<typeof record>[]) =>
  store.settle({ lease: null, number: 0, records: [...records], releases: [] });
const merged = async (): Promise<number[]> =>
  (await house.database.query<{ day: Date }>('SELECT day FROM usage_day_merged ORDER BY 1')).map(({ day }) =>
    day.getTime(),
  );

beforeAll(async () => {
  house = await MoneyHouse.open();
  query = new UsageQuery(house.database);
  store = new PostgresMoneyStore(house.database);
  await house.credit(1, 1_000_000_000_000n);
  await house.database.query("SELECT ensure_request_record_partitions('2026-09-01', 4)");
  const records = [];
  for (let at = begin, place = 0; at < end; at += 7 * 60_000 + 31, place += 1)
    records.push(record(at, place));
  for (let from = 0; from < records.length; from += 500) await settle(records.slice(from, from + 500));
});
afterAll(() => house.close());

const zones = [
  'UTC',
  'Europe/Berlin',
  'America/Los_Angeles',
  'Pacific/Auckland',
  'Asia/Kolkata',
  'Asia/Kathmandu',
];
const question = fc
  .record({
    from: fc.integer({ min: begin - DAY_MS, max: end - 2 * DAY_MS }),
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
const questions = fc.sample(question, { numRuns: 60, seed: 7 });
const answers = async () => {
  const all = [];
  for (const each of questions) all.push(await query.read(platform, each));
  return all;
};
/** The ledger and a statement of the wallet that paid. */
const booked = async () => {
  const history = new WalletHistory(house.database);
  const lines = [];
  for await (const line of history.all(1, 1_000)) lines.push(line);
  return { lines, statement: await history.statement(1, new Date(begin + 5 * DAY_MS), new Date(end)) };
};

test('days that are summed, some of them or none: every answer is the same', async () => {
  const fromHours = await answers();
  const booksOfHours = await booked();
  expect(await merged()).toEqual([]);
  await new UsageDays(house.database).merge();
  const days = await merged();
  expect(days.length).toBeGreaterThanOrEqual((end - begin) / DAY_MS);
  expect(await answers()).toEqual(fromHours);
  expect(await booked()).toEqual(booksOfHours);
  await administer(
    house.test.ownerUrl,
    'DELETE FROM usage_day_merged WHERE extract(epoch FROM day)::bigint / 86400 % 3 = 0',
  );
  expect((await merged()).length).toBeLessThan(days.length);
  expect(await answers()).toEqual(fromHours);
  expect(await booked()).toEqual(booksOfHours);
  expect(booksOfHours.lines.filter(({ kind }) => kind === 'usage')).toHaveLength((end - begin) / DAY_MS);
  expect(fromHours.some(({ total }) => total.requests > 1_000)).toBe(true);
});

test('a record that comes late makes its day be summed again, and counts at once', async () => {
  await new UsageDays(house.database).merge();
  const period = {
    from: new Date(begin),
    to: new Date(end),
    bucket: 'day',
    zone: 'UTC',
    groupBy: 'key',
  } as const;
  const before = await query.read(platform, period);
  const day = begin + 9 * DAY_MS;
  await settle([record(day + 5 * HOUR_MS, 4)]);
  expect(await merged()).not.toContain(day);
  const after = await query.read(platform, period);
  expect(after.total.requests).toBe(before.total.requests + 1);
  await new UsageDays(house.database).merge();
  expect(await merged()).toContain(day);
  expect(await query.read(platform, period)).toEqual(after);
});

test('a day is not summed while a late record of it is being written', async () => {
  await new UsageDays(house.database).merge();
  const day = new Date(begin + 4 * DAY_MS);
  const counted = async () => {
    const [row] = await house.database.query<{ requests: string }>(
      "SELECT requests FROM usage_day WHERE day = $1 AND dimension = 'all'",
      [day],
    );
    return Number(row?.requests);
  };
  const before = await counted();
  const { merging } = await house.database.transaction(async (tx) => {
    await tx.query(
      `INSERT INTO request_record (request_id, created_at, surface, usage_source, cost_nano, status, stream, failover, latency_ms)
       VALUES (gen_random_uuid(), $1, 'chat', 'none', 0, 200, false, false, 1)`,
      [day],
    );
    const merging = house.database.source.query('SELECT merge_usage_day($1)', [day]);
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
  expect(await counted()).toBe(before + 1);
});

test('a day is not summed before six hours have passed since its end', async () => {
  const sumOf = (day: string) => house.database.query(`SELECT merge_usage_day(${day})`);
  await expect(sumOf('now()')).rejects.toThrow('is not over for long enough');
  const [row] = await house.database.query<{ young: boolean }>(
    "SELECT now() < date_trunc('day', now(), 'UTC') + interval '6 hours' AS young",
  );
  const yesterday = sumOf("now() - interval '24 hours'");
  if (row?.young) await expect(yesterday).rejects.toThrow('is not over for long enough');
  else expect(await yesterday).toHaveLength(1);
});

test('the steps of latency tell about how long 95 in 100 took at most', async () => {
  const { total } = await query.read(platform, {
    from: new Date(begin),
    to: new Date(end),
    bucket: 'month',
    zone: 'UTC',
  });
  const [row] = await house.database.query<{ exact: number }>(
    `SELECT percentile_disc(0.95) WITHIN GROUP (ORDER BY latency_ms)::integer AS exact FROM request_record
      WHERE created_at >= $1 AND created_at < $2`,
    [new Date(begin), new Date(end)],
  );
  expect(total.latencySteps.reduce((sum, count) => sum + count, 0)).toBe(total.requests);
  // Steps are 1.75 times as long as the one before at most.
  const factor = (p95Of(total) ?? 0) / (row?.exact ?? 1);
  expect(factor).toBeGreaterThan(1 / 1.75);
  expect(factor).toBeLessThan(1.75);
});

test('the filters of the platform offer what was used, of summed days and of the hours beside them', async () => {
  await new UsageDays(house.database).merge();
  const days = await merged();
  expect(days.length).toBeGreaterThan(20);
  const everything = {
    model: ['large', 'small'],
    supplier: ['north', 'south'],
    region: ['eu'],
    key: ['1', '2', '3', '4', '5'],
    project: ['4'],
  };
  const offered = async (from: number, to: number) => {
    const choices = await query.choices(platform, { from: new Date(from), to: new Date(to) });
    return Object.fromEntries(
      Object.entries(choices).map(([dimension, list]) => [
        dimension,
        list.map(({ value }) => value).toSorted(),
      ]),
    );
  };
  const nothing = Object.fromEntries(Object.keys(everything).map((dimension) => [dimension, []]));
  expect(await offered(begin + 5 * DAY_MS + HOUR_MS, begin + 20 * DAY_MS)).toEqual(everything);
  expect(await offered(begin - 3 * DAY_MS, begin)).toEqual(nothing);
  // A late record unmakes the sum of its day, which is read hour by hour again.
  await settle([record(begin + 8 * DAY_MS, 1, 'late')]);
  expect(await merged()).not.toContain(begin + 8 * DAY_MS);
  expect((await offered(begin + 8 * DAY_MS, begin + 9 * DAY_MS))['model']).toEqual([
    'large',
    'late',
    'small',
  ]);
  expect((await offered(begin + 9 * DAY_MS, begin + 10 * DAY_MS))['model']).toEqual(['large', 'small']);
});
