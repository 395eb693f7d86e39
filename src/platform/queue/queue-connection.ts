import { type ConnectionOptions, createRedisBackend, setDefaultBackendFactory } from 'bullmq';
import { Pool, type PoolClient } from 'pg';
import { withSessionSettings } from '../database/connection-url';
import { survivesLostConnections } from '../database/pool-options';
import type { Logger } from '../logging';
import { createPostgresBackend } from './postgres-backend';

/** BullMQ's own name for the schema its tables live in. */
const queueSchema = 'bullmq';

/** A connection that does not answer in this time is replaced. */
const ANSWER_DEADLINE_MS = 30_000;
/** Workers listen for long: one whose server vanished without a word hears so from the kernel's probes. */
const FIRST_PROBE_MS = 10_000;

/** The connection keeps jobs in PostgreSQL, or in Redis when there is one. */
export class QueueConnection {
  private constructor(
    readonly connection: ConnectionOptions,
    /** Callers of `connection` wait until this is called, or for a moment. */
    readonly open: () => void,
    readonly close: () => Promise<void>,
    /** Where jobs are in PostgreSQL. */
    readonly pool: Pool | null = null,
  ) {}

  static toRedis(url: string): QueueConnection {
    setDefaultBackendFactory(createRedisBackend);
    // Every queue and worker opens connections of its own with these options, and closes them.
    const retryStrategy = (attempt: number): number => Math.min(100 * 2 ** attempt, 5_000);
    const connection = { url, connectTimeout: 3_000, retryStrategy };
    return new QueueConnection(
      connection,
      () => undefined,
      () => Promise.resolve(),
    );
  }

  /** One pool for all: left to themselves, every queue and every worker would open one of their own. */
  static toPostgres(url: string, size: number, logger: Logger): QueueConnection {
    setDefaultBackendFactory(createPostgresBackend);
    const pool = new DeferredPool({
      ...survivesLostConnections,
      connectionString: withSessionSettings(url, { search_path: queueSchema }),
      application_name: 'switchboard-queue',
      max: size,
      connectionTimeoutMillis: 5_000,
      query_timeout: ANSWER_DEADLINE_MS,
      keepAlive: true,
      keepAliveInitialDelayMillis: FIRST_PROBE_MS,
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

type Connected = (error: Error | undefined, client: PoolClient | undefined, done: () => void) => void;

/** It is long enough for a start; a job that the start itself needs is waited for no longer. */
const LONGEST_DEFERRAL_MS = 250;

/** Queues connect as soon as they are made. A start has better to do than to wait for that. */
class DeferredPool extends Pool {
  private readonly opened = Promise.withResolvers<void>();
  private readonly deferral = setTimeout(() => this.open(), LONGEST_DEFERRAL_MS).unref();

  open(): void {
    clearTimeout(this.deferral);
    this.opened.resolve();
  }

  override connect(): Promise<PoolClient>;
  override connect(callback: Connected): void;
  override connect(callback?: Connected): Promise<PoolClient> | void {
    if (callback === undefined) return this.opened.promise.then(() => super.connect());
    void this.opened.promise.then(() => super.connect(slowToFail(callback)));
  }
}

const REFUSAL_DELAY_MS = 250;

/** Workers ask again as soon as they are refused: what a database that restarts refuses at once, they hear later. */
const slowToFail =
  (callback: Connected): Connected =>
  (error, client, done) => {
    if (error === undefined) callback(error, client, done);
    else setTimeout(() => callback(error, client, done), REFUSAL_DELAY_MS).unref();
  };
