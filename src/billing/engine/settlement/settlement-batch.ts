import type { WrittenRecord } from '../../../audit';
import { monotonicMs, type Nano } from '../../../kernel';
import type { Slice } from '../escrow/slice';
import type { Portion } from '../store/money-store';
import type { TickAcknowledgement } from './tick-acknowledgement';

/** A settled request and what it used of each slice. */
export interface SettledRequest {
  readonly record: WrittenRecord;
  readonly slices: readonly Slice[];
  readonly used: readonly Nano[];
  readonly tick: TickAcknowledgement;
  /** Its caller was answered: the record stays, even if its tick fails. */
  readonly isAcknowledged: boolean;
}

/** The settled requests of one transaction, and what they used of this node's slices. */
export class SettlementBatch {
  private requests: SettledRequest[] = [];
  readonly begunAt = monotonicMs();
  /** A closed batch is in flight: later requests go into the next one. */
  closed = false;
  /** After the database refused a record, these are neither committed nor set aside. */
  unsettled: WrittenRecord[] | null = null;

  /** Journalled requests and others never share a batch: only the others may be withdrawn. */
  constructor(readonly journalled: boolean) {}

  get length(): number {
    return this.requests.length;
  }

  get records(): WrittenRecord[] {
    return this.requests.map(({ record }) => record);
  }

  add(requests: readonly SettledRequest[]): void {
    this.requests.push(...requests);
  }

  /** A caller was told that its request could not be recorded. A split batch is committed in part. */
  get isCalledOff(): boolean {
    return !this.journalled && this.unsettled === null && this.requests.some(isExpired);
  }

  /** Removes and answers the requests that must not be charged any more. */
  withdraw(): SettledRequest[] {
    if (!this.isCalledOff) return [];
    const expired = this.requests.filter(isExpired);
    this.requests = this.requests.filter((request) => !isExpired(request));
    return expired;
  }

  used(): Map<Slice, Nano> {
    const sums = new Map<Slice, Nano>();
    for (const { slices, used } of this.requests) {
      slices.forEach((slice, index) => {
        const amount = used[index] ?? 0n;
        if (amount !== 0n) sums.set(slice, (sums.get(slice) ?? 0n) + amount);
      });
    }
    return sums;
  }

  /** The database releases these portions from escrow. Nothing of a swept lease: its slices belong to others. */
  releases(): Portion[] {
    const sums = new Map<string, Nano>();
    for (const [{ window, lapsed }, amount] of this.used()) {
      if (window !== null && !lapsed) sums.set(window.id, (sums.get(window.id) ?? 0n) + amount);
    }
    return [...sums].map(([windowId, amount]) => ({ windowId, amount }));
  }

  /** Answers the callers that wait for the commit. */
  acknowledge(): void {
    for (const { tick } of this.requests) {
      tick.uncommitted -= 1;
      if (tick.uncommitted === 0) tick.resolve();
    }
  }
}

const isExpired = ({ tick, isAcknowledged }: SettledRequest): boolean => tick.expired && !isAcknowledged;
