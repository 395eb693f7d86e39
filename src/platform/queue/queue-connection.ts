import {
  type ConnectionOptions,
  createPostgresBackend,
  createRedisBackend,
  setDefaultBackendFactory,
} from 'bullmq';
import { Pool } from 'pg';
import { withSessionSettings } from '../database/connection-url';
import type { Logger } from '../logging';

/** BullMQ's own name for the schema its tables live in. */
const queueSchema = 'bullmq';

/** Where jobs are kept: in PostgreSQL, or in Redis when there is one. */
export class QueueConnection {
  private constructor(
    readonly connection: ConnectionOptions,
    readonly close: () => Promise<void>,
  ) {}

  static toRedis(url: string): QueueConnection {
    setDefaultBackendFactory(createRedisBackend);
    // Every queue and worker opens connections of its own with these options, and closes them.
    const retryStrategy = (attempt: number): number => Math.min(100 * 2 ** attempt, 5_000);
    return new QueueConnection({ url, connectTimeout: 3_000, retryStrategy }, () => Promise.resolve());
  }

  /** One pool for all: left to themselves, every queue and every worker would open one of their own. */
  static toPostgres(url: string, size: number, logger: Logger): QueueConnection {
    setDefaultBackendFactory(createPostgresBackend);
    const pool = new Pool({
      connectionString: withSessionSettings(url, { search_path: queueSchema }),
      application_name: 'switchboard-queue',
      max: size,
      connectionTimeoutMillis: 5_000,
      keepAlive: true,
    });
    pool.setMaxListeners(0);
    pool.on('error', (error) => logger.warn('a queue connection was lost', { error }));
    let ended: Promise<void> | undefined;
    return new QueueConnection(pool, () => (ended ??= pool.end()));
  }
}
