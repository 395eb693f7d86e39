import type { Tables } from '../../../migrations/tables';
import { type Camel, camelCased } from '../../kernel';

/** `'u.id, u.name'` are `'id' | 'name'`. */
type Listed<Columns extends string> = Columns extends `${infer First}, ${infer Rest}`
  ? Listed<First> | Listed<Rest>
  : Columns extends `${string}.${infer Name}`
    ? Name
    : Columns;

/** A row of a table with these of its columns, listed as SQL does, and named as code does: see `readRows`. */
export type Row<Table extends keyof Tables, Columns extends string = keyof Tables[Table] & string> =
  Listed<Columns> extends keyof Tables[Table]
    ? { readonly [Name in Listed<Columns> as Camel<Name>]: Tables[Table][Name] }
    : `${Table} has no column ${Exclude<Listed<Columns>, keyof Tables[Table]>}`;

/** The same, named as SQL does: rows that are read in masses, and columns whose names are a format. */
export type Stored<Table extends keyof Tables, Columns extends string = keyof Tables[Table] & string> =
  Listed<Columns> extends keyof Tables[Table]
    ? Readonly<Pick<Tables[Table], Listed<Columns>>>
    : `${Table} has no column ${Exclude<Listed<Columns>, keyof Tables[Table]>}`;

interface Queryable {
  query(sql: string, parameters?: unknown[]): Promise<unknown>;
}

type Found = Readonly<Record<string, unknown>>;

/** The rows that a statement finds or returns, with columns named as code names them: `created_at` is `createdAt`. */
export async function readRows<Row>(
  from: Queryable,
  sql: string,
  parameters: unknown[] = [],
): Promise<Row[]> {
  const answer = (await from.query(sql, parameters)) as Found[] | [Found[], number];
  // Of an UPDATE and a DELETE, TypeORM tells the number of rows, too.
  const rows = (Array.isArray(answer[0]) ? answer[0] : answer) as Found[];
  const names = Object.keys(rows[0] ?? {}).map((column) => [column, camelCased(column)] as const);
  return rows.map((row) => Object.fromEntries(names.map(([column, name]) => [name, row[column]])) as Row);
}
