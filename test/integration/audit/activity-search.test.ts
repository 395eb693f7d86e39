import { DataSource } from 'typeorm';
import { type ActivityFilter, ActivityQuery } from '#product/audit';
import type { Scope } from '../../../src/kernel';
import { Database } from '#product/platform';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';

/** Has no time for more than one span a page, and none for the index of words. */
class Hasty extends ActivityQuery {
  protected override readonly wordsMs = 1;
  protected override readonly searchMs = 0;
}

/** Never gives up the index of words; tests run beside others. */
class Patient extends ActivityQuery {
  protected override readonly wordsMs = 20_000;
  protected override readonly searchMs = 20_000;
}

interface Facts {
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

let home: TestDatabase;
let database: Database;
let all: Facts[];

beforeAll(async () => {
  home = await createTestDatabase();
  database = new Database(
    await new DataSource({ type: 'postgres', url: home.url, poolSize: 4 }).initialize(),
  );
  await database.query(`
    INSERT INTO activity (occurred_at, action, actor_kind, actor_user_id, actor_role, actor_label, user_id,
                          organisation_id, object_type, object_id, object_label)
    SELECT now() - n * interval '83 minutes', CASE n % 3 WHEN 0 THEN 'key.created' ELSE 'organisation.changed' END, 'user',
           1 + n % 7, 'user', 'Person-' || n % 40 || '@example.com', CASE WHEN n % 4 = 0 THEN 1 + n % 5 END, 1 + n % 3,
           CASE n % 5 WHEN 0 THEN 'key' ELSE 'organisation' END, (n % 90)::text,
           CASE WHEN n % 250 = 9 THEN 'Straße 100% a_b\\c "' || n || '"' WHEN n % 2 = 0 THEN 'Object ' || n END
      FROM generate_series(1, 1500) n`);
  all = (
    await database.query<Facts & { readonly instant: Date }>(
      `SELECT id::text, occurred_at AS instant, action, lower(actor_label) AS actor, object_type AS type, object_id AS "objectId",
              lower(object_label) AS label, organisation_id AS organisation, actor_user_id AS user
         FROM activity ORDER BY occurred_at DESC, id DESC`,
    )
  ).map((row) => ({ ...row, at: row.instant.getTime() }));
});
afterAll(async () => {
  await database.source.destroy();
  await home.drop();
});

const platform: Scope = { kind: 'platform' };
const has = (text: string | null, part: string): boolean => text?.includes(part.toLowerCase()) ?? false;
const cases: readonly (readonly [Scope, Omit<ActivityFilter, 'limit'>, (facts: Facts) => boolean])[] = [
  [
    platform,
    { text: 'PERSON-33@' },
    ({ actor, label }) => has(actor, 'person-33@') || has(label, 'person-33@'),
  ],
  [platform, { text: 'straße' }, ({ label }) => has(label, 'straße')],
  [platform, { text: '100% a_b\\c "' }, ({ label }) => has(label, '100% a_b\\c "')],
  [platform, { text: '%%%' }, () => false],
  [platform, { text: 'ob' }, ({ label }) => has(label, 'ob')],
  [platform, { text: 'nothing like it' }, () => false],
  [
    platform,
    { actorText: 'person-3', action: 'key.created' as const },
    ({ actor, action }) => has(actor, 'person-3') && action === 'key.created',
  ],
  [platform, { objectText: '17' }, ({ objectId, label }) => objectId === '17' || has(label, '17')],
  [platform, { objectText: 'object 117' }, ({ label }) => has(label, 'object 117')],
  [platform, { object: { type: 'key' as const } }, ({ type }) => type === 'key'],
  [
    { kind: 'organisation', organisationId: 2 },
    { actorUserId: 3 },
    ({ organisation, user }) => organisation === 2 && user === 3,
  ],
  [
    { kind: 'organisation', organisationId: 2 },
    { text: 'person-11' },
    ({ organisation, actor }) => organisation === 2 && has(actor, 'person-11'),
  ],
];

/** Every page from the first to the last, or from the last back to the first. */
async function read(query: ActivityQuery, scope: Scope, filter: Omit<ActivityFilter, 'limit'>) {
  const down: string[] = [];
  let brokenOff = 0;
  let cursor: string | null = null;
  let back: string | null = null;
  do {
    const page = await query.page(scope, { ...filter, cursor, limit: 20 });
    down.push(...page.rows.map(({ id }) => id));
    if (page.searchedTo !== null) brokenOff += 1;
    cursor = page.next;
    back = page.previous ?? back;
  } while (cursor !== null);
  const up: string[] = [];
  for (cursor = back; cursor !== null;) {
    const page = await query.page(scope, { ...filter, cursor, limit: 20 });
    up.unshift(...page.rows.map(({ id }) => id));
    cursor = page.previous;
  }
  return { down, up, brokenOff };
}

test.each(cases)(
  '%j %j: every entry once and in order, by words and from span to span',
  async (scope, filter, fits) => {
    const wanted = all.filter(fits).map(({ id }) => id);
    const patient = await read(new Patient(database), scope, filter);
    expect([patient.down, patient.brokenOff]).toEqual([wanted, 0]);
    const hasty = await read(new Hasty(database), scope, filter);
    expect(hasty.down).toEqual(wanted);
    // Backwards from the last page: all but what that page itself showed.
    for (const { up } of [patient, hasty]) expect(up).toEqual(wanted.slice(0, up.length));
  },
);

test('a search without time says how far it looked, and the day counts do', async () => {
  const hasty = new Hasty(database);
  const page = await hasty.page(platform, { text: 'zz', limit: 20 });
  expect(page).toMatchObject({
    rows: [],
    searchedTo: expect.any(Date) as Date,
    next: expect.any(String) as string,
  });
  const { days, countedTo } = await hasty.days(platform, {}, 'UTC');
  expect(countedTo).not.toBeNull();
  const counted = days.reduce((sum, { count }) => sum + count, 0);
  expect(counted).toBe(all.filter(({ at }) => at >= (countedTo?.getTime() ?? 0)).length);
});

test.each(['UTC', 'Asia/Kathmandu', 'America/St_Johns'])(
  'entries are counted by days of %s',
  async (timeZone) => {
    const dayOf = new Intl.DateTimeFormat('en-CA', { timeZone, dateStyle: 'short' });
    for (const [scope, filter, fits] of cases) {
      const wanted = new Map<string, number>();
      for (const { at } of all.filter(fits))
        wanted.set(dayOf.format(at), (wanted.get(dayOf.format(at)) ?? 0) + 1);
      const { days, countedTo } = await new Patient(database).days(scope, filter, timeZone);
      expect([countedTo, days]).toEqual([
        null,
        [...wanted]
          .map(([day, count]) => ({ day, count }))
          .sort((one, other) => (one.day < other.day ? -1 : 1)),
      ]);
    }
  },
);

test('the index of words is there and is used', async () => {
  const plan = await database.transaction(async (tx) => {
    await tx.query('SET LOCAL enable_seqscan = off');
    return tx.query<{ 'QUERY PLAN': string }[]>(
      `EXPLAIN SELECT id FROM activity WHERE lower(actor_label || E'\\n' || coalesce(object_label, '') || E'\\n' || coalesce(object_id, ''))
         LIKE '%person-33%'`,
    );
  });
  expect(plan.map((row) => row['QUERY PLAN']).join('\n')).toContain('activity_by_words');
});
