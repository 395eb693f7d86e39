import type { Database } from '../../platform';
import type { UsageGrouping } from './usage-request';

const sources: Partial<Readonly<Record<UsageGrouping, string>>> = {
  key: 'SELECT id::text, name, public_id AS "publicId" FROM api_key',
  project: 'SELECT id::text, name, NULL AS "publicId" FROM project',
  user: `SELECT id::text, coalesce(nullif(display_name, ''), email) AS name, NULL AS "publicId" FROM user_account`,
};

export interface GroupName {
  readonly name: string;
  /** A key's id at `/v1/manage`. */
  readonly publicId: string | null;
}

export async function groupNames(
  database: Database,
  grouping: UsageGrouping | null,
  groups: readonly { readonly value: string | null }[],
): Promise<ReadonlyMap<string, GroupName>> {
  const source = grouping === null ? undefined : sources[grouping];
  const ids = groups.flatMap(({ value }) => (value === null ? [] : [Number(value)]));
  if (source === undefined || ids.length === 0) return new Map();
  const rows = await database.query<GroupName & { id: string }>(`${source} WHERE id = ANY ($1::integer[])`, [
    ids,
  ]);
  return new Map(rows.map(({ id, ...name }) => [id, name]));
}
