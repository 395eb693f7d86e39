import type { Tables } from '../../../migrations/tables';
import { type Camel, camelCased } from '../../kernel';

/** Maps `'u.id, u.name'` to `'id' | 'name'`. */
type ListedColumns<Columns extends string> = Columns extends `${infer First}, ${infer Rest}`
  ? ListedColumns<First> | ListedColumns<Rest>
  : Columns extends `${string}.${infer Name}`
    ? Name
    : Columns;

/** A row with these columns of a table, listed as in SQL and named as in code; see `readRows`. */
export type TableRow<Table extends keyof Tables, Columns extends string = keyof Tables[Table] & string> =
  ListedColumns<Columns> extends keyof Tables[Table]
    ? { readonly [Name in ListedColumns<Columns> as Camel<Name>]: Tables[Table][Name] }
    : `${Table} has no column ${Exclude<ListedColumns<Columns>, keyof Tables[Table]>}`;

/** A row with columns named as in SQL, for bulk reads and for columns whose names are part of a format. */
export type StoredRow<Table extends keyof Tables, Columns extends string = keyof Tables[Table] & string> =
  ListedColumns<Columns> extends keyof Tables[Table]
    ? Readonly<Pick<Tables[Table], ListedColumns<Columns>>>
    : `${Table} has no column ${Exclude<ListedColumns<Columns>, keyof Tables[Table]>}`;

interface Queryable {
  query(sql: string, parameters?: unknown[]): Promise<unknown>;
}

type QueryRow = Readonly<Record<string, unknown>>;

/** Reads the rows of a statement, with columns named as in code: `created_at` becomes `createdAt`. */
export async function readRows<Row>(
  from: Queryable,
  sql: string,
  parameters: unknown[] = [],
): Promise<Row[]> {
  const result = (await from.query(sql, parameters)) as QueryRow[] | [QueryRow[], number];
  // For UPDATE and DELETE, TypeORM also returns the number of rows.
  const rows = (Array.isArray(result[0]) ? result[0] : result) as QueryRow[];
  const names = Object.keys(rows[0] ?? {}).map((column) => [column, camelCased(column)] as const);
  return rows.map((row) => Object.fromEntries(names.map(([column, name]) => [name, row[column]])) as Row);
}
