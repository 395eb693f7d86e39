import { AsyncLocalStorage } from 'node:async_hooks';
import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { fault, withDeadline } from '../../kernel';
import { readRows } from './row';

export type Tx = EntityManager;

export interface TransactionOptions {
  isolation?: 'READ COMMITTED' | 'REPEATABLE READ' | 'SERIALIZABLE';
  /**
   * The work may run so often when the server aborts it for a conflict. Only work without effects outside the
   * database may ask for more than one attempt.
   */
  attempts?: number;
  /** This transaction needs no log entry for this reason, such as counting a failed sign-in. */
  withoutActivity?: string;
}

/** Checks a transaction before its commit; an exception rolls it back. */
export type CommitCheck = (tx: Tx, options: TransactionOptions) => void;

const pingDeadlineMs = 2_000;

/** The database as services see it. */
@Injectable()
export class Database {
  private readonly running = new AsyncLocalStorage<{ open: boolean }>();

  private readonly commitChecks: CommitCheck[] = [];
  private readonly commitListeners: ((tx: Tx) => void)[] = [];

  constructor(readonly source: DataSource) {}

  beforeCommit(check: CommitCheck): void {
    this.commitChecks.push(check);
  }

  /** The listener must not throw: the transaction is over. */
  afterCommit(listener: (tx: Tx) => void): void {
    this.commitListeners.push(listener);
  }

  /** Runs the work in one transaction, passed as `tx`: a nested one could deadlock with it. */
  async transaction<T>(work: (tx: Tx) => Promise<T>, options: TransactionOptions = {}): Promise<T> {
    if (this.running.getStore()?.open) {
      throw new Error('A transaction is already running here: hand its tx on instead of opening another.');
    }
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.attempt(work, options);
      } catch (error) {
        if (attempt >= (options.attempts ?? 1) || !isBrokenOff(error)) throw error;
        await delay(randomInt(5, 20 * attempt));
      }
    }
  }

  async query<Row>(sql: string, parameters: unknown[] = []): Promise<Row[]> {
    return this.source.query<Row[]>(sql, parameters);
  }

  /** As `readRows` gives them: columns are named as code names them. */
  rows<Row>(sql: string, parameters: unknown[] = []): Promise<Row[]> {
    return readRows<Row>(this.source, sql, parameters);
  }

  /** Settles when the database answers and may be written; else fails with service_unavailable, after two seconds. */
  async ping(): Promise<void> {
    const asked = this.query<{ mode: string }>("SELECT current_setting('transaction_read_only') AS mode");
    try {
      const [row] = await withDeadline(pingDeadlineMs, asked);
      if (row?.mode !== 'off') throw new Error('the database may only be read');
    } catch (cause) {
      throw fault('service_unavailable', { cause });
    }
  }

  private async attempt<T>(work: (tx: Tx) => Promise<T>, options: TransactionOptions): Promise<T> {
    const state = { open: true };
    const checked = async (tx: Tx): Promise<{ tx: Tx; result: T }> => {
      const result = await work(tx);
      for (const check of this.commitChecks) check(tx, options);
      return { tx, result };
    };
    try {
      const { tx, result } = await this.running.run(state, () =>
        this.source.transaction(options.isolation ?? 'READ COMMITTED', checked),
      );
      for (const listener of this.commitListeners) listener(tx);
      return result;
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
