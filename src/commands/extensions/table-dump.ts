import type { Tx } from '../../platform';

const ROWS_PER_FETCH = 500;

interface DumpedTable {
  /** Quoted, with its schema. */
  readonly name: string;
  /** Quoted; columns that the database computes are omitted. */
  readonly columns: readonly string[];
  readonly after: readonly string[];
}

/** Makes the dump read back to the same values, whatever the settings of a server are. */
const OUTPUT_SETTINGS = `SET LOCAL datestyle = 'ISO, YMD'; SET LOCAL intervalstyle = 'postgres'; SET LOCAL timezone = 'UTC';
SET LOCAL extra_float_digits = 3; SET LOCAL bytea_output = 'hex'; SET LOCAL standard_conforming_strings = on;
`;

export async function lockTables(tx: Tx, schema: string): Promise<readonly DumpedTable[]> {
  const tables = await tx.query<DumpedTable[]>(
    `SELECT format('%I.%I', $1::text, c.relname) AS name,
            ARRAY(SELECT quote_ident(a.attname) FROM pg_attribute a
                   WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
                   ORDER BY a.attnum) AS columns,
            ARRAY(SELECT format('%I.%I', n.nspname, o.relname) FROM pg_constraint k
                    JOIN pg_class o ON o.oid = k.confrelid JOIN pg_namespace n ON n.oid = o.relnamespace
                   WHERE k.conrelid = c.oid AND k.contype = 'f' AND k.confrelid <> c.oid) AS after
       FROM pg_class c JOIN pg_namespace s ON s.oid = c.relnamespace
      WHERE s.nspname = $1 AND c.relkind = 'r' ORDER BY c.relname`,
    [schema],
  );
  if (tables.length > 0)
    await tx.query(`LOCK TABLE ${tables.map(({ name }) => name).join(', ')} IN ACCESS EXCLUSIVE MODE`);
  return sortByReferences(tables);
}

/** Sorts tables after those they refer to; tables in a cycle keep their order. */
function sortByReferences(tables: readonly DumpedTable[]): DumpedTable[] {
  const ordered: DumpedTable[] = [];
  const rest = [...tables];
  while (rest.length > 0) {
    const isFree = ({ after }: DumpedTable): boolean => !rest.some(({ name }) => after.includes(name));
    const index = Math.max(rest.findIndex(isFree), 0);
    ordered.push(...rest.splice(index, 1));
  }
  return ordered;
}

/** Yields every row as SQL for any PostgreSQL client, and counts the rows into `rows`. */
export async function* dumpedTables(
  tx: Tx,
  schema: string,
  { tables, rows }: { readonly tables: readonly DumpedTable[]; readonly rows: { count: number } },
): AsyncGenerator<string> {
  await tx.query(OUTPUT_SETTINGS);
  yield `BEGIN;\n${OUTPUT_SETTINGS}`;
  if (tables.length > 0) yield `TRUNCATE ${tables.map(({ name }) => name).join(', ')};\n`;
  for (const table of tables)
    for await (const line of rowsOf(tx, table)) {
      rows.count += 1;
      yield line;
    }
  for (const { name } of await tx.query<{ name: string }[]>(
    `SELECT format('%I.%I', schemaname, sequencename) AS name FROM pg_sequences WHERE schemaname = $1 ORDER BY 1`,
    [schema],
  )) {
    const [state] = await tx.query<{ value: string; called: boolean }[]>(
      `SELECT last_value::text AS value, is_called AS called FROM ${name}`,
    );
    yield `SELECT setval('${name.replaceAll("'", "''")}', ${state?.value}, ${state?.called});\n`;
  }
  yield 'COMMIT;\n';
}

/** Values are written in the text form of their type, which every type can read back. */
async function* rowsOf(tx: Tx, { name, columns }: DumpedTable): AsyncGenerator<string> {
  if (columns.length === 0) return;
  const values = columns.map((column) => `quote_nullable(${column}::text)`).join(` || ', ' || `);
  const head = `INSERT INTO ${name} (${columns.join(', ')}) OVERRIDING SYSTEM VALUE VALUES`;
  await tx.query(`DECLARE dumped NO SCROLL CURSOR FOR SELECT ${values} AS line FROM ONLY ${name}`);
  for (;;) {
    const fetchedRows = await tx.query<{ line: string }[]>(`FETCH ${ROWS_PER_FETCH} FROM dumped`);
    for (const { line } of fetchedRows) yield `${head} (${line});\n`;
    if (fetchedRows.length < ROWS_PER_FETCH) break;
  }
  await tx.query('CLOSE dumped');
}
