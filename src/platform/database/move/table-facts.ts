import type { Client } from 'pg';

/** A table with rows of its own. A partitioned table has none: its partitions do. */
export interface TableFacts {
  readonly schema: string;
  readonly name: string;
  /** With its schema, quoted. */
  readonly place: string;
  /** Quoted; columns that are computed are left out. */
  readonly columns: readonly string[];
  /** The partition is of this table, with this bound; null for others. */
  readonly partitionOf: string | null;
  readonly bound: string | null;
  readonly estimatedRows: number;
}

/** What migrations write at the target themselves. */
const KEPT_BY_MIGRATIONS = ['public.migrations', 'public.extension_migration', 'bullmq.migration'];

export async function tablesIn(client: Client, schemas: readonly string[]): Promise<TableFacts[]> {
  const { rows } = await client.query<TableFacts>(
    `SELECT n.nspname AS schema, c.relname AS name, format('%I.%I', n.nspname, c.relname) AS place,
            ARRAY(SELECT quote_ident(a.attname) FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0
                     AND NOT a.attisdropped AND a.attgenerated = '' ORDER BY a.attname) AS columns,
            (SELECT i.inhparent::regclass::text FROM pg_inherits i WHERE i.inhrelid = c.oid AND c.relispartition)
              AS "partitionOf",
            pg_get_expr(c.relpartbound, c.oid) AS bound, c.reltuples::float8 AS "estimatedRows"
       FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE c.relkind = 'r' AND n.nspname = ANY ($1) AND n.nspname || '.' || c.relname <> ALL ($2)
      ORDER BY n.nspname, c.relname`,
    [schemas, KEPT_BY_MIGRATIONS],
  );
  return rows;
}

export interface SequenceFacts {
  readonly place: string;
  readonly value: string | null;
}

/** The value is null where a sequence was never used. */
export async function sequencesIn(client: Client, schemas: readonly string[]): Promise<SequenceFacts[]> {
  const { rows } = await client.query<SequenceFacts>(
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

export interface IndexFacts {
  readonly place: string;
  readonly definition: string;
}

/** Indexes that no constraint owns. Those of partitions come and go with the one of their table. */
export async function indexesIn(client: Client, schema: string): Promise<IndexFacts[]> {
  const { rows } = await client.query<IndexFacts>(
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

/** Tables with triggers of their own, partitioned ones among them. */
export async function triggeredIn(client: Client, schema: string): Promise<string[]> {
  const { rows } = await client.query<{ place: string }>(
    `SELECT DISTINCT format('%I.%I', n.nspname, c.relname) AS place
       FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE NOT t.tgisinternal AND t.tgparentid = 0 AND n.nspname = $1 ORDER BY 1`,
    [schema],
  );
  return rows.map(({ place }) => place);
}

/** The same of two servers only where every row is the same; their order does not count. */
export interface Digest {
  readonly rows: string;
  readonly sum: string | null;
}

export async function digestOf(
  client: Client,
  { place, columns }: Pick<TableFacts, 'place' | 'columns'>,
): Promise<Digest> {
  const row = columns.length === 0 ? "''" : `ROW(${columns.join(', ')})::text`;
  const { rows } = await client.query<Digest>(
    `SELECT count(*)::text AS rows, sum(('x' || substr(md5(${row}), 1, 15))::bit(60)::bigint)::text AS sum
       FROM ONLY ${place}`,
  );
  return rows[0]!;
}
