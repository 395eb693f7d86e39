import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { renamedRecord, type WrittenRecord } from '../../../audit';
import { fault, monotonicMs, type Nano, uuidv7 } from '../../../kernel';
import type { NodeLease, SettlementActivity } from '../escrow/node-lease';
import type { Slice } from '../escrow/slice';
import { CalledOff, type MoneyStore, RefusedByStore, type Settled } from '../store/money-store';
import type { Journal } from './journal';
import { PendingIds } from './pending-ids';
import { setAside } from './refused-records';
import { settleSplitting } from './settle-splitting';
import { type SettledRequest, SettlementBatch } from './settlement-batch';
import { newTickAcknowledgement, type TickAcknowledgement } from './tick-acknowledgement';

export interface SettlementOptions {
  /** The most records of one transaction: a larger one would block the event loop. */
  readonly chunk: number;
  /** Admission pauses when more records than this wait. */
  readonly mostPending: number;
  /** A caller waits so long for the commit when the journal cannot be written. */
  readonly commitWaitMs: number;
  /** It holds the records that the database refused for good. */
  readonly folder: string;
}

const longestPauseMs = 2_000;
/** Journalled requests gather so long for one transaction. */
const gatherMs = 50;

/** Since the start of the process. */
export interface SettlementCounts {
  /** Attempts at a transaction that failed and are repeated. */
  readonly failures: number;
  /** Records that the database refused for good. */
  readonly refused: number;
  /** Answers that could not be recorded in time. */
  readonly withdrawn: number;
}

/**
 * Settled requests on their way: into the journal at the end of the tick, then into the database in batches. One batch
 * is in flight; the next takes all that came meanwhile.
 */
export class SettlementQueue {
  private readonly logger = new Logger(SettlementQueue.name);
  private arriving: SettledRequest[] = [];
  private arrivingTick: TickAcknowledgement | undefined;
  private readonly batches: SettlementBatch[] = [];
  private arrived = 0;
  private waiting = 0;
  /** No batch holds an id twice. */
  private readonly pendingIds = new PendingIds();
  /** It is null where only the commit counts, and undefined until the start. */
  private journal: Journal | null | undefined;
  private committing = false;
  private gathering: NodeJS.Timeout | undefined;
  private commits = 0;
  private batchNumber = 0;
  private readonly stopping = new AbortController();
  private idle: (() => void)[] = [];
  private readonly counted = { failures: 0, refused: 0, withdrawn: 0 };

  constructor(
    private readonly store: MoneyStore,
    private readonly lease: NodeLease,
    private readonly options: SettlementOptions,
  ) {}

  start(journal: Journal | null): void {
    this.journal = journal;
  }

  /** Journalled or about to be, and not committed. */
  get pending(): number {
    return this.waiting + this.arriving.length;
  }

  /** The oldest record that is not committed has waited for so long; 0 where none waits. */
  get oldestMs(): number {
    const [oldest] = this.batches;
    return oldest === undefined ? 0 : monotonicMs() - oldest.begunAt;
  }

  /** Another request could be recorded now. */
  get takesMore(): boolean {
    return this.journal !== undefined && this.pending < this.options.mostPending;
  }

  /** The journal cannot be written for this reason; undefined while it can. */
  get trouble(): unknown {
    return this.journal?.trouble;
  }

  get counts(): SettlementCounts {
    return this.counted;
  }

  get journalBytes(): number {
    return this.journal?.bytes ?? 0;
  }

  activity(): SettlementActivity {
    return { busy: this.committing, commits: this.commits };
  }

  /** Settles once the record cannot be lost any more. Where it rejects, the request is not charged. */
  record(record: WrittenRecord, slices: readonly Slice[], used: readonly Nano[]): Promise<void> {
    if (this.journal === undefined) throw new Error('the money engine has not been started');
    return this.arrive(record, slices, used, false);
  }

  /** Waits until everything is committed, or until the signal. */
  drained(signal: AbortSignal): Promise<void> {
    return this.until(() => this.pending === 0 && !this.committing, signal);
  }

  /** Waits until all that has arrived so far is committed, or until the signal. */
  caughtUp(signal: AbortSignal): Promise<void> {
    const arrived = this.arrived;
    return this.until(() => this.arrived - this.pending >= arrived, signal);
  }

  private async until(isDone: () => boolean, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !isDone()) {
      await new Promise<void>((resolve) => {
        this.idle.push(resolve);
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
    }
  }

  /** Stops trying. Records that are not committed stay in the journal, where there is one. */
  stop(): void {
    this.stopping.abort();
    clearTimeout(this.gathering);
  }

  private arrive(
    given: WrittenRecord,
    slices: readonly Slice[],
    used: readonly Nano[],
    isAcknowledged: boolean,
  ): Promise<void> {
    let record = given;
    while (!this.pendingIds.add(record.requestId)) record = this.underOwnId(record);
    const tick = (this.arrivingTick ??= this.beginTick());
    this.arrived += 1;
    this.arriving.push({ record, slices, used, tick, isAcknowledged });
    return tick.promise;
  }

  private beginTick(): TickAcknowledgement {
    const tick = newTickAcknowledgement();
    setImmediate(() => this.endTick(tick));
    return tick;
  }

  private endTick(tick: TickAcknowledgement): void {
    const arrived = this.arriving;
    this.arriving = [];
    this.arrivingTick = undefined;
    const text = arrived.map(({ record }) => record.text).join(',');
    tick.uncommitted = arrived.length;
    tick.journalled = this.journal?.write([text], arrived.length) ?? false;
    this.enqueue(arrived, tick.journalled);
    if (tick.journalled) tick.resolve();
    else this.waitForCommit(tick);
    this.commitSoon();
  }

  private enqueue(arrived: readonly SettledRequest[], journalled: boolean): void {
    for (let done = 0; done < arrived.length;) {
      const batch = this.openBatch(journalled);
      // Requests that are withdrawn together stay together.
      const room = journalled ? this.options.chunk - batch.length : arrived.length;
      batch.add(arrived.slice(done, done + room));
      done += room;
    }
    this.waiting += arrived.length;
  }

  /** It commits at once where a caller waits for it, otherwise with the requests of the next moment. */
  private commitSoon(): void {
    if (this.journal === null) return void this.commitAll();
    if (!this.committing) this.commitIn(gatherMs);
  }

  private commitIn(milliseconds: number): void {
    this.gathering ??= setTimeout(() => {
      this.gathering = undefined;
      void this.commitAll();
    }, milliseconds);
  }

  /** Without the journal only the commit makes a record safe. */
  private waitForCommit(tick: TickAcknowledgement): void {
    if (this.journal) this.logger.error(`The journal cannot be written: ${String(this.trouble)}`);
    const timer = setTimeout(() => {
      tick.expired = true;
      tick.reject(fault('supplier_settlement_failed', { cause: this.trouble }));
    }, this.options.commitWaitMs);
    timer.unref();
    void tick.promise.then(() => clearTimeout(timer)).catch(() => undefined);
  }

  private openBatch(journalled: boolean): SettlementBatch {
    const last = this.batches.at(-1);
    const isOpen = last !== undefined && !last.closed && last.length < this.options.chunk;
    if (isOpen && last.journalled === journalled) return last;
    const batch = new SettlementBatch(journalled);
    this.batches.push(batch);
    return batch;
  }

  private async commitAll(): Promise<void> {
    if (this.committing) return;
    this.committing = true;
    try {
      for (let next = this.batches[0]; next !== undefined; next = this.batches[0]) {
        if (this.stopping.signal.aborted) break;
        await this.send(next);
        if (this.mayGather) break;
      }
      if (this.waiting > 0) setImmediate(() => this.commitSoon());
    } catch (error) {
      if (!this.stopping.signal.aborted) {
        this.logger.error(error);
        this.commitIn(longestPauseMs);
      }
    } finally {
      this.committing = false;
    }
    for (const wake of this.idle.splice(0)) wake();
  }

  /** Less than a batch is left, and no caller waits for it. */
  private get mayGather(): boolean {
    return this.journal !== null && this.waiting < this.options.chunk;
  }

  private async send(batch: SettlementBatch): Promise<void> {
    batch.closed = true;
    this.pendingIds.separate();
    try {
      if (batch.unsettled === null) await this.sendWhole(batch);
    } catch (error) {
      if (!isForGood(error)) throw error;
      batch.unsettled = batch.records;
    }
    if (batch.unsettled !== null) await this.sendSplitting(batch, batch.unsettled);
    this.batches.shift();
    this.forget(batch.length);
    if (batch.journalled) this.journal?.release(batch.length);
    batch.acknowledge();
  }

  private forget(count: number): void {
    this.waiting -= count;
    this.pendingIds.committed(count);
  }

  /** It leaves out the requests whose callers are told meanwhile that they could not be recorded. */
  private async sendWhole(batch: SettlementBatch): Promise<void> {
    for (;;) {
      this.withdraw(batch);
      try {
        return this.settle(batch, await this.commit(batch.records, batch));
      } catch (error) {
        if (!(error instanceof CalledOff)) throw error;
      }
    }
  }

  private withdraw(batch: SettlementBatch): void {
    const expired = batch.withdraw();
    if (expired.length === 0) return;
    for (const { slices, used } of expired)
      slices.forEach((slice, index) => slice.uncharge(used[index] ?? 0n));
    this.forget(expired.length);
    this.counted.withdrawn += expired.length;
    this.logger.error(
      `${expired.length} answers could not be recorded in time: their callers are not charged.`,
    );
  }

  /** The database refuses some of the records for good. Escrow is released once the others are committed. */
  private async sendSplitting(batch: SettlementBatch, unsettled: WrittenRecord[]): Promise<void> {
    await settleSplitting(
      [...unsettled],
      async (records) => {
        await this.commit(records);
        unsettled.splice(0, records.length);
      },
      (record, reason) => {
        this.logger.error(`Record ${record.requestId} was refused and set aside: ${reason.message}`);
        setAside(this.options.folder, record, reason);
        this.counted.refused += 1;
        unsettled.shift();
      },
    );
    this.settle(batch, await this.commit([], batch));
  }

  /** Repeats the same batch until its outcome is known: the store does nothing twice. */
  private async commit(records: readonly WrittenRecord[], batch?: SettlementBatch): Promise<Settled> {
    this.batchNumber += 1;
    const attempt = {
      lease: this.lease.id,
      number: this.batchNumber,
      records,
      releases: batch?.releases() ?? [],
      isCalledOff: () => batch?.isCalledOff ?? false,
    };
    const { settled, attempts } = await this.insist(() => this.store.settle(attempt));
    this.commits += 1;
    // At the first attempt nothing of the batch can be there yet: a known id belongs to another request.
    if (attempts === 1) {
      const known = new Set(settled.known);
      for (const record of records.filter((_, index) => known.has(index))) {
        void this.arrive(this.underOwnId(record), [], [], true).catch(() => undefined);
      }
    }
    return settled;
  }

  private async insist(settle: () => Promise<Settled>): Promise<{ settled: Settled; attempts: number }> {
    for (let attempts = 1, pause = 50; ; attempts += 1, pause = Math.min(pause * 2, longestPauseMs)) {
      try {
        return { settled: await settle(), attempts };
      } catch (error) {
        if (isForGood(error) || error instanceof CalledOff) throw error;
        this.counted.failures += 1;
        if (attempts === 1) this.logger.warn(`Settlements wait in the journal: ${String(error)}`);
        await delay(pause, undefined, { signal: this.stopping.signal });
      }
    }
  }

  /** A repeated id must not make a request free: the later one is recorded under an id of its own. */
  private underOwnId(record: WrittenRecord): WrittenRecord {
    const requestId = uuidv7();
    this.logger.debug(`Request id ${record.requestId} was used twice; recorded as ${requestId}.`);
    return renamedRecord(record, requestId);
  }

  private settle(batch: SettlementBatch, { windows }: Settled): void {
    const left = new Map(windows.map(({ windowId, limitLeft }) => [windowId, limitLeft]));
    for (const [slice, amount] of batch.used()) {
      slice.settled(amount);
      const limitLeft = slice.window && left.get(slice.window.id);
      if (limitLeft !== null && limitLeft !== undefined) slice.limitLeft = limitLeft;
    }
  }
}

const isForGood = (error: unknown): boolean => error instanceof RefusedByStore;
