import type { Database } from '../../platform';
import type { UsageGrouping } from './usage-question';

const sources: Partial<Readonly<Record<UsageGrouping, string>>> = {
  key: 'SELECT id::text, name FROM api_key',
  project: 'SELECT id::text, name FROM project',
  user: `SELECT id::text, coalesce(nullif(display_name, ''), email) AS name FROM user_account`,
};

/** How people know what is counted by its id. What is gone keeps its id for a name. */
export async function groupNames(
  database: Database,
  grouping: UsageGrouping | null,
  groups: readonly { readonly value: string | null }[],
): Promise<ReadonlyMap<string, string>> {
  const source = grouping === null ? undefined : sources[grouping];
  const ids = groups.flatMap(({ value }) => (value === null ? [] : [Number(value)]));
  if (source === undefined || ids.length === 0) return new Map();
  const rows = await database.query<{ id: string; name: string }>(
    `${source} WHERE id = ANY ($1::integer[])`,
    [ids],
  );
  return new Map(rows.map(({ id, name }) => [id, name]));
}
