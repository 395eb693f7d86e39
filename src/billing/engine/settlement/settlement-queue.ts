import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { withRequestId, type WrittenRecord } from '../../../audit';
import { fault, monotonicMs, type Nano, uuidv7 } from '../../../kernel';
import type { NodeLease, SettlementActivity } from '../escrow/node-lease';
import type { Slice } from '../escrow/slice';
import { CalledOff, type MoneyStore, RefusedByStore, type SettlementResult } from '../store/money-store';
import type { Journal } from './journal';
import { PendingIds } from './pending-ids';
import { saveRefusedRecord } from './refused-records';
import { settleSplitting } from './settle-splitting';
import { type SettledRequest, SettlementBatch } from './settlement-batch';
import { newTickAcknowledgement, type TickAcknowledgement } from './tick-acknowledgement';

export interface SettlementOptions {
  /** Maximum number of records per transaction: a larger one would block the event loop. */
  readonly chunk: number;
  /** Admission pauses when more records than this are pending. */
  readonly maxPending: number;
  /** Maximum wait of a caller for the commit when the journal cannot be written. */
  readonly commitWaitMs: number;
  readonly folder: string;
}

const MAX_PAUSE_MS = 2_000;
/** How long journalled requests gather for one transaction. */
const gatherMs = 50;

export interface SettlementCounts {
  /** Attempts at a transaction that failed and are repeated. */
  readonly failures: number;
  readonly refused: number;
  /** Requests that could not be recorded in time. */
  readonly withdrawn: number;
}

/**
 * Settled requests on their way: into the journal at the end of the tick, then into the database in batches. One batch
 * is in flight; the next takes everything that arrived meanwhile.
 */
export class SettlementQueue {
  private readonly logger = new Logger(SettlementQueue.name);
  private arriving: SettledRequest[] = [];
  private arrivingTick: TickAcknowledgement | undefined;
  private readonly batches: SettlementBatch[] = [];
  private arrivedCount = 0;
  private enqueued = 0;
  private readonly pendingIds = new PendingIds();
  /** Null if only the commit counts, undefined until the start. */
  private journal: Journal | null | undefined;
  private isCommitting = false;
  private gatherTimer: NodeJS.Timeout | undefined;
  private commits = 0;
  private batchNumber = 0;
  private readonly stopping = new AbortController();
  private idleListeners: (() => void)[] = [];
  private readonly counters = { failures: 0, refused: 0, withdrawn: 0 };

  constructor(
    private readonly store: MoneyStore,
    private readonly lease: NodeLease,
    private readonly options: SettlementOptions,
  ) {}

  start(journal: Journal | null): void {
    this.journal = journal;
  }

  get pending(): number {
    return this.enqueued + this.arriving.length;
  }

  /** Age of the oldest record that is not committed; 0 if there is none. */
  get oldestMs(): number {
    const [oldest] = this.batches;
    return oldest === undefined ? 0 : monotonicMs() - oldest.startedAt;
  }

  get takesMore(): boolean {
    return this.journal !== undefined && this.pending < this.options.maxPending;
  }

  /** Reason why the journal cannot be written; undefined while it can. */
  get trouble(): unknown {
    return this.journal?.writeError;
  }

  get counts(): SettlementCounts {
    return this.counters;
  }

  get journalBytes(): number {
    return this.journal?.bytes ?? 0;
  }

  activity(): SettlementActivity {
    return { busy: this.isCommitting, commits: this.commits };
  }

  /** Resolves once the record cannot be lost any more. If the promise rejects, the request is not charged. */
  record(record: WrittenRecord, slices: readonly Slice[], used: readonly Nano[]): Promise<void> {
    if (this.journal === undefined) throw new Error('the money engine has not been started');
    return this.addRecord(record, slices, used, false);
  }

  waitUntilDrained(signal: AbortSignal): Promise<void> {
    return this.waitUntil(() => this.pending === 0 && !this.isCommitting, signal);
  }

  /** Waits until everything that has arrived so far is committed, or until the signal. */
  waitUntilCommitted(signal: AbortSignal): Promise<void> {
    const arrivedCount = this.arrivedCount;
    return this.waitUntil(() => this.arrivedCount - this.pending >= arrivedCount, signal);
  }

  private async waitUntil(isDone: () => boolean, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !isDone()) {
      await new Promise<void>((resolve) => {
        this.idleListeners.push(resolve);
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
    }
  }

  /** Stops trying. Uncommitted records stay in the journal, if there is one. */
  stop(): void {
    this.stopping.abort();
    clearTimeout(this.gatherTimer);
  }

  private addRecord(
    original: WrittenRecord,
    slices: readonly Slice[],
    used: readonly Nano[],
    isAcknowledged: boolean,
  ): Promise<void> {
    let record = original;
    while (!this.pendingIds.add(record.requestId)) record = this.withNewId(record);
    const tick = (this.arrivingTick ??= this.startTick());
    this.arrivedCount += 1;
    this.arriving.push({ record, slices, used, tick, isAcknowledged });
    return tick.promise;
  }

  private startTick(): TickAcknowledgement {
    const tick = newTickAcknowledgement();
    setImmediate(() => this.endTick(tick));
    return tick;
  }

  private endTick(tick: TickAcknowledgement): void {
    const requests = this.arriving;
    this.arriving = [];
    this.arrivingTick = undefined;
    const text = requests.map(({ record }) => record.text).join(',');
    tick.uncommitted = requests.length;
    tick.isJournalled = this.journal?.write([text], requests.length) ?? false;
    this.enqueue(requests, tick.isJournalled);
    if (tick.isJournalled) tick.resolve();
    else this.waitForCommit(tick);
    this.commitSoon();
  }

  private enqueue(requests: readonly SettledRequest[], isJournalled: boolean): void {
    for (let added = 0; added < requests.length;) {
      const batch = this.openBatch(isJournalled);
      // Requests that are withdrawn together stay in one batch.
      const room = isJournalled ? this.options.chunk - batch.length : requests.length;
      batch.add(requests.slice(added, added + room));
      added += room;
    }
    this.enqueued += requests.length;
  }

  /** Commits immediately if a caller waits for it, otherwise together with the requests of the next moments. */
  private commitSoon(): void {
    if (this.journal === null) return void this.commitAll();
    if (!this.isCommitting) this.commitIn(gatherMs);
  }

  private commitIn(milliseconds: number): void {
    this.gatherTimer ??= setTimeout(() => {
      this.gatherTimer = undefined;
      void this.commitAll();
    }, milliseconds);
  }

  /** Lets the callers wait for the commit, because without the journal only the commit makes a record safe. */
  private waitForCommit(tick: TickAcknowledgement): void {
    if (this.journal) this.logger.error(`The journal cannot be written: ${String(this.trouble)}`);
    const timer = setTimeout(() => {
      tick.isExpired = true;
      tick.reject(fault('supplier_settlement_failed', { cause: this.trouble }));
    }, this.options.commitWaitMs);
    timer.unref();
    void tick.promise.then(() => clearTimeout(timer)).catch(() => undefined);
  }

  private openBatch(isJournalled: boolean): SettlementBatch {
    const last = this.batches.at(-1);
    const isOpen = last !== undefined && !last.isClosed && last.length < this.options.chunk;
    if (isOpen && last.isJournalled === isJournalled) return last;
    const batch = new SettlementBatch(isJournalled);
    this.batches.push(batch);
    return batch;
  }

  private async commitAll(): Promise<void> {
    if (this.isCommitting) return;
    this.isCommitting = true;
    try {
      for (let next = this.batches[0]; next !== undefined; next = this.batches[0]) {
        if (this.stopping.signal.aborted) break;
        await this.send(next);
        if (this.canGather) break;
      }
      if (this.enqueued > 0) setImmediate(() => this.commitSoon());
    } catch (error) {
      if (!this.stopping.signal.aborted) {
        this.logger.error(error);
        this.commitIn(MAX_PAUSE_MS);
      }
    } finally {
      this.isCommitting = false;
    }
    for (const wake of this.idleListeners.splice(0)) wake();
  }

  private get canGather(): boolean {
    return this.journal !== null && this.enqueued < this.options.chunk;
  }

  private async send(batch: SettlementBatch): Promise<void> {
    batch.isClosed = true;
    this.pendingIds.startGeneration();
    try {
      if (batch.unsettled === null) await this.sendUnsplit(batch);
    } catch (error) {
      if (!isPermanent(error)) throw error;
      batch.unsettled = batch.records;
    }
    if (batch.unsettled !== null) await this.sendSplitting(batch, batch.unsettled);
    this.batches.shift();
    this.forget(batch.length);
    if (batch.isJournalled) this.journal?.release(batch.length);
    batch.acknowledge();
  }

  private forget(count: number): void {
    this.enqueued -= count;
    this.pendingIds.forget(count);
  }

  /** Leaves out requests whose callers are told meanwhile that they could not be recorded. */
  private async sendUnsplit(batch: SettlementBatch): Promise<void> {
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
    this.counters.withdrawn += expired.length;
    this.logger.error(
      `${expired.length} answers could not be recorded in time: their callers are not charged.`,
    );
  }

  /**
   * Settles a batch with records that the database refuses permanently. Escrow is released once the others are
   * committed.
   */
  private async sendSplitting(batch: SettlementBatch, unsettled: WrittenRecord[]): Promise<void> {
    await settleSplitting(
      [...unsettled],
      async (records) => {
        await this.commit(records);
        unsettled.splice(0, records.length);
      },
      (record, reason) => {
        this.logger.error(`Record ${record.requestId} was refused and set aside: ${reason.message}`);
        saveRefusedRecord(this.options.folder, record, reason);
        this.counters.refused += 1;
        unsettled.shift();
      },
    );
    this.settle(batch, await this.commit([], batch));
  }

  /** Repeats the batch until its outcome is known; the store does nothing twice. */
  private async commit(
    records: readonly WrittenRecord[],
    batch?: SettlementBatch,
  ): Promise<SettlementResult> {
    this.batchNumber += 1;
    const attempt = {
      lease: this.lease.id,
      number: this.batchNumber,
      records,
      releases: batch?.releases() ?? [],
      isCalledOff: () => batch?.isCalledOff ?? false,
    };
    const { settled, attempts } = await this.retry(() => this.store.settle(attempt));
    this.commits += 1;
    // At the first attempt nothing of the batch can be stored yet: an existing id belongs to another request.
    if (attempts === 1) {
      const known = new Set(settled.known);
      for (const record of records.filter((_, index) => known.has(index))) {
        void this.addRecord(this.withNewId(record), [], [], true).catch(() => undefined);
      }
    }
    return settled;
  }

  private async retry(
    settle: () => Promise<SettlementResult>,
  ): Promise<{ settled: SettlementResult; attempts: number }> {
    for (let attempts = 1, pause = 50; ; attempts += 1, pause = Math.min(pause * 2, MAX_PAUSE_MS)) {
      try {
        return { settled: await settle(), attempts };
      } catch (error) {
        if (isPermanent(error) || error instanceof CalledOff) throw error;
        this.counters.failures += 1;
        if (attempts === 1) this.logger.warn(`Settlements wait in the journal: ${String(error)}`);
        await delay(pause, undefined, { signal: this.stopping.signal });
      }
    }
  }

  /** Gives a record with a repeated id an id of its own, so that the request is not free. */
  private withNewId(record: WrittenRecord): WrittenRecord {
    const requestId = uuidv7();
    this.logger.debug(`Request id ${record.requestId} was used twice; recorded as ${requestId}.`);
    return withRequestId(record, requestId);
  }

  private settle(batch: SettlementBatch, { windows }: SettlementResult): void {
    const limitLeftOf = new Map(windows.map(({ windowId, limitLeft }) => [windowId, limitLeft]));
    for (const [slice, amount] of batch.used()) {
      slice.markSettled(amount);
      const limitLeft = slice.window && limitLeftOf.get(slice.window.id);
      if (limitLeft !== null && limitLeft !== undefined) slice.limitLeft = limitLeft;
    }
  }
}

const isPermanent = (error: unknown): boolean => error instanceof RefusedByStore;
