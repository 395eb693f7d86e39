import type { Client } from 'pg';

/** A table with rows of its own. A partitioned table has none: its partitions do. */
export interface TableDescription {
  readonly schema: string;
  readonly name: string;
  /** Quoted, with its schema. */
  readonly place: string;
  /** Quoted; generated columns are omitted. */
  readonly columns: readonly string[];
  /** Parent table and bound of a partition; null for other tables. */
  readonly partitionOf: string | null;
  readonly bound: string | null;
  readonly estimatedRows: number;
}

/** Tables that migrations fill at the target. */
const MIGRATION_TABLES = ['public.migrations', 'public.extension_migration', 'bullmq.migration'];

export async function tablesIn(client: Client, schemas: readonly string[]): Promise<TableDescription[]> {
  const { rows } = await client.query<TableDescription>(
    `SELECT n.nspname AS schema, c.relname AS name, format('%I.%I', n.nspname, c.relname) AS place,
            ARRAY(SELECT quote_ident(a.attname) FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0
                     AND NOT a.attisdropped AND a.attgenerated = '' ORDER BY a.attname) AS columns,
            (SELECT i.inhparent::regclass::text FROM pg_inherits i WHERE i.inhrelid = c.oid AND c.relispartition)
              AS "partitionOf",
            pg_get_expr(c.relpartbound, c.oid) AS bound, c.reltuples::float8 AS "estimatedRows"
       FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE c.relkind = 'r' AND n.nspname = ANY ($1) AND n.nspname || '.' || c.relname <> ALL ($2)
      ORDER BY n.nspname, c.relname`,
    [schemas, MIGRATION_TABLES],
  );
  return rows;
}

export interface SequenceDescription {
  readonly place: string;
  readonly value: string | null;
}

/** `value` is null if a sequence was never used. */
export async function sequencesIn(
  client: Client,
  schemas: readonly string[],
): Promise<SequenceDescription[]> {
  const { rows } = await client.query<SequenceDescription>(
    `SELECT format('%I.%I', schemaname, sequencename) AS place, last_value::text AS value
       FROM pg_sequences WHERE schemaname = ANY ($1) ORDER BY 1`,
    [schemas],
  );
  return rows;
}

export interface ForeignKey {
  readonly table: string;
  readonly name: string;
  readonly definition: string;
}

export async function foreignKeysIn(client: Client, schema: string): Promise<ForeignKey[]> {
  const { rows } = await client.query<ForeignKey>(
    `SELECT format('%I.%I', n.nspname, c.relname) AS "table", quote_ident(k.conname) AS name,
            pg_get_constraintdef(k.oid) AS definition
       FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE k.contype = 'f' AND k.conparentid = 0 AND n.nspname = $1 ORDER BY 1, 2`,
    [schema],
  );
  return rows;
}

export interface IndexDescription {
  readonly place: string;
  readonly definition: string;
}

/** Indexes that no constraint owns; those of partitions follow the index of their table. */
export async function indexesIn(client: Client, schema: string): Promise<IndexDescription[]> {
  const { rows } = await client.query<IndexDescription>(
    `SELECT format('%I.%I', n.nspname, c.relname) AS place,
            CASE WHEN c.relkind = 'I' THEN replace(pg_get_indexdef(c.oid), ' ON ONLY ', ' ON ')
                 ELSE pg_get_indexdef(c.oid) END AS definition
       FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = $1 AND NOT c.relispartition
        AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = c.oid)
        AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.refobjid = c.oid AND d.deptype = 'n')
      ORDER BY 1`,
    [schema],
  );
  return rows;
}

/** Tables with triggers of their own, including partitioned ones. */
export async function tablesWithTriggers(client: Client, schema: string): Promise<string[]> {
  const { rows } = await client.query<{ place: string }>(
    `SELECT DISTINCT format('%I.%I', n.nspname, c.relname) AS place
       FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE NOT t.tgisinternal AND t.tgparentid = 0 AND n.nspname = $1 ORDER BY 1`,
    [schema],
  );
  return rows.map(({ place }) => place);
}

/** Equal on two servers only if every row is equal; the order is ignored. */
export interface Digest {
  readonly rows: string;
  readonly sum: string | null;
}

export async function digestOf(
  client: Client,
  { place, columns }: Pick<TableDescription, 'place' | 'columns'>,
): Promise<Digest> {
  const row = columns.length === 0 ? "''" : `ROW(${columns.join(', ')})::text`;
  const { rows } = await client.query<Digest>(
    `SELECT count(*)::text AS rows, sum(('x' || substr(md5(${row}), 1, 15))::bit(60)::bigint)::text AS sum
       FROM ONLY ${place}`,
  );
  return rows[0]!;
}
