import { type ConnectionOptions, createRedisBackend, setDefaultBackendFactory } from 'bullmq';
import { Pool, type PoolClient } from 'pg';
import { withSessionSettings } from '../database/connection-url';
import { resilientPoolOptions } from '../database/pool-options';
import type { Logger } from '../logging';
import { createPostgresBackend } from './postgres-backend';

/** BullMQ's own name for the schema of its tables. */
const queueSchema = 'bullmq';

/** A connection that does not respond in this time is replaced. */
const RESPONSE_TIMEOUT_MS = 30_000;
/** Workers listen for long; the kernel's probes detect a server that vanished silently. */
const KEEP_ALIVE_DELAY_MS = 10_000;

/** Connection of the queues: to PostgreSQL, or to Redis if there is one. */
export class QueueConnection {
  private constructor(
    readonly connection: ConnectionOptions,
    /** Users of `connection` wait until this is called, or for a moment. */
    readonly open: () => void,
    readonly close: () => Promise<void>,
    /** Set if jobs are in PostgreSQL. */
    readonly pool: Pool | null = null,
  ) {}

  static toRedis(url: string): QueueConnection {
    setDefaultBackendFactory(createRedisBackend);
    // Every queue and worker opens and closes its own connections with these options.
    const retryStrategy = (attempt: number): number => Math.min(100 * 2 ** attempt, 5_000);
    const connection = { url, connectTimeout: 3_000, retryStrategy };
    return new QueueConnection(
      connection,
      () => undefined,
      () => Promise.resolve(),
    );
  }

  /** Shares a single pool; otherwise every queue and worker would open its own. */
  static toPostgres(url: string, size: number, logger: Logger): QueueConnection {
    setDefaultBackendFactory(createPostgresBackend);
    const pool = new DeferredPool({
      ...resilientPoolOptions,
      connectionString: withSessionSettings(url, { search_path: queueSchema }),
      application_name: 'switchboard-queue',
      max: size,
      connectionTimeoutMillis: 5_000,
      query_timeout: RESPONSE_TIMEOUT_MS,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY_MS,
    });
    pool.setMaxListeners(0);
    pool.on('error', (error) => logger.warn('a queue connection was lost', { error }));
    let ended: Promise<void> | undefined;
    return new QueueConnection(
      pool,
      () => pool.open(),
      () => (ended ??= pool.end()),
      pool,
    );
  }
}

type AcquireCallback = (error: Error | undefined, client: PoolClient | undefined, done: () => void) => void;

/** Long enough for a start; a job that the start itself needs waits no longer. */
const MAX_DEFERRAL_MS = 250;

/** Defers the connections that queues open when they are created, so that they do not delay the start. */
class DeferredPool extends Pool {
  private readonly opened = Promise.withResolvers<void>();
  private readonly deferral = setTimeout(() => this.open(), MAX_DEFERRAL_MS).unref();

  open(): void {
    clearTimeout(this.deferral);
    this.opened.resolve();
  }

  override connect(): Promise<PoolClient>;
  override connect(callback: AcquireCallback): void;
  override connect(callback?: AcquireCallback): Promise<PoolClient> | void {
    if (callback === undefined) return this.opened.promise.then(() => super.connect());
    void this.opened.promise.then(() => super.connect(delayFailure(callback)));
  }
}

const REFUSAL_DELAY_MS = 250;

/** Workers retry as soon as they are refused, so the immediate refusals of a restarting database are delayed. */
const delayFailure =
  (callback: AcquireCallback): AcquireCallback =>
  (error, client, done) => {
    if (error === undefined) callback(error, client, done);
    else setTimeout(() => callback(error, client, done), REFUSAL_DELAY_MS).unref();
  };
