import type { Database } from '../../src/platform';

/** Fills two years with evenly spaced entries: a fifth of organisation 1, few merges, and even fewer with a note. */
export async function fillActivity(ownerDatabase: Database, rows: number): Promise<void> {
  await ownerDatabase.query('ALTER TABLE activity DISABLE TRIGGER USER');
  // Indexes are rebuilt afterwards, because updating them per row is many times slower.
  const indexes = await ownerDatabase.query<{ name: string; definition: string }>(
    `SELECT indexname AS name, indexdef AS definition FROM pg_indexes
      WHERE tablename = 'activity' AND indexname <> 'activity_pkey'`,
  );
  for (const { name } of indexes) await ownerDatabase.query(`DROP INDEX ${name}`);
  await ownerDatabase.query(
    `INSERT INTO activity (occurred_at, action, actor_kind, actor_user_id, actor_role, actor_organisation_id, actor_label,
                           user_id, organisation_id, object_type, object_id, object_label, changes, address)
     SELECT now() - (${rows} - n) * (interval '730 days' / ${rows}),
            CASE WHEN n % 400000 = 7 THEN 'organisation.merged' WHEN n % 7 = 0 THEN 'key.created'
                 WHEN n % 7 = 1 THEN 'key.changed' ELSE 'organisation.changed' END,
            'user', 1 + (n * 7919) % 100000, 'user', 1 + n % 2000, 'person-' || (n * 7919) % 100000 || '@example.com',
            CASE WHEN n % 3 = 0 THEN 1 + (n * 31) % 100000 END, CASE WHEN n % 5 = 0 THEN 1 ELSE 1 + n % 2000 END,
            CASE WHEN n % 500000 = 11 THEN 'log' WHEN n % 7 < 2 THEN 'key' ELSE 'organisation' END, (n % 200000)::text,
            CASE WHEN n % 1000000 = 5 THEN 'Seldom Harbour ' || n ELSE 'Object ' || n % 200000 END,
            '{"name": ["before", "after"]}', '10.0.0.1'
       FROM generate_series(1::bigint, ${rows}) AS n`,
  );
  for (const { definition } of indexes) await ownerDatabase.query(definition);
  await ownerDatabase.query('ALTER TABLE activity ENABLE TRIGGER USER');
  await ownerDatabase.query('VACUUM ANALYZE activity');
}

const audit = '/dashboard/admin/audit';

/** Paths as seen by a platform administrator, then by the owner of an organisation. */
export const activityPaths = [
  audit,
  `${audit}?action=key.created`,
  `${audit}?action=organisation.merged`,
  `${audit}?action=log.exported`,
  `${audit}?actor=77`,
  `${audit}?actor=person-777`,
  `${audit}?actor=person-99`,
  `${audit}?actor=no-such-person`,
  `${audit}?actor=zz`,
  `${audit}?type=key`,
  `${audit}?type=log`,
  `${audit}?type=model`,
  `${audit}?object=4711`,
  `${audit}?object=harbour`,
  `${audit}?object=%25`,
  `${audit}?action=key.created&type=organisation`,
  `${audit}?action=key.created&actor=person-777&type=key`,
  `${audit}?from=2025-01-01&to=2025-01-31&object=harbour`,
];
export const ownPaths = [
  '/dashboard/activity',
  '/dashboard/activity?days=365',
  '/dashboard/activity?days=365&q=harbour',
  '/dashboard/activity?days=365&q=zz',
  '/dashboard/activity?days=365&type=key',
];
