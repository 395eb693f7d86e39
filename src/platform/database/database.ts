import { AsyncLocalStorage } from 'node:async_hooks';
import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { fault } from '../../kernel';

export type Tx = EntityManager;

export interface TransactionOptions {
  isolation?: 'READ COMMITTED' | 'REPEATABLE READ' | 'SERIALIZABLE';
  /**
   * How often the work may run when the server breaks it off for the sake of another transaction. Only work that
   * touches nothing but the database may ask for more than one attempt.
   */
  attempts?: number;
}

const pingDeadlineMs = 2_000;

/** The database as services see it. */
@Injectable()
export class Database {
  private readonly running = new AsyncLocalStorage<{ open: boolean }>();

  constructor(readonly source: DataSource) {}

  /** Runs the work in one transaction. It is handed on as `tx`: a second one inside could block the first. */
  async transaction<T>(work: (tx: Tx) => Promise<T>, options: TransactionOptions = {}): Promise<T> {
    if (this.running.getStore()?.open) {
      throw new Error('A transaction is already running here: hand its tx on instead of opening another.');
    }
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.attempt(work, options.isolation ?? 'READ COMMITTED');
      } catch (error) {
        if (attempt >= (options.attempts ?? 1) || !isBrokenOff(error)) throw error;
        await delay(randomInt(5, 20 * attempt));
      }
    }
  }

  async query<Row>(sql: string, parameters: unknown[] = []): Promise<Row[]> {
    return this.source.query<Row[]>(sql, parameters);
  }

  /** Settles when the database answers; fails with service_unavailable when it does not within two seconds. */
  async ping(): Promise<void> {
    const late = new AbortController();
    const deadline = delay(pingDeadlineMs, undefined, { signal: late.signal }).then(() => {
      throw new Error(`no answer within ${pingDeadlineMs} ms`);
    });
    try {
      await Promise.race([this.query('SELECT 1'), deadline]);
    } catch (cause) {
      throw fault('service_unavailable', { cause });
    } finally {
      late.abort();
      await deadline.catch(() => undefined);
    }
  }

  private async attempt<T>(
    work: (tx: Tx) => Promise<T>,
    isolation: NonNullable<TransactionOptions['isolation']>,
  ): Promise<T> {
    const state = { open: true };
    try {
      return await this.running.run(state, () => this.source.transaction(isolation, work));
    } finally {
      state.open = false;
    }
  }
}

/** Serialisation failure or deadlock: nothing happened, and the same work may succeed when run again. */
function isBrokenOff(error: unknown): boolean {
  const code = (error as { code?: unknown } | undefined)?.code;
  return code === '40001' || code === '40P01';
}
