import { cursorText, type Direction, fault, readCursor } from '../../kernel';

/** Conversions of a column to and from the text in a cursor, and the pattern of that text. */
const kinds = {
  integer: {
    out: (sql: string) => `${sql}::text`,
    back: (text: string) => `${text}::bigint`,
    form: /^-?\d{1,18}$/,
  },
  text: { out: (sql: string) => sql, back: (text: string) => `${text}::text`, form: /^[^\0]{0,256}$/u },
  uuid: {
    out: (sql: string) => `${sql}::text`,
    back: (text: string) => `${text}::uuid`,
    form: /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
  },
  // Microseconds since 1970, as in the database: a Date would lose the last three digits.
  instant: {
    out: (sql: string) => `(extract(epoch FROM ${sql}) * 1000000)::bigint::text`,
    back: (text: string) => `(timestamptz 'epoch' + ${text}::bigint * interval '1 microsecond')`,
    form: /^\d{1,18}$/,
  },
} as const;

export interface KeysetColumn {
  readonly sql: string;
  readonly kind: keyof typeof kinds;
}

export interface PageRequest {
  /** `next` or `previous` of an earlier page; null for the first page. */
  readonly cursor?: string | null;
  readonly limit: number;
}

export interface Page<Row> {
  readonly rows: readonly Row[];
  /** Cursors of the adjacent pages; null if there is none. */
  readonly next: string | null;
  readonly previous: string | null;
}

interface KeysetClause {
  readonly where: string;
  readonly orderBy: string;
  /** Parameters of `where`, numbered from the first requested number. */
  readonly parameters: readonly string[];
  /** Fetches one row more than the page has, to detect further rows. */
  readonly limit: number;
}

/**
 * Paginates a list by its keys along an index. Pages continue from the values of a row, not by offset, so new rows do
 * not move them; the last column must be unique.
 */
export class Keyset {
  /** Columns that a query has to select in addition to its own. */
  readonly positions: string;

  constructor(
    private readonly columns: readonly KeysetColumn[],
    private readonly order: 'ascending' | 'descending',
  ) {
    this.positions = columns
      .map(({ sql, kind }, index) => `${kinds[kind].out(sql)} AS position${index}`)
      .join(', ');
  }

  clause({ cursor, limit }: PageRequest, firstParameter: number): KeysetClause {
    const { direction, values } = this.readCursor(cursor ?? null);
    const isDown = (this.order === 'descending') === (direction === 'next');
    const names = this.columns.map(({ sql }) => sql);
    const placeholders = values.map((_, index) =>
      kinds[this.columns[index]!.kind].back(`$${firstParameter + index}`),
    );
    return {
      where:
        values.length === 0
          ? 'true'
          : `(${names.join(', ')}) ${isDown ? '<' : '>'} (${placeholders.join(', ')})`,
      orderBy: names.map((name) => `${name} ${isDown ? 'DESC' : 'ASC'}`).join(', '),
      parameters: values,
      limit: limit + 1,
    };
  }

  page<Row extends object>(fetchedRows: readonly Row[], { cursor, limit }: PageRequest): Page<Row> {
    const { direction, values } = this.readCursor(cursor ?? null);
    const pageRows = fetchedRows.slice(0, limit);
    const rows = direction === 'next' ? pageRows : pageRows.reverse();
    const isCut = fetchedRows.length > limit;
    const isLater = values.length > 0;
    const [first, last] = [rows[0], rows.at(-1)];
    const hasNext = direction === 'next' ? isCut : true;
    const hasPrevious = direction === 'next' ? isLater : isCut;
    return {
      rows: rows.map((row) => this.withoutPositions(row)),
      next: last !== undefined && hasNext ? this.cursorOf('next', last) : null,
      previous: first !== undefined && hasPrevious ? this.cursorOf('previous', first) : null,
    };
  }

  /** Cursor at values that no row needs to have, in the form that cursors use. */
  cursorAt(direction: Direction, values: readonly unknown[]): string {
    return cursorText(direction, values);
  }

  private withoutPositions<Row extends object>(row: Row): Row {
    const copy = { ...row } as Record<string, unknown>;
    for (const index of this.columns.keys()) delete copy[`position${index}`];
    return copy as Row;
  }

  private cursorOf(direction: Direction, row: object): string {
    return this.cursorAt(
      direction,
      this.columns.map((_, index) => (row as Readonly<Record<string, unknown>>)[`position${index}`]),
    );
  }

  private readCursor(text: string | null): { direction: Direction; values: readonly string[] } {
    if (text === null) return { direction: 'next', values: [] };
    const { direction, values } = readCursor(text) ?? { direction: null, values: [] };
    const isValid =
      direction !== null &&
      values.length === this.columns.length &&
      this.columns.every(({ kind }, index) => {
        const value = values[index];
        return typeof value === 'string' && kinds[kind].form.test(value);
      });
    if (isValid) return { direction, values: values as string[] };
    throw fault('invalid_request', {
      param: 'cursor',
      message: 'cursor must be the next_cursor or previous_cursor of an earlier page.',
    });
  }
}

/** Yields up to `limit` rows of a list, in as many pages as needed. */
export async function* everyRow<Row>(
  limit: number,
  pageSize: number,
  read: (page: PageRequest) => Promise<Page<Row>>,
  start: string | null = null,
): AsyncGenerator<Row> {
  let cursor = start;
  for (let remaining = limit; remaining > 0;) {
    const page = await read({ cursor, limit: Math.min(remaining, pageSize) });
    yield* page.rows;
    remaining -= page.rows.length;
    cursor = page.next;
    if (cursor === null) return;
  }
}
