/**
 * Characters that spreadsheets take for a formula at the start of a cell, also full-width or after invisible
 * characters.
 */
const formulaStart = /^(?:[\t\r]|[\s\p{C}]*[=+\-@\uff1d\uff0b\uff0d\uff20])/u;
const plainNumber = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/;

/** An RFC 4180 row. Formulas are neutralised with a leading apostrophe; real numbers stay numbers. */
export const csvLine = (cells: readonly unknown[]): string => `${cells.map(csvCell).join(',')}\r\n`;

export interface CsvContent {
  readonly columns: readonly string[];
  readonly rows: AsyncIterable<readonly unknown[]> | Iterable<readonly unknown[]>;
  /** Maximum number of rows, reported in a header. */
  readonly cappedAt?: number;
}

export type CsvColumns<Row> = Readonly<Record<string, (row: Row) => unknown>>;

export function csvTable<Row>(
  rows: AsyncIterable<Row>,
  columns: CsvColumns<Row>,
  cappedAt?: number,
): CsvContent {
  const values = Object.values(columns);
  return {
    columns: Object.keys(columns),
    rows: csvRows(rows, (row) => values.map((value) => value(row))),
    ...(cappedAt !== undefined && { cappedAt }),
  };
}

export async function* csvRows<Row>(
  rows: AsyncIterable<Row>,
  cellsOf: (row: Row) => readonly unknown[],
): AsyncGenerator<readonly unknown[]> {
  for await (const row of rows) yield cellsOf(row);
}

function csvCell(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  const text = textOf(value);
  const safe = formulaStart.test(text) && !plainNumber.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (value instanceof Date) return value.toISOString();
  if (typeof value === 'object') return JSON.stringify(value);
  const plain = value as string | number | bigint | boolean;
  return String(plain).replaceAll('\0', '');
}
