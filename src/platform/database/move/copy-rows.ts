import type { Client, Connection, Submittable } from 'pg';

/** Rows are handed on in blocks of about this size. */
const BLOCK_BYTES = 256 * 1024;

interface CopyRowMessage {
  readonly chunk: Buffer;
}

/** Methods that the types of `pg` omit, although its documentation of streams uses them. */
interface CopyConnection extends Connection {
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
}

/** A COPY in `pg`: messages of the connection go to the active query. */
abstract class CopyQuery implements Submittable {
  private readonly outcome = Promise.withResolvers<void>();
  private connection: CopyConnection | undefined;

  constructor(private readonly statement: string) {
    // Callers might wait for the outcome only later.
    this.outcome.promise.catch(() => undefined);
  }

  get done(): Promise<void> {
    return this.outcome.promise;
  }

  submit(connection: Connection): void {
    this.connection = connection as CopyConnection;
    connection.query(this.statement);
  }

  handleError(error: Error): void {
    this.outcome.reject(error);
  }

  handleReadyForQuery(): void {
    this.outcome.resolve();
  }

  handleCommandComplete(): void {
    // The end of the query is sufficient.
  }

  protected get wire(): CopyConnection {
    if (this.connection === undefined) throw new Error('the copy has not begun');
    return this.connection;
  }
}

class CopyOut extends CopyQuery {
  constructor(
    statement: string,
    private readonly onRow: (row: Buffer) => void,
  ) {
    super(statement);
  }

  handleCopyData({ chunk }: CopyRowMessage): void {
    this.onRow(chunk);
  }

  pauseUntil(drained: Promise<unknown>): void {
    const { stream } = this.wire;
    stream.pause();
    void drained.then(() => stream.resume());
  }
}

class CopyIn extends CopyQuery {
  private readonly startSignal = Promise.withResolvers<void>();

  get started(): Promise<void> {
    return Promise.race([this.startSignal.promise, this.done]);
  }

  handleCopyInResponse(): void {
    this.startSignal.resolve();
  }

  /** Null if the connection accepts more; otherwise settles once it does. */
  write(block: Buffer): Promise<void> | null {
    const { stream } = this.wire;
    this.wire.sendCopyFromChunk(block);
    if (!stream.writableNeedDrain) return null;
    return new Promise((resolve) => stream.once('drain', resolve));
  }

  end(): void {
    this.wire.endCopyFrom();
  }
}

/** Copies rows from one server to another, with at most one block in memory. */
export async function copyRows(
  source: Client,
  target: Client,
  statements: { readonly out: string; readonly in: string },
  onRows: (rows: number) => void,
): Promise<void> {
  const copyIn = target.query(new CopyIn(statements.in));
  await copyIn.started;
  let rows: Buffer[] = [];
  let bytes = 0;
  const flush = (): Promise<void> | null => {
    const block = Buffer.concat(rows, bytes);
    onRows(rows.length);
    [rows, bytes] = [[], 0];
    return block.length === 0 ? null : copyIn.write(block);
  };
  const copyOut = new CopyOut(statements.out, (row) => {
    // The parser reuses its memory.
    rows.push(Buffer.from(row));
    bytes += row.length;
    if (bytes < BLOCK_BYTES) return;
    const drained = flush();
    if (drained !== null) copyOut.pauseUntil(drained);
  });
  source.query(copyOut);
  await Promise.race([copyOut.done, copyIn.done]);
  await copyOut.done;
  void flush();
  copyIn.end();
  await copyIn.done;
}
