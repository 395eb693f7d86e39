import { setTimeout as delay } from 'node:timers/promises';
import {
  type BackendFactory,
  PostgresConnection,
  type PostgresConnectionOptions,
  PostgresQueueBackend,
} from 'bullmq';
import { withDeadline } from '../../kernel';

const RETRY_MS = 250;
/** BullMQ has this event for the loss of the connection on which a worker listens. */
const LISTENER_LOST = 'listenerinvalidated';
/** After a failure BullMQ would wait for an hour, and a notice that was lost with a connection costs all of that. */
const LONGEST_BLOCK_SECONDS = 10;
/** A job waits so long to be queued before the first connection is there. */
const LONGEST_WAIT_MS = 5_000;

/**
 * BullMQ keeps the outcome of its first look at the database. One that failed would be handed out for ever.
 * No job could be queued any more, and workers would ask again at once and starve everything else. Here the
 * look is repeated.
 */
class LastingConnection extends PostgresConnection {
  private readonly isReady = Promise.withResolvers<void>();
  private isLooking = false;
  private isTellingAgain = false;

  constructor(connection: PostgresConnectionOptions) {
    super(connection);
    this.on(LISTENER_LOST, () => this.tellAgain());
  }

  /**
   * A server can end a connection in the very packet that confirms its subscription. The wait for a job begins after that
   * loss was told, and would never hear of it: so it is told once more.
   */
  private tellAgain(): void {
    if (this.isTellingAgain) return;
    this.isTellingAgain = true;
    setImmediate(() => {
      this.emit(LISTENER_LOST);
      this.isTellingAgain = false;
    });
  }

  override waitUntilReady(): Promise<void> {
    if (!this.isLooking) {
      this.isLooking = true;
      void this.look();
    }
    return withDeadline(
      LONGEST_WAIT_MS,
      this.isReady.promise,
      () => new Error('the queue has no connection yet'),
    );
  }

  /** The schema is migrated before the first queue is made: an answer is all that is wanted. */
  private async look(): Promise<void> {
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

class LastingBackend extends PostgresQueueBackend {
  override get maximumBlockTimeout(): number {
    return LONGEST_BLOCK_SECONDS;
  }
}

/** As BullMQ's own factory, but for what outlives its connections: a worker is found by the name of the one on which it listens. */
export const createPostgresBackend: BackendFactory<PostgresQueueBackend, PostgresConnectionOptions> = (
  name,
  options,
  { withBlockingConnection = false } = {},
) => {
  const connection = new LastingConnection(options.connection);
  const listens = withBlockingConnection ? name : undefined;
  return new LastingBackend(connection, name, options, true, listens);
};
