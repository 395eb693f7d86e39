import { DataSource } from 'typeorm';
import { type ActivityFilter, ActivityQuery } from '#product/audit';
import type { Scope } from '../../../src/kernel';
import { Database } from '#product/platform';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';

/** Has no time for more than one span per page, and none for the word index. */
class TimeLimitedQuery extends ActivityQuery {
  protected override readonly wordsMs = 1;
  protected override readonly searchMs = 0;
}

/** Never gives up on the word index, even when other tests run in parallel. */
class UnlimitedQuery extends ActivityQuery {
  protected override readonly wordsMs = 20_000;
  protected override readonly searchMs = 20_000;
}

interface SearchEntry {
  readonly id: string;
  readonly at: number;
  readonly action: string;
  readonly actor: string;
  readonly type: string;
  readonly objectId: string;
  readonly label: string | null;
  readonly organisation: number;
  readonly user: number;
}

let testDatabase: TestDatabase;
let database: Database;
let allEntries: SearchEntry[];

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = new Database(
    await new DataSource({ type: 'postgres', url: testDatabase.url, poolSize: 4 }).initialize(),
  );
  await database.query(`
    INSERT INTO activity (occurred_at, action, actor_kind, actor_user_id, actor_role, actor_label, user_id,
                          organisation_id, object_type, object_id, object_label)
    SELECT now() - n * interval '83 minutes', CASE n % 3 WHEN 0 THEN 'key.created' ELSE 'organisation.changed' END, 'user',
           1 + n % 7, 'user', 'Person-' || n % 40 || '@example.com', CASE WHEN n % 4 = 0 THEN 1 + n % 5 END, 1 + n % 3,
           CASE n % 5 WHEN 0 THEN 'key' ELSE 'organisation' END, (n % 90)::text,
           CASE WHEN n % 250 = 9 THEN 'Straße 100% a_b\\c "' || n || '"' WHEN n % 2 = 0 THEN 'Object ' || n END
      FROM generate_series(1, 1500) n`);
  allEntries = (
    await database.query<SearchEntry & { readonly instant: Date }>(
      `SELECT id::text, occurred_at AS instant, action, lower(actor_label) AS actor, object_type AS type, object_id AS "objectId",
              lower(object_label) AS label, organisation_id AS organisation, actor_user_id AS user
         FROM activity ORDER BY occurred_at DESC, id DESC`,
    )
  ).map((row) => ({ ...row, at: row.instant.getTime() }));
});
afterAll(async () => {
  await database.source.destroy();
  await testDatabase.drop();
});

const platform: Scope = { kind: 'platform' };
const contains = (text: string | null, part: string): boolean => text?.includes(part.toLowerCase()) ?? false;
const cases: readonly (readonly [Scope, Omit<ActivityFilter, 'limit'>, (facts: SearchEntry) => boolean])[] = [
  [
    platform,
    { text: 'PERSON-33@' },
    ({ actor, label }) => contains(actor, 'person-33@') || contains(label, 'person-33@'),
  ],
  [platform, { text: 'straße' }, ({ label }) => contains(label, 'straße')],
  [platform, { text: '100% a_b\\c "' }, ({ label }) => contains(label, '100% a_b\\c "')],
  [platform, { text: '%%%' }, () => false],
  [platform, { text: 'ob' }, ({ label }) => contains(label, 'ob')],
  [platform, { text: 'nothing like it' }, () => false],
  [
    platform,
    { actorText: 'person-3', action: 'key.created' as const },
    ({ actor, action }) => contains(actor, 'person-3') && action === 'key.created',
  ],
  [platform, { objectText: '17' }, ({ objectId, label }) => objectId === '17' || contains(label, '17')],
  [platform, { objectText: 'object 117' }, ({ label }) => contains(label, 'object 117')],
  [platform, { object: { type: 'key' as const } }, ({ type }) => type === 'key'],
  [
    { kind: 'organisation', organisationId: 2 },
    { actorUserId: 3 },
    ({ organisation, user }) => organisation === 2 && user === 3,
  ],
  [
    { kind: 'organisation', organisationId: 2 },
    { text: 'person-11' },
    ({ organisation, actor }) => organisation === 2 && contains(actor, 'person-11'),
  ],
];

/** Reads every page from first to last, and then back from the last to the first. */
async function readAllPages(query: ActivityQuery, scope: Scope, filter: Omit<ActivityFilter, 'limit'>) {
  const forwardIds: string[] = [];
  let incompletePages = 0;
  let cursor: string | null = null;
  let backCursor: string | null = null;
  do {
    const page = await query.page(scope, { ...filter, cursor, limit: 20 });
    forwardIds.push(...page.rows.map(({ id }) => id));
    if (page.searchedTo !== null) incompletePages += 1;
    cursor = page.next;
    backCursor = page.previous ?? backCursor;
  } while (cursor !== null);
  const backwardIds: string[] = [];
  for (cursor = backCursor; cursor !== null;) {
    const page = await query.page(scope, { ...filter, cursor, limit: 20 });
    backwardIds.unshift(...page.rows.map(({ id }) => id));
    cursor = page.previous;
  }
  return { down: forwardIds, up: backwardIds, brokenOff: incompletePages };
}

test.each(cases)(
  '%j %j returns every entry once and in order, with the word index and span by span',
  async (scope, filter, fits) => {
    const expectedIds = allEntries.filter(fits).map(({ id }) => id);
    const unlimitedResult = await readAllPages(new UnlimitedQuery(database), scope, filter);
    expect([unlimitedResult.down, unlimitedResult.brokenOff]).toEqual([expectedIds, 0]);
    const limitedResult = await readAllPages(new TimeLimitedQuery(database), scope, filter);
    expect(limitedResult.down).toEqual(expectedIds);
    // Backwards from the last page: every entry except those of that page.
    for (const { up } of [unlimitedResult, limitedResult])
      expect(up).toEqual(expectedIds.slice(0, up.length));
  },
);

test('a search that runs out of time reports how far it searched, as do the day counts', async () => {
  const limitedQuery = new TimeLimitedQuery(database);
  const page = await limitedQuery.page(platform, { text: 'zz', limit: 20 });
  expect(page).toMatchObject({
    rows: [],
    searchedTo: expect.any(Date) as Date,
    next: expect.any(String) as string,
  });
  const { days, countedTo } = await limitedQuery.days(platform, {}, 'UTC');
  expect(countedTo).not.toBeNull();
  const countedEntries = days.reduce((sum, { count }) => sum + count, 0);
  expect(countedEntries).toBe(allEntries.filter(({ at }) => at >= (countedTo?.getTime() ?? 0)).length);
});

test.each(['UTC', 'Asia/Kathmandu', 'America/St_Johns'])(
  'entries are counted per day in the time zone %s',
  async (timeZone) => {
    const dayOf = new Intl.DateTimeFormat('en-CA', { timeZone, dateStyle: 'short' });
    for (const [scope, filter, fits] of cases) {
      const expectedCounts = new Map<string, number>();
      for (const { at } of allEntries.filter(fits))
        expectedCounts.set(dayOf.format(at), (expectedCounts.get(dayOf.format(at)) ?? 0) + 1);
      const { days, countedTo } = await new UnlimitedQuery(database).days(scope, filter, timeZone);
      expect([countedTo, days]).toEqual([
        null,
        [...expectedCounts]
          .map(([day, count]) => ({ day, count }))
          .sort((one, other) => (one.day < other.day ? -1 : 1)),
      ]);
    }
  },
);

test('the word index exists and is used', async () => {
  const plan = await database.transaction(async (tx) => {
    await tx.query('SET LOCAL enable_seqscan = off');
    return tx.query<{ 'QUERY PLAN': string }[]>(
      `EXPLAIN SELECT id FROM activity WHERE lower(actor_label || E'\\n' || coalesce(object_label, '') || E'\\n' || coalesce(object_id, ''))
         LIKE '%person-33%'`,
    );
  });
  expect(plan.map((row) => row['QUERY PLAN']).join('\n')).toContain('activity_by_words');
});
