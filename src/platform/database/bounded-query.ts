import { type ClientBase, Query, type QueryResult, types } from 'pg';

/** The most that one statement may answer. */
const MOST_ROWS = 10_000;
const MOST_BYTES = 32 * 1024 * 1024;
/** So many rows are asked for at a time; after those the server waits. */
const ROWS_AT_ONCE = 1_000;

interface DataRow {
  /** The bytes of the message. */
  readonly length: number;
}

interface Connected {
  sync(): void;
}

/** What the driver's query does with messages of the server; its types leave these out. */
interface QueryInside {
  prepare(connection: Connected): void;
  handleDataRow(message: DataRow): void;
  handlePortalSuspended(connection: Connected): void;
  handleError(error: Error, connection: Connected): void;
  handleReadyForQuery(connection: Connected): void;
}

const Driver = Query as unknown as new (
  config: object,
  values: readonly unknown[],
  callback: (error: Error | null, result: QueryResult<object>) => void,
) => Query & QueryInside;

/**
 * A statement whose rows are counted as they come; too many end it, and nothing of them is kept. Where the driver asks
 * for some rows at a time it does not say after an error that it goes on, and the server would wait for that.
 */
class BoundedQuery extends Driver {
  private bytes = 0;
  private count = 0;
  /** Whether the server has the statement, and nothing was said that ends it. */
  private isUnderWay = false;

  get isTooMuch(): boolean {
    return this.count > MOST_ROWS || this.bytes > MOST_BYTES;
  }

  override prepare(connection: Connected): void {
    super.prepare(connection);
    this.isUnderWay = true;
  }

  override handleDataRow(message: DataRow): void {
    this.count += 1;
    this.bytes += message.length;
    if (!this.isTooMuch) super.handleDataRow(message);
  }

  override handlePortalSuspended(connection: Connected): void {
    if (!this.isTooMuch) return super.handlePortalSuspended(connection);
    this.isUnderWay = false;
    connection.sync();
  }

  override handleError(error: Error, connection: Connected): void {
    if (this.isUnderWay) connection.sync();
    this.isUnderWay = false;
    super.handleError(error, connection);
  }

  override handleReadyForQuery(connection: Connected): void {
    this.isUnderWay = false;
    super.handleReadyForQuery(connection);
  }
}

/** 64-bit integers are numbers, as counts and ids are; one that a number does not hold is refused. */
function wholeNumber(text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value)) return value;
  throw new RangeError(`${text} is more than a number holds exactly: select it as text, with ::text`);
}

/** The driver's own, but for this type. */
const readers = {
  getTypeParser(id: number, format: 'text' | 'binary' = 'text'): unknown {
    const isWhole = id === Number(types.builtins.INT8) && format === 'text';
    return isWhole ? wholeNumber : types.getTypeParser(id, 'text');
  },
};

/** One statement, as the server parses it: a text with two is refused. */
export function boundedQuery<Row extends object>(
  client: ClientBase,
  text: string,
  values: readonly unknown[],
): Promise<Row[]> {
  return new Promise((resolve, reject) => {
    const query: BoundedQuery = new BoundedQuery(
      { text, types: readers, queryMode: 'extended', rows: ROWS_AT_ONCE },
      values,
      (error, result) => {
        if (error !== null) return reject(error);
        if (!query.isTooMuch) return resolve(result.rows as Row[]);
        reject(
          new RangeError(
            `The statement answers more than ${MOST_ROWS.toLocaleString('en')} rows or ${MOST_BYTES / 1024 / 1024} MiB: ask for fewer with LIMIT`,
          ),
        );
      },
    );
    client.query(query);
  });
}
