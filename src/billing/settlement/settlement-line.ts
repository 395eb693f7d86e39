import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { renamedRecord, type WrittenRecord } from '../../audit';
import { fault, type Nano, uuidv7 } from '../../kernel';
import type { Activity } from '../escrow/lease-desk';
import type { Slice } from '../escrow/slice';
import { type MoneyStore, type Portion, RefusedByStore, type Settled } from '../store/money-store';
import { IdsUnderWay } from './ids-under-way';
import type { Journal } from './journal';
import { settleSplitting } from './settle-splitting';

export interface SettlementOptions {
  /** Whether a request is settled once its record is journalled, or once it is committed. */
  readonly acknowledge: 'journal' | 'commit';
  /** The most records a transaction takes: more would hold up the event loop. */
  readonly chunk: number;
  /** How long a caller waits for the commit when the journal cannot be written. */
  readonly commitWaitMs: number;
  /** Called with a record that the database refuses for good. */
  readonly setAside: (record: WrittenRecord, reason: Error) => void;
}

interface Entry {
  readonly record: WrittenRecord;
  readonly slices: readonly Slice[];
  readonly used: readonly Nano[];
  /** The requests of one turn are journalled together, and those that wait for the commit wait together. */
  readonly turn: Turn;
}

interface Turn {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
  open: number;
  journalled: boolean;
}

const longestPauseMs = 2_000;
/** How long settled requests gather while nobody waits for the database: one transaction for all of them. */
const gatherMs = 50;

/**
 * Settled requests on their way: into the journal at the end of this turn of the event loop, then into the database
 * in batches. One batch is in flight; the next takes all that came meanwhile.
 */
export class SettlementLine {
  private readonly logger = new Logger(SettlementLine.name);
  private arriving: Entry[] = [];
  private arrivingTurn: Turn | undefined;
  private queue: Entry[] = [];
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
    private readonly journal: Journal,
    private readonly lease: () => string,
    private readonly options: SettlementOptions,
  ) {}

  /** Journalled or about to be, and not committed. */
  get pending(): number {
    return this.queue.length + this.arriving.length;
  }

  activity(): Activity {
    return { busy: this.committing, commits: this.commits };
  }

  /** Settles once the record cannot be lost any more. */
  record(record: WrittenRecord, slices: readonly Slice[], used: readonly Nano[]): Promise<void> {
    const known = this.ids.has(record.requestId);
    const own = known ? this.underOwnId(record) : record;
    this.ids.add(own.requestId);
    const turn = (this.arrivingTurn ??= this.beginTurn());
    this.arriving.push({ record: own, slices, used, turn });
    return turn.promise;
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

  /** Stops trying; what is not committed is in the journal. */
  stop(): void {
    this.stopping.abort();
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
    const journalled = this.journal.write(arrived.map(({ record }) => record.text));
    turn.journalled = journalled;
    for (const entry of arrived) this.queue.push(entry);
    if (!journalled) this.logger.error(`The journal cannot be written: ${String(this.journal.trouble)}`);
    if (journalled && this.options.acknowledge === 'journal') turn.resolve();
    else this.waitForCommit(turn);
    this.commitSoon();
  }

  /** At once where somebody waits for it; otherwise what comes in the next moment goes with it. */
  private commitSoon(): void {
    if (this.options.acknowledge === 'commit') return void this.commitAll();
    if (this.committing) return;
    this.gathering ??= setTimeout(() => {
      this.gathering = undefined;
      void this.commitAll();
    }, gatherMs);
  }

  /** Without the journal only the database can tell that nothing is lost. */
  private waitForCommit(turn: Turn): void {
    const timer = setTimeout(
      () => turn.reject(fault('supplier_settlement_failed', { cause: this.journal.trouble })),
      this.options.commitWaitMs,
    );
    timer.unref();
    void turn.promise.then(() => clearTimeout(timer)).catch(() => undefined);
  }

  private async commitAll(): Promise<void> {
    if (this.committing) return;
    this.committing = true;
    try {
      while (this.queue.length > 0 && !this.stopping.signal.aborted) {
        const chunk = this.queue.slice(0, this.options.chunk);
        this.ids.part();
        await settleSplitting(
          chunk,
          (entries) => this.commit(entries),
          (entry, reason) => this.refuse(entry, reason),
        );
        if (this.mayGather) break;
      }
      if (this.queue.length > 0) setImmediate(() => this.commitSoon());
    } catch (error) {
      if (!this.stopping.signal.aborted) this.logger.error(error);
    } finally {
      this.committing = false;
    }
    for (const wake of this.idle.splice(0)) wake();
  }

  /** What is left is less than a batch, and nobody waits for it. */
  private get mayGather(): boolean {
    return this.options.acknowledge === 'journal' && this.queue.length < this.options.chunk;
  }

  /** Repeats the same batch until its outcome is known: what is already there is not done again. */
  private async commit(entries: readonly Entry[]): Promise<void> {
    this.batchNumber += 1;
    const used = usedBy(entries);
    const batch = {
      lease: this.lease(),
      number: this.batchNumber,
      records: entries.map(({ record }) => record),
      releases: releasesOf(used),
    };
    const { settled, attempts } = await this.insist(() => this.store.settle(batch));
    this.commits += 1;
    this.done(entries, used, settled);
    // At the first attempt nothing of the batch can be there yet: what is belongs to another request.
    if (attempts > 1) return;
    for (const place of settled.known) {
      void this.record(this.underOwnId(entries[place]!.record), [], []).catch(() => undefined);
    }
  }

  private async insist(settle: () => Promise<Settled>): Promise<{ settled: Settled; attempts: number }> {
    for (let attempts = 1, pause = 50; ; attempts += 1, pause = Math.min(pause * 2, longestPauseMs)) {
      try {
        return { settled: await settle(), attempts };
      } catch (error) {
        if (isForGood(error)) throw error;
        if (attempts === 1) this.logger.warn(`Settlements wait in the journal: ${String(error)}`);
        await delay(pause, undefined, { signal: this.stopping.signal });
      }
    }
  }

  /** The database will never take this record. Its money is let go, and it is kept for people to look at. */
  private async refuse(entry: Entry, reason: Error): Promise<void> {
    this.logger.error(`Record ${entry.record.requestId} was refused and set aside: ${reason.message}`);
    this.options.setAside(entry.record, reason);
    this.batchNumber += 1;
    const used = usedBy([entry]);
    const batch = {
      lease: this.lease(),
      number: this.batchNumber,
      records: [],
      releases: releasesOf(used),
    };
    const { settled } = await this.insist(() => this.store.settle(batch));
    this.commits += 1;
    this.done([entry], used, settled);
  }

  /** Repeating an id must not make a request free: each is recorded, the later one under an id of its own. */
  private underOwnId(record: WrittenRecord): WrittenRecord {
    const requestId = uuidv7();
    this.logger.debug(`Request id ${record.requestId} was used twice; recorded as ${requestId}.`);
    return renamedRecord(record, requestId);
  }

  private done(entries: readonly Entry[], used: Used, { windows }: Settled): void {
    this.queue.splice(0, entries.length);
    this.ids.arrived(entries.length);
    const left = new Map(windows.map(({ windowId, limitLeft }) => [windowId, limitLeft]));
    for (const [slice, amount] of used) {
      slice.settled(amount);
      const limitLeft = slice.window && left.get(slice.window.id);
      if (limitLeft !== null && limitLeft !== undefined) slice.limitLeft = limitLeft;
    }
    let journalled = 0;
    for (const entry of entries) {
      if (entry.turn.journalled) journalled += 1;
      entry.turn.open -= 1;
      if (entry.turn.open === 0) entry.turn.resolve();
    }
    this.journal.release(journalled);
  }
}

type Used = ReadonlyMap<Slice, Nano>;

/** What a batch uses up of this node's slices. */
function usedBy(entries: readonly Entry[]): Used {
  const sums = new Map<Slice, Nano>();
  for (const { slices, used } of entries) {
    for (let place = 0; place < slices.length; place += 1) {
      const slice = slices[place]!;
      const amount = used[place]!;
      const before = sums.get(slice);
      if (before !== undefined) sums.set(slice, before + amount);
      else if (amount !== 0n) sums.set(slice, amount);
    }
  }
  return sums;
}

/** Of that, what has to be told: a slice that has lapsed is nobody's any more. */
function releasesOf(used: Used): Portion[] {
  const sums = new Map<string, Nano>();
  for (const [{ window, lapsed }, amount] of used)
    if (window !== null && !lapsed) sums.set(window.id, (sums.get(window.id) ?? 0n) + amount);
  return [...sums].map(([windowId, amount]) => ({ windowId, amount }));
}

const isForGood = (error: unknown): boolean => error instanceof RefusedByStore;

const newTurn = (): Turn => ({ ...Promise.withResolvers<void>(), open: 0, journalled: false });
