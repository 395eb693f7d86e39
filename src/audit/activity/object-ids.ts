import type { Database } from '../../platform';
import type { ObjectType } from './action-names';

interface ObjectFilter {
  readonly object?: { readonly type: ObjectType; readonly id?: string | null } | null;
  readonly objectText?: string | null;
}

export interface ObjectIds {
  readonly objectIds?: readonly string[];
}

/** Entries that were sealed with a key's public id stay unchanged, so both ids are resolved when entries are read. */
export const KEY_IDS = `
  CASE WHEN object_type = 'key' AND object_id !~ '^[0-9]{1,9}$'
    THEN (SELECT k.id::text FROM api_key k WHERE k.public_id = object_id) END AS key_number,
  CASE WHEN object_type <> 'key' THEN NULL WHEN object_id ~ '^[0-9]{1,9}$'
    THEN (SELECT k.public_id FROM api_key k WHERE k.id = object_id::integer) ELSE object_id END AS key_public_id`;

/** A key can be requested by its number or its public id, and entries have either. */
export async function withObjectIds<Filter extends ObjectFilter>(
  database: Database,
  filter: Filter,
): Promise<Filter & ObjectIds> {
  const { object, objectText } = filter;
  const requestedId = object?.id ?? objectText ?? '';
  if (requestedId === '') return filter;
  if (object && object.type !== 'key') return { ...filter, objectIds: [requestedId] };
  const rows = await database.query<{ ids: string[] }>(
    `SELECT ARRAY[k.id::text, k.public_id] AS ids FROM api_key k
      WHERE k.public_id = $1 OR k.id = CASE WHEN $1 ~ '^[0-9]{1,9}$' THEN $1::integer END`,
    [requestedId],
  );
  return { ...filter, objectIds: [...new Set([requestedId, ...rows.flatMap(({ ids }) => ids)])] };
}
