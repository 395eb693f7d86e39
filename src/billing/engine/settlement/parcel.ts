import { RecordSheaf, type WrittenRecord } from '../../../audit';
import type { Nano } from '../../../kernel';
import type { Slice, Used } from '../escrow/slice';
import type { Portion } from '../store/money-store';
import type { Turn } from './turn';

/** A settled request, and what it used up of which slices. */
export interface Arrival {
  readonly record: WrittenRecord;
  readonly slices: readonly Slice[];
  readonly used: readonly Nano[];
  /** Its caller has been answered already: it stays, whatever becomes of its turn. */
  readonly isAcknowledged: boolean;
}

interface Entry {
  readonly turn: Turn;
  readonly count: number;
  /** Null where they are in the journal: those are never taken out again. */
  arrivals: readonly Arrival[] | null;
}

/** Settled requests that one transaction takes, and what they use up of this node's slices. */
export class Parcel {
  readonly records = new RecordSheaf();
  private sums: Used[] = [];
  private readonly entries: Entry[] = [];
  /** On its way: what comes now goes with the next. */
  closed = false;
  /** Once the database refused some of the records: those that are neither committed nor set aside. */
  left: WrittenRecord[] | null = null;

  get used(): readonly Used[] {
    return this.sums;
  }

  /** How many were put in, withdrawn ones among them. */
  get count(): number {
    return this.entries.reduce((sum, { count }) => sum + count, 0);
  }

  /** Room for more of the kind: what is journalled and what is not never share a parcel. */
  takes(journalled: boolean, chunk: number): boolean {
    const first = this.entries[0];
    const isSameKind = first === undefined || first.turn.journalled === journalled;
    return isSameKind && !this.closed && this.records.length < chunk;
  }

  add(arrivals: readonly Arrival[], turn: Turn): void {
    this.entries.push({ turn, count: arrivals.length, arrivals: turn.journalled ? null : arrivals });
    this.fill(arrivals);
  }

  /** Whether callers were told since that this could not be recorded. Once it was split, parts of it are committed. */
  get isCalledOff(): boolean {
    return this.left === null && this.entries.some((entry) => goneOf(entry).length > 0);
  }

  /** Takes out what nobody may be charged for any more, and answers it. */
  withdraw(): Arrival[] {
    if (!this.isCalledOff) return [];
    const gone = this.entries.flatMap(goneOf);
    this.records.clear();
    this.sums = [];
    for (const entry of this.entries) {
      entry.arrivals = (entry.arrivals ?? []).filter((arrival) => !gone.includes(arrival));
      this.fill(entry.arrivals);
    }
    return gone;
  }

  /** Of what was used, what the database has to be told: a slice that has lapsed is nobody's any more. */
  releases(): Portion[] {
    const sums = new Map<string, Nano>();
    for (const { slice, amount } of this.sums) {
      const { window, lapsed } = slice;
      if (window !== null && !lapsed) sums.set(window.id, (sums.get(window.id) ?? 0n) + amount);
    }
    return [...sums].map(([windowId, amount]) => ({ windowId, amount }));
  }

  /** Lets go those who wait for the commit. Answers how many of the records are in the journal. */
  arrived(): number {
    let journalled = 0;
    for (const { turn, count } of this.entries) {
      if (turn.journalled) journalled += count;
      turn.open -= count;
      if (turn.open === 0) turn.resolve();
    }
    return journalled;
  }

  /** To be filled again. */
  clear(): void {
    this.records.clear();
    this.sums = [];
    this.entries.length = 0;
    this.closed = false;
    this.left = null;
  }

  private fill(arrivals: readonly Arrival[]): void {
    for (const { slices, used } of arrivals) {
      for (let place = 0; place < slices.length; place += 1) this.use(slices[place]!, used[place]!);
    }
    this.records.add(arrivals.map(({ record }) => record));
  }

  /** The slice knows its sum: to look it up for every slice of every request takes longer than to add. */
  private use(slice: Slice, amount: Nano): void {
    const { sum } = slice;
    if (sum !== undefined && sum.among === this.sums) sum.amount += amount;
    else if (amount !== 0n) {
      slice.sum = { slice, among: this.sums, amount };
      this.sums.push(slice.sum);
    }
  }
}

const goneOf = ({ turn, arrivals }: Entry): readonly Arrival[] =>
  turn.expired && arrivals !== null ? arrivals.filter(({ isAcknowledged }) => !isAcknowledged) : [];
