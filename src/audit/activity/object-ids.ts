import type { Database } from '../../platform';
import type { ObjectType } from './action-names';

interface AskedObject {
  readonly object?: { readonly type: ObjectType; readonly id?: string | null } | null;
  readonly objectText?: string | null;
}

/** The ids that entries have for the object that is asked for. */
export interface ObjectIds {
  readonly objectIds?: readonly string[];
}

/** Entries that were sealed with the public id of a key stay as they are: both ids are told when they are read. */
export const KEY_IDS = `
  CASE WHEN object_type = 'key' AND object_id !~ '^[0-9]{1,9}$'
    THEN (SELECT k.id::text FROM api_key k WHERE k.public_id = object_id) END AS key_number,
  CASE WHEN object_type <> 'key' THEN NULL WHEN object_id ~ '^[0-9]{1,9}$'
    THEN (SELECT k.public_id FROM api_key k WHERE k.id = object_id::integer) ELSE object_id END AS key_public_id`;

/** A key is meant by its number and by its public id alike, and entries have either. */
export async function withObjectIds<Filter extends AskedObject>(
  database: Database,
  filter: Filter,
): Promise<Filter & ObjectIds> {
  const { object, objectText } = filter;
  const wanted = object?.id ?? objectText ?? '';
  if (wanted === '') return filter;
  if (object && object.type !== 'key') return { ...filter, objectIds: [wanted] };
  const rows = await database.query<{ ids: string[] }>(
    `SELECT ARRAY[k.id::text, k.public_id] AS ids FROM api_key k
      WHERE k.public_id = $1 OR k.id = CASE WHEN $1 ~ '^[0-9]{1,9}$' THEN $1::integer END`,
    [wanted],
  );
  return { ...filter, objectIds: [...new Set([wanted, ...rows.flatMap(({ ids }) => ids)])] };
}
