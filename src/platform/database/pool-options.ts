import { Client, type PoolConfig } from 'pg';

type ConnectCallback = (error: Error | null, client: Client) => void;

/**
 * A server can end a connection in the very packet that opens it, and a pool would hand out a dead client. The
 * connection therefore counts as open only once that packet was read completely.
 */
class OpenedClient extends Client {
  override connect(): Promise<Client>;
  override connect(callback: ConnectCallback): void;
  override connect(callback?: ConnectCallback): Promise<Client> | void {
    if (callback === undefined)
      return new Promise((resolve, reject) =>
        this.connect((error) => (error === null ? resolve(this) : reject(error))),
      );
    let lost: Error | null = null;
    // Stays registered: an error event without a listener ends the process.
    this.on('error', (error) => (lost ??= error));
    super.connect((error: Error | null) => {
      if (error) return callback(error, this);
      setImmediate(() => {
        if (lost !== null) this.end().catch(() => undefined);
        callback(lost, this);
      });
    });
  }
}

export const resilientPoolOptions = { Client: OpenedClient } satisfies PoolConfig;
