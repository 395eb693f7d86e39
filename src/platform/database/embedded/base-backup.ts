import { getPriority, setPriority } from 'node:os';
import { Client, type Connection, type Submittable } from 'pg';

export interface BaseBackup {
  readonly startLsn: string;
  readonly endLsn: string;
  readonly timeline: number;
  /** List of all files with their SHA-256, as the server wrote it. */
  readonly manifest: Buffer;
}

export interface BaseBackupOptions {
  readonly label: string;
  readonly kilobytesPerSecond: number;
  /** Receives the archive, a tar file, in pieces; the next piece follows when this has settled. */
  readonly write: (bytes: Buffer) => Promise<void>;
  /** Called once, with the approximate number of bytes to come. */
  readonly expects?: (bytes: number) => void;
  readonly signal?: AbortSignal;
}

/** Passed by the library without types: the rows of a result as text. */
interface RowMessage {
  readonly fields: readonly (string | null)[];
}

interface CopyDataMessage {
  readonly chunk: Buffer;
}

/** Maximum buffered between the connection and the writer before reading pauses. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024;

/**
 * Reads the complete cluster by the replication protocol, with the write-ahead log that makes it consistent. A
 * temporary slot keeps that log and ends with the connection.
 */
export async function takeBaseBackup(ownerUrl: string, options: BaseBackupOptions): Promise<BaseBackup> {
  const url = new URL(ownerUrl);
  // With a database name, this connection accepts queries in addition to replication commands.
  url.searchParams.set('replication', 'database');
  const client = new Client({ connectionString: url.href });
  client.on('error', () => undefined);
  await client.connect();
  // The library ends politely, which a server in the middle of a copy does not notice.
  const destroyConnection = (): void =>
    void (client as unknown as { connection: Connection }).connection.stream.destroy();
  options.signal?.addEventListener('abort', destroyConnection, { once: true });
  try {
    options.signal?.throwIfAborted();
    await inheritPriority(client);
    await client.query(`CREATE_REPLICATION_SLOT "backup_${process.pid}" TEMPORARY PHYSICAL RESERVE_WAL`);
    const copy = new BaseBackupCopy(commandOf(options), options);
    client.query(copy);
    return await copy.result;
  } finally {
    options.signal?.removeEventListener('abort', destroyConnection);
    await client.end().catch(() => undefined);
  }
}

/** The server's process for this backup reads and digests everything, so it gets the priority of this process. */
async function inheritPriority(client: Client): Promise<void> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  try {
    setPriority(rows[0]!.pid, getPriority());
  } catch {
    // The server runs under another account, or the system does not allow it: the priority stays as it is.
  }
}

/** https://www.postgresql.org/docs/18/protocol-replication.html, BASE_BACKUP. */
const commandOf = ({ label, kilobytesPerSecond }: BaseBackupOptions): string =>
  `BASE_BACKUP (LABEL '${label}', PROGRESS true, CHECKPOINT 'fast', WAL true, WAIT false, TARGET 'client', ` +
  `MAX_RATE ${kilobytesPerSecond}, MANIFEST 'yes', MANIFEST_CHECKSUMS 'SHA256')`;

/**
 * The response has three parts: the start, the list of archives, and a copy with the archive and then the manifest. The
 * end follows as a row.
 */
class BaseBackupCopy implements Submittable {
  readonly result: Promise<BaseBackup>;
  private readonly settle: PromiseWithResolvers<BaseBackup>;
  private readonly rows: (readonly (string | null)[])[] = [];
  private readonly manifest: Buffer[] = [];
  private readonly waiting: Buffer[] = [];
  private waitingBytes = 0;
  private writing: Promise<void> | undefined;
  private connection: Connection | undefined;
  private part: 'archive' | 'manifest' | undefined;
  private archives = 0;
  private results = 0;
  private failure: Error | undefined;

  constructor(
    private readonly command: string,
    private readonly options: BaseBackupOptions,
  ) {
    this.settle = Promise.withResolvers<BaseBackup>();
    this.result = this.settle.promise;
  }

  submit(connection: Connection): void {
    this.connection = connection;
    connection.query(this.command);
  }

  handleRowDescription(): void {
    this.results += 1;
  }

  handleDataRow({ fields }: RowMessage): void {
    this.rows.push(fields);
    // The second result lists the archives; the row without a number is the cluster itself.
    if (this.results === 2 && fields[0] === null) this.options.expects?.(Number(fields[2] ?? 0) * 1024);
  }

  handleCopyData({ chunk }: CopyDataMessage): void {
    const body = chunk.subarray(1);
    switch (String.fromCharCode(chunk[0] ?? 0)) {
      case 'n':
        this.part = 'archive';
        this.archives += 1;
        if (this.archives > 1) this.fail(new Error('the database has tablespaces, which are not backed up'));
        return;
      case 'm':
        this.part = 'manifest';
        return;
      case 'd':
        if (this.part === 'manifest') this.manifest.push(Buffer.from(body));
        else this.enqueue(body);
        return;
      default:
        // Progress, which the writer counts itself.
        return;
    }
  }

  handleCommandComplete(): void {
    // The result settles when the server is ready again.
  }

  handleError(error: Error): void {
    this.fail(error);
  }

  handleReadyForQuery(): void {
    const written = this.writing ?? Promise.resolve();
    void written.then(() => this.finish());
  }

  handlePortalSuspended(): void {
    // Belongs to another protocol.
  }

  handleEmptyQuery(): void {
    // The command is never empty.
  }

  handleCopyInResponse(): void {
    this.fail(new Error('the server asks for data instead of sending it'));
  }

  private enqueue(bytes: Buffer): void {
    // The connection reuses the buffer of these bytes.
    this.waiting.push(Buffer.from(bytes));
    this.waitingBytes += bytes.length;
    if (this.waitingBytes > MAX_WAITING_BYTES) this.connection?.stream.pause();
    this.writing ??= this.write().finally(() => (this.writing = undefined));
  }

  private async write(): Promise<void> {
    for (let next = this.waiting.shift(); next !== undefined; next = this.waiting.shift()) {
      this.waitingBytes -= next.length;
      if (this.failure === undefined) {
        try {
          await this.options.write(next);
        } catch (error) {
          this.fail(error as Error);
          this.connection?.stream.destroy();
        }
      }
      if (this.waitingBytes <= MAX_WAITING_BYTES / 2) this.connection?.stream.resume();
    }
  }

  private finish(): void {
    if (this.failure !== undefined) return;
    const first = this.rows[0];
    const last = this.rows.at(-1);
    const [startLsn, timeline] = [first?.[0], Number(first?.[1])];
    const endLsn = last?.[0];
    if (!startLsn || !endLsn || !Number.isInteger(timeline) || this.manifest.length === 0)
      return this.fail(new Error('the server ended the base backup before it was whole'));
    this.settle.resolve({ startLsn, endLsn, timeline, manifest: Buffer.concat(this.manifest) });
  }

  private fail(error: Error): void {
    this.failure ??= error;
    this.settle.reject(error);
  }
}
