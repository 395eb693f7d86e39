import type { Client, Connection, Submittable } from 'pg';

/** Rows are handed on in blocks of about this size. */
const BLOCK_BYTES = 256 * 1024;

interface CopyMessage {
  readonly chunk: Buffer;
}

/** The types of `pg` leave these out, which its own documentation of streams goes by. */
interface CopyConnection extends Connection {
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
}

/** A COPY as `pg` carries it: messages of the connection come to the query that is active. */
abstract class Copy implements Submittable {
  private readonly outcome = Promise.withResolvers<void>();
  private connection: CopyConnection | undefined;

  constructor(private readonly statement: string) {
    // Somebody may only come to wait for it later.
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
    // The end of the query says all.
  }

  protected get wire(): CopyConnection {
    if (this.connection === undefined) throw new Error('the copy has not begun');
    return this.connection;
  }
}

class CopyOut extends Copy {
  constructor(
    statement: string,
    private readonly take: (row: Buffer) => void,
  ) {
    super(statement);
  }

  handleCopyData({ chunk }: CopyMessage): void {
    this.take(chunk);
  }

  pauseUntil(drained: Promise<unknown>): void {
    const { stream } = this.wire;
    stream.pause();
    void drained.then(() => stream.resume());
  }
}

class CopyIn extends Copy {
  private readonly begin = Promise.withResolvers<void>();

  get begun(): Promise<void> {
    return Promise.race([this.begin.promise, this.done]);
  }

  handleCopyInResponse(): void {
    this.begin.resolve();
  }

  /** Settles at once where the connection takes more, else once it does. */
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

/** Copies rows from one server to another; no more than a block of them is here at a time. */
export async function copyRows(
  source: Client,
  target: Client,
  statements: { readonly out: string; readonly in: string },
  counted: (rows: number) => void,
): Promise<void> {
  const taking = target.query(new CopyIn(statements.in));
  await taking.begun;
  let rows: Buffer[] = [];
  let bytes = 0;
  const flush = (): Promise<void> | null => {
    const block = Buffer.concat(rows, bytes);
    counted(rows.length);
    [rows, bytes] = [[], 0];
    return block.length === 0 ? null : taking.write(block);
  };
  const giving = new CopyOut(statements.out, (row) => {
    // The parser uses its memory again.
    rows.push(Buffer.from(row));
    bytes += row.length;
    if (bytes < BLOCK_BYTES) return;
    const drained = flush();
    if (drained !== null) giving.pauseUntil(drained);
  });
  source.query(giving);
  await Promise.race([giving.done, taking.done]);
  await giving.done;
  void flush();
  taking.end();
  await taking.done;
}
