import type { Tx } from '../../platform';

const ROWS_AT_ONCE = 500;

interface TableFacts {
  /** With its schema, quoted. */
  readonly name: string;
  /** Quoted; those that the database computes are left out. */
  readonly columns: readonly string[];
  /** The tables that its foreign keys point to. */
  readonly after: readonly string[];
}

/** Reading what was written has to give the same values, whatever the settings of a server are. */
const FORMS = `SET LOCAL datestyle = 'ISO, YMD'; SET LOCAL intervalstyle = 'postgres'; SET LOCAL timezone = 'UTC';
SET LOCAL extra_float_digits = 3; SET LOCAL bytea_output = 'hex'; SET LOCAL standard_conforming_strings = on;
`;

/** Tables of a schema with their columns; from here on nobody else reads or writes them. */
export async function lockTables(tx: Tx, schema: string): Promise<readonly TableFacts[]> {
  const tables = await tx.query<TableFacts[]>(
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
  return inOrder(tables);
}

/** A table comes after those that it points to; tables that point to one another stay as they were. */
function inOrder(tables: readonly TableFacts[]): TableFacts[] {
  const ordered: TableFacts[] = [];
  const rest = [...tables];
  while (rest.length > 0) {
    const isFree = ({ after }: TableFacts): boolean => !rest.some(({ name }) => after.includes(name));
    const place = Math.max(rest.findIndex(isFree), 0);
    ordered.push(...rest.splice(place, 1));
  }
  return ordered;
}

/** Every row of the tables as SQL that any client of PostgreSQL runs, in pieces. It counts into `rows`. */
export async function* dumpedTables(
  tx: Tx,
  schema: string,
  { tables, rows }: { readonly tables: readonly TableFacts[]; readonly rows: { count: number } },
): AsyncGenerator<string> {
  await tx.query(FORMS);
  yield `BEGIN;\n${FORMS}`;
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

/** A value is written as its type spells it, which is how every type reads it back. */
async function* rowsOf(tx: Tx, { name, columns }: TableFacts): AsyncGenerator<string> {
  if (columns.length === 0) return;
  const values = columns.map((column) => `quote_nullable(${column}::text)`).join(` || ', ' || `);
  const head = `INSERT INTO ${name} (${columns.join(', ')}) OVERRIDING SYSTEM VALUE VALUES`;
  await tx.query(`DECLARE dumped NO SCROLL CURSOR FOR SELECT ${values} AS line FROM ONLY ${name}`);
  for (;;) {
    const found = await tx.query<{ line: string }[]>(`FETCH ${ROWS_AT_ONCE} FROM dumped`);
    for (const { line } of found) yield `${head} (${line});\n`;
    if (found.length < ROWS_AT_ONCE) break;
  }
  await tx.query('CLOSE dumped');
}
