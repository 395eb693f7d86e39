import { cursorText, type Direction, fault, readCursor } from '../../kernel';

/** A column travels in a cursor as SQL reads it out and back, in the form that the pattern allows. */
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
  // In microseconds since 1970, as the database counts: a Date would lose the last three digits.
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
  /** A `next` or `previous` of an earlier page; null begins at the first. */
  readonly cursor?: string | null;
  readonly limit: number;
}

export interface Page<Row> {
  readonly rows: readonly Row[];
  /** These are cursors of the pages beside this one; null where there is none. */
  readonly next: string | null;
  readonly previous: string | null;
}

interface KeysetClause {
  readonly where: string;
  readonly orderBy: string;
  /** Belong to `where`, numbered from the first that was asked for. */
  readonly parameters: readonly string[];
  /** One row more than is shown: it tells whether there are more. */
  readonly limit: number;
}

/**
 * A list is paginated by its keys along an index. Pages continue from the values of a row, never by offset,
 * so that new rows do not move them. The last column must be unique.
 */
export class Keyset {
  /** A query has to select these columns beside its own. */
  readonly positions: string;

  constructor(
    private readonly columns: readonly KeysetColumn[],
    private readonly order: 'ascending' | 'descending',
  ) {
    this.positions = columns
      .map(({ sql, kind }, place) => `${kinds[kind].out(sql)} AS position${place}`)
      .join(', ');
  }

  clause({ cursor, limit }: PageRequest, firstParameter: number): KeysetClause {
    const { direction, values } = this.readCursor(cursor ?? null);
    const isDown = (this.order === 'descending') === (direction === 'next');
    const names = this.columns.map(({ sql }) => sql);
    const given = values.map((_, place) =>
      kinds[this.columns[place]!.kind].back(`$${firstParameter + place}`),
    );
    return {
      where:
        values.length === 0 ? 'true' : `(${names.join(', ')}) ${isDown ? '<' : '>'} (${given.join(', ')})`,
      orderBy: names.map((name) => `${name} ${isDown ? 'DESC' : 'ASC'}`).join(', '),
      parameters: values,
      limit: limit + 1,
    };
  }

  /** It makes a page of the rows that a query with the clause has found. */
  page<Row extends object>(found: readonly Row[], { cursor, limit }: PageRequest): Page<Row> {
    const { direction, values } = this.readCursor(cursor ?? null);
    const shown = found.slice(0, limit);
    const rows = direction === 'next' ? shown : shown.reverse();
    const isCut = found.length > limit;
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

  /** A cursor beside values that no row needs to have, as they are written in cursors. */
  cursorAt(direction: Direction, values: readonly unknown[]): string {
    return cursorText(direction, values);
  }

  private withoutPositions<Row extends object>(row: Row): Row {
    const shown = { ...row } as Record<string, unknown>;
    for (const place of this.columns.keys()) delete shown[`position${place}`];
    return shown as Row;
  }

  private cursorOf(direction: Direction, row: object): string {
    return this.cursorAt(
      direction,
      this.columns.map((_, place) => (row as Readonly<Record<string, unknown>>)[`position${place}`]),
    );
  }

  private readCursor(text: string | null): { direction: Direction; values: readonly string[] } {
    if (text === null) return { direction: 'next', values: [] };
    const { direction, values } = readCursor(text) ?? { direction: null, values: [] };
    const isFit =
      direction !== null &&
      values.length === this.columns.length &&
      this.columns.every(({ kind }, place) => {
        const value = values[place];
        return typeof value === 'string' && kinds[kind].form.test(value);
      });
    if (isFit) return { direction, values: values as string[] };
    throw fault('invalid_request', {
      param: 'cursor',
      message: 'cursor must be the next_cursor or previous_cursor of an earlier page.',
    });
  }
}

/** Every row of a list, at most `limit`, in as many pages as it takes. */
export async function* everyRow<Row>(
  limit: number,
  rowsAtOnce: number,
  read: (page: PageRequest) => Promise<Page<Row>>,
  begin: string | null = null,
): AsyncGenerator<Row> {
  let cursor = begin;
  for (let left = limit; left > 0;) {
    const page = await read({ cursor, limit: Math.min(left, rowsAtOnce) });
    yield* page.rows;
    left -= page.rows.length;
    cursor = page.next;
    if (cursor === null) return;
  }
}
