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
   * Maximum number of attempts when the server aborts the work for a conflict. Only work without effects outside the
   * database can have more than one.
   */
  attempts?: number;
  /** Reason why this transaction needs no log entry, such as counting a failed sign-in. */
  withoutActivity?: string;
}

/** Checks a transaction before its commit; an exception rolls it back. */
export type CommitCheck = (tx: Tx, options: TransactionOptions) => void;

const pingDeadlineMs = 2_000;

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

  /** Runs the work in one transaction, passed as `tx`; a nested transaction could deadlock with it and is rejected. */
  async transaction<T>(work: (tx: Tx) => Promise<T>, options: TransactionOptions = {}): Promise<T> {
    if (this.running.getStore()?.open) {
      throw new Error('A transaction is already running here: hand its tx on instead of opening another.');
    }
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.attempt(work, options);
      } catch (error) {
        if (attempt >= (options.attempts ?? 1) || !isConflict(error)) throw error;
        await delay(randomInt(5, 20 * attempt));
      }
    }
  }

  async query<Row>(sql: string, parameters: unknown[] = []): Promise<Row[]> {
    return this.source.query<Row[]>(sql, parameters);
  }

  rows<Row>(sql: string, parameters: unknown[] = []): Promise<Row[]> {
    return readRows<Row>(this.source, sql, parameters);
  }

  /** Settles when the database responds and is writable; otherwise fails with service_unavailable after two seconds. */
  async ping(): Promise<void> {
    const response = this.query<{ mode: string }>("SELECT current_setting('transaction_read_only') AS mode");
    try {
      const [row] = await withDeadline(pingDeadlineMs, response);
      if (row?.mode !== 'off') throw new Error('the database may only be read');
    } catch (cause) {
      throw fault('service_unavailable', { cause });
    }
  }

  private async attempt<T>(work: (tx: Tx) => Promise<T>, options: TransactionOptions): Promise<T> {
    const state = { open: true };
    const checkedWork = async (tx: Tx): Promise<{ tx: Tx; result: T }> => {
      const result = await work(tx);
      for (const check of this.commitChecks) check(tx, options);
      return { tx, result };
    };
    try {
      const { tx, result } = await this.running.run(state, () =>
        this.source.transaction(options.isolation ?? 'READ COMMITTED', checkedWork),
      );
      for (const listener of this.commitListeners) listener(tx);
      return result;
    } finally {
      state.open = false;
    }
  }
}

/** Serialisation failure or deadlock: nothing was changed, and the same work might succeed when run again. */
function isConflict(error: unknown): boolean {
  const code = (error as { code?: unknown } | undefined)?.code;
  return code === '40001' || code === '40P01';
}
