import { Client } from 'pg';

interface ColumnInfo {
  readonly table: string;
  readonly column: string;
  readonly type: string;
  readonly nullable: boolean;
  /** Values that a check constraint allows; null if there is none. */
  readonly choices: readonly string[] | null;
}

/** TypeScript type of a value as the driver returns it. */
const types: Readonly<Record<string, string>> = {
  bool: 'boolean',
  bytea: 'Buffer',
  date: 'Date',
  float4: 'number',
  float8: 'number',
  inet: 'string',
  int2: 'number',
  int4: 'number',
  // Exceeds the range of safe integers.
  int8: 'string',
  interval: 'unknown',
  json: 'unknown',
  jsonb: 'unknown',
  numeric: 'string',
  text: 'string',
  timestamptz: 'Date',
  uuid: 'string',
  xid8: 'string',
};

const COLUMNS = `
  SELECT c.relname AS "table", a.attname AS "column", t.typname AS type, NOT a.attnotnull AS nullable,
         (SELECT array_agg(m[1] ORDER BY m[1]) FROM pg_constraint k,
                 regexp_matches(pg_get_constraintdef(k.oid), '''([^'']*)''::text', 'g') m
           WHERE k.conrelid = c.oid AND k.contype = 'c' AND k.conkey = ARRAY[a.attnum]
             AND pg_get_constraintdef(k.oid) ~ ('^CHECK \\(\\(' || quote_ident(a.attname) || ' = ANY')) AS choices
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    JOIN pg_type t ON t.oid = a.atttypid
   WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relname <> 'migrations'
   ORDER BY c.relname, a.attname`;

const HEAD = `// The tables as migrations leave them, a column a line. Written by \`WRITE_TABLES=1 npm test -- tables\`, and compared
// with the database by that test.

export interface Tables {
`;

/** Generates the source of `migrations/tables.ts` from a migrated database. */
export async function generateTables(url: string): Promise<string> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<ColumnInfo>(COLUMNS);
    const tables = Map.groupBy(rows, ({ table }) => table);
    const text = [...tables].map(
      ([table, columns]) => `  ${table}: {\n${columns.map(lineOf).join('')}  };\n`,
    );
    return `${HEAD}${text.join('')}}\n`;
  } finally {
    await client.end();
  }
}

function lineOf({ column, type, nullable, choices }: ColumnInfo): string {
  const value = typeOf(type, choices);
  return `    ${column}: ${value}${nullable && value !== 'unknown' ? ' | null' : ''};\n`;
}

function typeOf(type: string, choices: readonly string[] | null): string {
  if (choices !== null) return choices.map((choice) => `'${choice}'`).join(' | ');
  const item = type.startsWith('_') ? types[type.slice(1)] : undefined;
  if (item !== undefined) return `${item}[]`;
  const knownType = types[type];
  if (knownType === undefined) throw new Error(`what the driver makes of ${type} is not known here`);
  return knownType;
}
