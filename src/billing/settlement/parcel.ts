import { RecordSheaf, type WrittenRecord } from '../../audit';
import type { Nano } from '../../kernel';
import type { Slice, Used } from '../escrow/slice';
import type { Portion } from '../store/money-store';
import type { Turn } from './turn';

/** A settled request, and what it used up of which slices. */
export interface Arrival {
  readonly record: WrittenRecord;
  readonly slices: readonly Slice[];
  readonly used: readonly Nano[];
}

/** Settled requests that one transaction takes, and what they use up of this node's slices. */
export class Parcel {
  readonly records = new RecordSheaf();
  private sums: Used[] = [];
  private readonly turns: { readonly turn: Turn; readonly count: number }[] = [];
  /** On its way: what comes now goes with the next. */
  closed = false;
  /** Once the database refused some of the records: those that are neither committed nor set aside. */
  left: WrittenRecord[] | null = null;

  get used(): readonly Used[] {
    return this.sums;
  }

  /** Answers the texts of the records, for the journal. */
  add(arrivals: readonly Arrival[], turn: Turn): string {
    for (const { slices, used } of arrivals) {
      for (let place = 0; place < slices.length; place += 1) this.use(slices[place]!, used[place]!);
    }
    this.turns.push({ turn, count: arrivals.length });
    return this.records.add(arrivals.map(({ record }) => record));
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
    for (const { turn, count } of this.turns) {
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
    this.turns.length = 0;
    this.closed = false;
    this.left = null;
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
