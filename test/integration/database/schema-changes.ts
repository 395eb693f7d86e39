import type { Client } from 'pg';

interface Column {
  readonly type: string;
  readonly nullable: boolean;
  /** It gets a value when a statement names none. */
  readonly filled: boolean;
}

/** The statements of a running version rely on this. */
export interface Shape {
  /** By table, then by column. */
  readonly tables: ReadonlyMap<string, ReadonlyMap<string, Column>>;
  /** Names with their arguments. */
  readonly functions: ReadonlySet<string>;
}

interface ColumnRow {
  table: string;
  column: string;
  type: string;
  nullable: boolean;
  filled: boolean;
}

/** Read from the catalogue of the server. */
export async function shapeOf(client: Client): Promise<Shape> {
  const columns = await client.query<ColumnRow>(
    `SELECT table_name AS table, column_name AS column, udt_name || coalesce(character_maximum_length::text, '') AS type,
            is_nullable = 'YES' AS nullable,
            column_default IS NOT NULL OR is_identity = 'YES' OR is_generated = 'ALWAYS' AS filled
       FROM information_schema.columns WHERE table_schema = 'public' AND table_name <> 'migrations'
        -- Partitions are as their table.
        AND NOT to_regclass(table_schema || '.' || table_name)::oid IN (SELECT inhrelid FROM pg_inherits)`,
  );
  const functions = await client.query<{ name: string }>(
    `SELECT oid::regprocedure::text AS name FROM pg_proc WHERE pronamespace = 'public'::regnamespace`,
  );
  const tables = new Map<string, Map<string, Column>>();
  for (const { table, column, ...rest } of columns.rows)
    tables.set(table, (tables.get(table) ?? new Map<string, Column>()).set(column, rest));
  return { tables, functions: new Set(functions.rows.map(({ name }) => name)) };
}

/** A version written for `before` stumbles over these in `after`; a new name is an old one that has gone. */
export function broken(before: Shape, after: Shape): string[] {
  const wrong = [...before.functions]
    .filter((name) => !after.functions.has(name))
    .map((name) => `the function ${name} is gone`);
  for (const [table, columns] of before.tables) {
    const now = after.tables.get(table);
    if (now === undefined) wrong.push(`${table} is gone`);
    else wrong.push(...brokenColumns(table, columns, now));
  }
  return wrong;
}

function brokenColumns(
  table: string,
  before: ReadonlyMap<string, Column>,
  after: ReadonlyMap<string, Column>,
): string[] {
  const wrong: string[] = [];
  for (const [name, column] of before) {
    const now = after.get(name);
    if (now === undefined) wrong.push(`${table}.${name} is gone`);
    else if (now.type !== column.type) wrong.push(`${table}.${name} has another type`);
    else if (column.nullable && !now.nullable) wrong.push(`${table}.${name} has to have a value now`);
    else if (column.filled && !now.filled && !now.nullable)
      wrong.push(`${table}.${name} has lost its default`);
  }
  for (const [name, { nullable, filled }] of after)
    if (!before.has(name) && !nullable && !filled) wrong.push(`${table}.${name} is new and has to be given`);
  return wrong;
}
