import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Database } from '../../../src/platform';

export interface StoredText {
  readonly location: string;
  readonly text: Buffer;
}

/** Yields every row of every table as text; binary columns are hexadecimal. */
export async function* dump(database: Database): AsyncGenerator<StoredText> {
  const tables = await database.query<{ name: string }>(
    `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
      WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1`,
  );
  for (const { name } of tables) {
    const rows = await database.query<{ row: string }>(`SELECT t::text AS row FROM ${name} t`);
    yield {
      location: `table ${name}, ${rows.length} rows`,
      text: Buffer.from(rows.map(({ row }) => row).join('\n')),
    };
  }
}

/** Returns all texts and numbers of the rows, to be tried as credentials. */
export async function valuesOf(database: Database): Promise<Set<string>> {
  const values = new Set<string>();
  const tables = await database.query<{ name: string }>(
    `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE schemaname = 'public'`,
  );
  for (const { name } of tables) {
    const rows = await database.query<Record<string, unknown>>(`SELECT * FROM ${name} LIMIT 300`);
    for (const value of rows.flatMap((row) => Object.values(row))) {
      if (Buffer.isBuffer(value)) for (const as of ['hex', 'base64'] as const) values.add(value.toString(as));
      else if (typeof value === 'string') values.add(value);
    }
  }
  // Shorter values, and those that no header can contain, cannot be credentials.
  return new Set([...values].filter((value) => /^[\x21-\x7e]{8,4000}$/.test(value)));
}

export function* filesBelow(folder: string): Generator<{ readonly path: string; readonly mode: number }> {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* filesBelow(path);
    else if (entry.isFile()) yield { path, mode: statSync(path).mode & 0o777 };
  }
}

export function* piecesBelow(folder: string): Generator<StoredText> {
  for (const { path } of filesBelow(folder)) yield { location: path, text: readFileSync(path) };
}
