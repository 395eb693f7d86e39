import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { RecordSheaf, renamedRecord, type WrittenRecord } from '../../../audit';
import { fault, type Nano, uuidv7 } from '../../../kernel';
import type { Activity } from '../escrow/lease-desk';
import type { Slice, Used } from '../escrow/slice';
import { CalledOff, type MoneyStore, RefusedByStore, type Settled } from '../store/money-store';
import { IdsUnderWay } from './ids-under-way';
import type { Journal } from './journal';
import { type Arrival, Parcel } from './parcel';
import { settleSplitting } from './settle-splitting';
import { newTurn, type Turn } from './turn';

export interface SettlementOptions {
  /** The most records a transaction takes: more would hold up the event loop. */
  readonly chunk: number;
  /** How long a caller waits for the commit when the journal cannot be written. */
  readonly commitWaitMs: number;
  /** Called with a record that the database refuses for good. */
  readonly setAside: (record: WrittenRecord, reason: Error) => void;
  /** Called with slices of which more is free again. */
  readonly freed: (slices: readonly Slice[]) => void;
}

const longestPauseMs = 2_000;
/** How long settled requests gather while nobody waits for the database: one transaction for all of them. */
const gatherMs = 50;
/** Empty parcels that are kept for those to come: as many as ever are needed while the database keeps up. */
const mostSpare = 8;

/**
 * Settled requests on their way: into the journal at the end of this turn of the event loop, then into the database
 * in batches. One batch is in flight; the next takes all that came meanwhile.
 */
export class SettlementLine {
  private readonly logger = new Logger(SettlementLine.name);
  private arriving: Arrival[] = [];
  private arrivingTurn: Turn | undefined;
  private readonly parcels: Parcel[] = [];
  private readonly spare: Parcel[] = [];
  private waiting = 0;
  /** A batch never holds an id twice. */
  private readonly ids = new IdsUnderWay();
  private committing = false;
  private gathering: NodeJS.Timeout | undefined;
  private commits = 0;
  private batchNumber = 0;
  private readonly stopping = new AbortController();
  private idle: (() => void)[] = [];

  constructor(
    private readonly store: MoneyStore,
    /** Null where only the commit counts. */
    private readonly journal: Journal | null,
    private readonly lease: () => string,
    private readonly options: SettlementOptions,
  ) {}

  /** Journalled or about to be, and not committed. */
  get pending(): number {
    return this.waiting + this.arriving.length;
  }

  activity(): Activity {
    return { busy: this.committing, commits: this.commits };
  }

  /** Settles once the record cannot be lost any more. Where it rejects, the request is not charged. */
  record(record: WrittenRecord, slices: readonly Slice[], used: readonly Nano[]): Promise<void> {
    return this.arrive({ record, slices, used, isAcknowledged: false });
  }

  /** Waits until everything is committed, or until the signal. */
  async drained(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && (this.pending > 0 || this.committing)) {
      await new Promise<void>((resolve) => {
        this.idle.push(resolve);
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
    }
  }

  /** Stops trying; what is not committed is in the journal, where there is one. */
  stop(): void {
    this.stopping.abort();
    clearTimeout(this.gathering);
  }

  private arrive(arrival: Arrival): Promise<void> {
    let own = arrival;
    while (!this.ids.add(own.record.requestId)) own = { ...own, record: this.underOwnId(own.record) };
    const turn = (this.arrivingTurn ??= this.beginTurn());
    this.arriving.push(own);
    return turn.promise;
  }

  private beginTurn(): Turn {
    setImmediate(() => this.endTurn());
    return newTurn();
  }

  private endTurn(): void {
    const arrived = this.arriving;
    const turn = this.arrivingTurn!;
    this.arriving = [];
    this.arrivingTurn = undefined;
    turn.open = arrived.length;
    const { journal } = this;
    const text = arrived.map(({ record }) => record.text).join(',');
    turn.journalled = journal?.write([text], arrived.length) ?? false;
    for (let done = 0; done < arrived.length;) {
      const parcel = this.openParcel(turn.journalled);
      // What has to be withdrawn together stays together.
      const room = turn.journalled ? this.options.chunk - parcel.records.length : arrived.length;
      parcel.add(arrived.slice(done, done + room), turn);
      done += room;
    }
    this.waiting += arrived.length;
    if (journal !== null && !turn.journalled)
      this.logger.error(`The journal cannot be written: ${String(journal.trouble)}`);
    if (turn.journalled) turn.resolve();
    else this.waitForCommit(turn);
    this.commitSoon();
  }

  /** At once where somebody waits for it; otherwise what comes in the next moment goes with it. */
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

  /** Without the journal only the database can tell that nothing is lost. */
  private waitForCommit(turn: Turn): void {
    const timer = setTimeout(() => {
      turn.expired = true;
      turn.reject(fault('supplier_settlement_failed', { cause: this.journal?.trouble }));
    }, this.options.commitWaitMs);
    timer.unref();
    void turn.promise.then(() => clearTimeout(timer)).catch(() => undefined);
  }

  /** The one that is being filled. */
  private openParcel(journalled: boolean): Parcel {
    const last = this.parcels.at(-1);
    if (last?.takes(journalled, this.options.chunk) === true) return last;
    const parcel = this.spare.pop() ?? new Parcel();
    this.parcels.push(parcel);
    return parcel;
  }

  private async commitAll(): Promise<void> {
    if (this.committing) return;
    this.committing = true;
    try {
      while (this.waiting > 0 && !this.stopping.signal.aborted) {
        this.ids.part();
        await this.send(this.parcels[0]!);
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

  /** What is left is less than a batch, and nobody waits for it. */
  private get mayGather(): boolean {
    return this.journal !== null && this.waiting < this.options.chunk;
  }

  private async send(parcel: Parcel): Promise<void> {
    parcel.closed = true;
    try {
      if (parcel.left === null) await this.sendWhole(parcel);
    } catch (error) {
      if (!isForGood(error)) throw error;
      parcel.left = [...parcel.records];
    }
    if (parcel.left !== null) await this.sendSplitting(parcel, parcel.left);
    this.parcels.shift();
    const { count } = parcel;
    this.waiting -= count;
    this.ids.arrived(count);
    const journalled = parcel.arrived();
    this.journal?.release(journalled);
    parcel.clear();
    if (this.spare.length < mostSpare) this.spare.push(parcel);
  }

  /** Without those whose callers are told meanwhile that they could not be recorded. */
  private async sendWhole(parcel: Parcel): Promise<void> {
    for (;;) {
      this.withdraw(parcel);
      try {
        return this.settle(parcel.used, await this.commit(parcel.records, parcel));
      } catch (error) {
        if (!(error instanceof CalledOff)) throw error;
      }
    }
  }

  private withdraw(parcel: Parcel): void {
    const gone = parcel.withdraw();
    if (gone.length === 0) return;
    for (const { slices, used } of gone) {
      slices.forEach((slice, place) => slice.uncharge(used[place]!));
      this.options.freed(slices);
    }
    this.logger.error(`${gone.length} answers could not be recorded in time: their callers are not charged.`);
  }

  /** The database will never take some of them. What all of them used up is told when the others are there. */
  private async sendSplitting(parcel: Parcel, left: WrittenRecord[]): Promise<void> {
    await settleSplitting(
      [...left],
      async (records) => {
        await this.commit(new RecordSheaf(records));
        left.splice(0, records.length);
      },
      (record, reason) => {
        this.logger.error(`Record ${record.requestId} was refused and set aside: ${reason.message}`);
        this.options.setAside(record, reason);
        left.shift();
      },
    );
    this.settle(parcel.used, await this.commit(new RecordSheaf(), parcel));
  }

  /** Repeats the same batch until its outcome is known: what is already there is not done again. */
  private async commit(records: RecordSheaf, parcel?: Parcel): Promise<Settled> {
    this.batchNumber += 1;
    const releases = parcel?.releases() ?? [];
    const isCalledOff = (): boolean => parcel?.isCalledOff ?? false;
    const batch = { lease: this.lease(), number: this.batchNumber, records, releases, isCalledOff };
    const { settled, attempts } = await this.insist(() => this.store.settle(batch));
    this.commits += 1;
    // At the first attempt nothing of the batch can be there yet: what is belongs to another request.
    if (attempts === 1) {
      for (const place of settled.known) {
        const record = this.underOwnId(records.at(place));
        void this.arrive({ record, slices: [], used: [], isAcknowledged: true }).catch(() => undefined);
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
        if (attempts === 1) this.logger.warn(`Settlements wait in the journal: ${String(error)}`);
        await delay(pause, undefined, { signal: this.stopping.signal });
      }
    }
  }

  /** Repeating an id must not make a request free: each is recorded, the later one under an id of its own. */
  private underOwnId(record: WrittenRecord): WrittenRecord {
    const requestId = uuidv7();
    this.logger.debug(`Request id ${record.requestId} was used twice; recorded as ${requestId}.`);
    return renamedRecord(record, requestId);
  }

  private settle(used: readonly Used[], { windows }: Settled): void {
    const left = new Map(windows.map(({ windowId, limitLeft }) => [windowId, limitLeft]));
    for (const { slice, amount } of used) {
      slice.settled(amount);
      const limitLeft = slice.window && left.get(slice.window.id);
      if (limitLeft !== null && limitLeft !== undefined) slice.limitLeft = limitLeft;
    }
  }
}

const isForGood = (error: unknown): boolean => error instanceof RefusedByStore;
