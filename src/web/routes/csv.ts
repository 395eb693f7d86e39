/** A spreadsheet takes these for a formula at the start of a cell, also in full width or behind invisible signs. */
const formulaStart = /^(?:[\t\r]|[\s\p{C}]*[=+\-@\uff1d\uff0b\uff0d\uff20])/u;
const plainNumber = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/;

/** One row as RFC 4180 has it. Texts that a spreadsheet would run are disarmed; real numbers stay numbers. */
export const csvLine = (cells: readonly unknown[]): string => `${cells.map(csvCell).join(',')}\r\n`;

export interface CsvTable {
  readonly columns: readonly string[];
  readonly rows: AsyncIterable<readonly unknown[]> | Iterable<readonly unknown[]>;
  /** The most rows it may have; a header names it. */
  readonly cappedAt?: number;
}

/** The columns of a file in their order, each with what it has of a row. */
export type FileColumns<Row> = Readonly<Record<string, (row: Row) => unknown>>;

export function csvTable<Row>(
  rows: AsyncIterable<Row>,
  columns: FileColumns<Row>,
  cappedAt?: number,
): CsvTable {
  const values = Object.values(columns);
  return {
    columns: Object.keys(columns),
    rows: csvRows(rows, (row) => values.map((value) => value(row))),
    ...(cappedAt !== undefined && { cappedAt }),
  };
}

/** The rows of a file, one at a time. */
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
