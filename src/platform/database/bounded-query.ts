import { type ClientBase, Query, type QueryResult, types } from 'pg';

const MAX_ROWS = 10_000;
const MAX_BYTES = 32 * 1024 * 1024;
/** Rows fetched at a time; the server then waits. */
const ROWS_PER_FETCH = 1_000;

interface DataRow {
  readonly length: number;
}

interface QueryConnection {
  sync(): void;
}

/** Methods of the driver's query that handle server messages; its types omit them. */
interface QueryInternals {
  prepare(connection: QueryConnection): void;
  handleDataRow(message: DataRow): void;
  handlePortalSuspended(connection: QueryConnection): void;
  handleError(error: Error, connection: QueryConnection): void;
  handleReadyForQuery(connection: QueryConnection): void;
}

const DriverQuery = Query as unknown as new (
  config: object,
  values: readonly unknown[],
  callback: (error: Error | null, result: QueryResult<object>) => void,
) => Query & QueryInternals;

/**
 * Counts rows as they arrive, and ends the statement once there are too many. With a row limit the driver sends no Sync
 * after an error, and the server would wait for it.
 */
class BoundedQuery extends DriverQuery {
  private bytes = 0;
  private count = 0;
  /** True if the server has the statement and no message has ended it. */
  private isRunning = false;

  get exceedsLimit(): boolean {
    return this.count > MAX_ROWS || this.bytes > MAX_BYTES;
  }

  override prepare(connection: QueryConnection): void {
    super.prepare(connection);
    this.isRunning = true;
  }

  override handleDataRow(message: DataRow): void {
    this.count += 1;
    this.bytes += message.length;
    if (!this.exceedsLimit) super.handleDataRow(message);
  }

  override handlePortalSuspended(connection: QueryConnection): void {
    if (!this.exceedsLimit) return super.handlePortalSuspended(connection);
    this.isRunning = false;
    connection.sync();
  }

  override handleError(error: Error, connection: QueryConnection): void {
    if (this.isRunning) connection.sync();
    this.isRunning = false;
    super.handleError(error, connection);
  }

  override handleReadyForQuery(connection: QueryConnection): void {
    this.isRunning = false;
    super.handleReadyForQuery(connection);
  }
}

/** Reads a 64-bit integer as a number; throws if a number cannot hold it exactly. */
function parseInt8(text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value)) return value;
  throw new RangeError(`${text} is more than a number holds exactly: select it as text, with ::text`);
}

const readers = {
  getTypeParser(id: number, format: 'text' | 'binary' = 'text'): unknown {
    const isInt8 = id === Number(types.builtins.INT8) && format === 'text';
    return isInt8 ? parseInt8 : types.getTypeParser(id, 'text');
  },
};

/** Runs one statement as parsed by the server, which rejects a text with several. */
export function boundedQuery<Row extends object>(
  client: ClientBase,
  text: string,
  values: readonly unknown[],
): Promise<Row[]> {
  return new Promise((resolve, reject) => {
    const query: BoundedQuery = new BoundedQuery(
      { text, types: readers, queryMode: 'extended', rows: ROWS_PER_FETCH },
      values,
      (error, result) => {
        if (error !== null) return reject(error);
        if (!query.exceedsLimit) return resolve(result.rows as Row[]);
        reject(
          new RangeError(
            `The statement answers more than ${MAX_ROWS.toLocaleString('en')} rows or ${MAX_BYTES / 1024 / 1024} MiB: ask for fewer with LIMIT`,
          ),
        );
      },
    );
    client.query(query);
  });
}
