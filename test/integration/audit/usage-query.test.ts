import { UsageQuery, type UsageRequest, serialiseRecord } from '#product/audit';
import { PostgresMoneyStore } from '#product/billing';
import { uuidv7 } from '#product/kernel';
import { outcomeOf, key, MoneyFixture, wallet } from '../billing/money-fixture';

/** Zones whose clocks change on different nights of the period, and one with a quarter-hour offset. */
const zones = ['Europe/Berlin', 'America/St_Johns', 'Australia/Lord_Howe', 'Asia/Kathmandu'];
const from = new Date('2026-09-25T00:00:00Z');
const to = new Date('2026-11-10T00:00:00Z');
const MINUTE_MS = 60_000;

let fixture: MoneyFixture;
let query: UsageQuery;

const endUsers = ['ada', 'grace', null];
const tagLists = [['night', 'batch'], ['batch'], null, null];

beforeAll(async () => {
  fixture = await MoneyFixture.open();
  query = new UsageQuery(fixture.database);
  const store = new PostgresMoneyStore(fixture.database);
  await fixture.credit(1, 1_000_000_000n);
  await fixture.database.query("SELECT ensure_request_record_partitions('2026-09-01', 4)");
  const refs = [key(1), wallet(1), { kind: 'user' as const, id: 7 }];
  const instants: number[] = [];
  // Instants around every quarter hour of the nights of the clock changes, and some elsewhere.
  for (let at = from.getTime(); at < to.getTime(); at += 15 * MINUTE_MS) {
    const isNear = [25, 26, 27, 31, 1, 2, 3, 4].includes(new Date(at).getUTCDate());
    if (isNear || at % (600 * MINUTE_MS) === 0) instants.push(at, at + 1, at + 15 * MINUTE_MS - 1);
  }
  const records = instants.map((at, place) =>
    serialiseRecord(uuidv7(), at, {
      ...outcomeOf(BigInt(1 + ((place * 7_919) % 1_000)), refs),
      keyId: 1 + (place % 3),
      model: place % 3 === 0 ? 'auto' : 'small',
      servedModel: place % 11 === 0 ? null : place % 5 === 0 ? 'large' : 'small',
      supplier: place % 2 === 0 ? 'north' : 'south',
      region: place % 4 === 0 ? 'eu' : null,
      projectId: place % 6 === 0 ? 4 : null,
      code: place % 11 === 0 ? 'upstream_error' : null,
      status: place % 11 === 0 ? 502 : 200,
      latencyMs: place % 1_000,
      endUser: endUsers[place % endUsers.length] ?? null,
      tags: tagLists[place % tagLists.length] ?? null,
    }),
  );
  for (let start = 0; start < records.length; start += 500)
    await store.settle({ lease: null, number: 0, records: records.slice(start, start + 500), releases: [] });
});
afterAll(() => fixture.close());

const scope = { kind: 'user', userId: 7 } as const;
const queryUsage = (more: Partial<UsageRequest> = {}) =>
  query.read(scope, { from, to, bucket: 'day', zone: 'UTC', ...more });
const sumRecords = async (where: string, parameters: unknown[] = []) => {
  const [row] = await fixture.database.query<{ cost: string; requests: string }>(
    `SELECT coalesce(sum(cost_nano), 0)::text AS cost, count(*)::text AS requests FROM request_record
      WHERE user_id = 7 AND ${where}`,
    parameters,
  );
  return [BigInt(row?.cost ?? 0), Number(row?.requests)] as const;
};

test.each(zones)('every bucket is the sum of the records between its borders: %s', async (zone) => {
  for (const bucket of ['day', 'month'] as const) {
    const { borders, buckets, total } = await queryUsage({ zone, bucket });
    const local = new Intl.DateTimeFormat('en', { timeZone: zone, timeStyle: 'short', hourCycle: 'h23' });
    // The first bucket starts with the period, not at midnight.
    for (const border of borders.slice(1)) expect(local.format(border)).toBe('00:00');
    for (const [place, sums] of buckets.entries()) {
      const recordSums = await sumRecords('created_at >= $1 AND created_at < $2', [
        borders[place],
        borders[place + 1] ?? to,
      ]);
      expect([borders[place]?.toISOString(), sums.costNano, sums.requests]).toEqual([
        borders[place]?.toISOString(),
        ...recordSums,
      ]);
    }
    expect(total.costNano).toBe((await sumRecords('created_at >= $1 AND created_at < $2', [from, to]))[0]);
  }
});

test('a day with a clock change has 23 or 25 hours, or half an hour more or less', async () => {
  const hoursOf = async (zone: string, day: string) => {
    const { borders } = await queryUsage({ zone });
    const name = new Intl.DateTimeFormat('en-CA', { timeZone: zone });
    const place = borders.findIndex((border) => name.format(border) === day);
    return ((borders[place + 1]?.getTime() ?? 0) - (borders[place]?.getTime() ?? 0)) / (60 * MINUTE_MS);
  };
  expect(await hoursOf('Europe/Berlin', '2026-10-25')).toBe(25);
  expect(await hoursOf('America/St_Johns', '2026-11-01')).toBe(25);
  expect(await hoursOf('Australia/Lord_Howe', '2026-10-04')).toBe(23.5);
  expect(await hoursOf('Asia/Kathmandu', '2026-10-25')).toBe(24);
});

test('the total equals what the ledger charged to the wallet', async () => {
  const [row] = await fixture.database.query<{ spent: string }>(
    `SELECT sum(amount)::text AS spent FROM ledger_entry e JOIN ledger_account a ON a.id = e.account_id
       JOIN ledger_transaction t ON t.id = e.transaction_id WHERE a.kind = 'usage' AND t.kind = 'settlement'`,
  );
  expect((await queryUsage({ zone: 'Asia/Kathmandu' })).total.costNano).toBe(BigInt(row?.spent ?? 0));
});

test.each(['model', 'key', 'project', 'supplier', 'region', 'user', 'end_user'] as const)(
  'groups add up to the total: %s',
  async (groupBy) => {
    const answer = await queryUsage({ groupBy, zone: 'Asia/Kathmandu' });
    const cost = answer.groups.reduce((sum, group) => sum + group.sums.costNano, 0n);
    expect([cost, answer.groups.length > 0]).toEqual([answer.total.costNano, true]);
    for (const [place, all] of answer.buckets.entries()) {
      const requests = answer.groups.reduce((sum, group) => sum + (group.buckets[place]?.requests ?? 0), 0);
      expect(requests).toBe(all.requests);
    }
  },
);

test('a tag is summed over every request that has it', async () => {
  const { groups } = await queryUsage({ groupBy: 'tag', zone: 'Europe/Berlin' });
  for (const tag of ['batch', 'night']) {
    const sums = groups.find(({ value }) => value === tag)?.sums;
    expect([sums?.costNano, sums?.requests]).toEqual(
      await sumRecords('tags ? $1 AND created_at >= $2 AND created_at < $3', [tag, from, to]),
    );
  }
});

test('filters narrow the result, alone, combined and with groups, also for values stored only in records', async () => {
  const period = 'created_at >= $1 AND created_at < $2';
  const oddPeriod = { from: new Date('2026-10-25T00:20:00.001Z'), to: new Date('2026-11-01T03:31:00Z') };
  const periodValues = [oddPeriod.from, oddPeriod.to];
  const cases = [
    [{ model: 'large' }, "served_model = 'large'"],
    [{ supplier: 'north', region: 'eu' }, "supplier = 'north' AND region = 'eu'"],
    [{ keyId: 2, projectId: 4 }, 'key_id = 2 AND project_id = 4'],
    [{ endUser: 'ada' }, "end_user = 'ada'"],
    [{ tag: 'night', supplier: 'south' }, "tags ? 'night' AND supplier = 'south'"],
    [{ endUser: 'grace', tag: 'batch' }, "end_user = 'grace' AND tags ? 'batch'"],
  ] as const;
  for (const [filter, where] of cases) {
    const { total } = await queryUsage({ ...oddPeriod, filter, groupBy: 'key', zone: 'America/St_Johns' });
    expect([filter, total.costNano, total.requests]).toEqual([
      filter,
      ...(await sumRecords(`${period} AND ${where}`, periodValues)),
    ]);
  }
});

test('groups beyond the most expensive ones are summed as others', async () => {
  const { groups, total } = await queryUsage({ groupBy: 'key', mostGroups: 1 });
  expect(groups.map(({ kind }) => kind)).toEqual(['named', 'others']);
  expect(groups.reduce((sum, { sums }) => sum + sums.requests, 0)).toBe(total.requests);
});

test('requests of another user are not counted', async () => {
  const otherQuery = { from, to, bucket: 'month', zone: 'UTC', groupBy: 'tag' } as const;
  expect(await query.read({ kind: 'user', userId: 8 }, otherQuery)).toMatchObject({
    groups: [],
    total: { requests: 0, costNano: 0n },
  });
});

test('a period with too many buckets is refused', async () => {
  await expect(queryUsage({ bucket: 'hour' })).rejects.toMatchObject({ code: 'invalid_request' });
});
