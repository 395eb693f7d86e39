import { Client, type PoolConfig } from 'pg';

type Connected = (error: Error | null, client: Client) => void;

/**
 * A server can end a connection in the very packet that opens it. Such a connection has failed: a pool that hands it out
 * gives its taker a dead one, whose error nobody heard. So it counts as open only once that packet is read to its end.
 */
class OpenedClient extends Client {
  override connect(): Promise<Client>;
  override connect(callback: Connected): void;
  override connect(callback?: Connected): Promise<Client> | void {
    if (callback === undefined)
      return new Promise((resolve, reject) =>
        this.connect((error) => (error === null ? resolve(this) : reject(error))),
      );
    let lost: Error | null = null;
    // It stays: an error event without a listener ends the process.
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

export const survivesLostConnections = { Client: OpenedClient } satisfies PoolConfig;
