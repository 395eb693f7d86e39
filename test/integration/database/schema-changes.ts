import type { Client } from 'pg';

interface SchemaColumn {
  readonly type: string;
  readonly nullable: boolean;
  /** True if the column gets a value when an INSERT omits it. */
  readonly filled: boolean;
}

/** Schema properties on which the statements of a running version rely. */
export interface SchemaShape {
  /** By table name, then by column name. */
  readonly tables: ReadonlyMap<string, ReadonlyMap<string, SchemaColumn>>;
  /** Function names with their argument types. */
  readonly functions: ReadonlySet<string>;
}

interface SchemaColumnRow {
  table: string;
  column: string;
  type: string;
  nullable: boolean;
  filled: boolean;
}

/** Reads the shape from the system catalogue. */
export async function readShape(client: Client): Promise<SchemaShape> {
  const columns = await client.query<SchemaColumnRow>(
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
  const tables = new Map<string, Map<string, SchemaColumn>>();
  for (const { table, column, ...rest } of columns.rows)
    tables.set(table, (tables.get(table) ?? new Map<string, SchemaColumn>()).set(column, rest));
  return { tables, functions: new Set(functions.rows.map(({ name }) => name)) };
}

/** Returns the changes that break a version written for `before`; a rename counts as a removal. */
export function findBreakingChanges(before: SchemaShape, after: SchemaShape): string[] {
  const problems = [...before.functions]
    .filter((name) => !after.functions.has(name))
    .map((name) => `the function ${name} is gone`);
  for (const [table, columns] of before.tables) {
    const now = after.tables.get(table);
    if (now === undefined) problems.push(`${table} is gone`);
    else problems.push(...findBreakingColumns(table, columns, now));
  }
  return problems;
}

function findBreakingColumns(
  table: string,
  before: ReadonlyMap<string, SchemaColumn>,
  after: ReadonlyMap<string, SchemaColumn>,
): string[] {
  const problems: string[] = [];
  for (const [name, column] of before) {
    const now = after.get(name);
    if (now === undefined) problems.push(`${table}.${name} is gone`);
    else if (now.type !== column.type) problems.push(`${table}.${name} has another type`);
    else if (column.nullable && !now.nullable) problems.push(`${table}.${name} has to have a value now`);
    else if (column.filled && !now.filled && !now.nullable)
      problems.push(`${table}.${name} has lost its default`);
  }
  for (const [name, { nullable, filled }] of after)
    if (!before.has(name) && !nullable && !filled)
      problems.push(`${table}.${name} is new and has to be given`);
  return problems;
}
