import { setTimeout as delay } from 'node:timers/promises';
import {
  type BackendFactory,
  PostgresConnection,
  type PostgresConnectionOptions,
  PostgresQueueBackend,
} from 'bullmq';
import { withDeadline } from '../../kernel';

const RETRY_MS = 250;
/** BullMQ's event for the loss of the connection on which a worker listens. */
const LISTENER_LOST = 'listenerinvalidated';
/** After a failure BullMQ would wait for an hour, as it would for a notice that was lost with a connection. */
const MAX_BLOCK_SECONDS = 10;
/** How long a job waits to be queued before the first connection is there. */
const MAX_WAIT_MS = 5_000;

/**
 * BullMQ keeps the outcome of its first database check: after a failure, no job could be queued and workers would retry
 * in a busy loop. Here the check is repeated.
 */
class ResilientConnection extends PostgresConnection {
  private readonly isReady = Promise.withResolvers<void>();
  private isChecking = false;
  private isRepeating = false;

  constructor(connection: PostgresConnectionOptions) {
    super(connection);
    this.on(LISTENER_LOST, () => this.repeatListenerLost());
  }

  /**
   * A server can end a connection in the very packet that confirms its subscription. The wait for a job would then miss
   * the event of that loss, so it is emitted once more.
   */
  private repeatListenerLost(): void {
    if (this.isRepeating) return;
    this.isRepeating = true;
    setImmediate(() => {
      this.emit(LISTENER_LOST);
      this.isRepeating = false;
    });
  }

  override waitUntilReady(): Promise<void> {
    if (!this.isChecking) {
      this.isChecking = true;
      void this.checkDatabase();
    }
    return withDeadline(
      MAX_WAIT_MS,
      this.isReady.promise,
      () => new Error('the queue has no connection yet'),
    );
  }

  /** The schema is migrated before the first queue is created, so any response is sufficient. */
  private async checkDatabase(): Promise<void> {
    while (!this.isClosing) {
      try {
        await this.pool.query('SELECT 1');
        this.isReady.resolve();
        this.emit('ready');
        return;
      } catch (error) {
        if (this.listenerCount('error') > 0) this.emit('error', error);
        await delay(RETRY_MS, undefined, { ref: false });
      }
    }
  }
}

class ResilientBackend extends PostgresQueueBackend {
  override get maximumBlockTimeout(): number {
    return MAX_BLOCK_SECONDS;
  }
}

/**
 * As BullMQ's own factory, but with backends that survive lost connections. A worker is found by the name of the
 * connection on which it listens.
 */
export const createPostgresBackend: BackendFactory<PostgresQueueBackend, PostgresConnectionOptions> = (
  name,
  options,
  { withBlockingConnection = false } = {},
) => {
  const connection = new ResilientConnection(options.connection);
  const listens = withBlockingConnection ? name : undefined;
  return new ResilientBackend(connection, name, options, true, listens);
};
