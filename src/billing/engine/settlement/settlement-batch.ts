import type { WrittenRecord } from '../../../audit';
import { monotonicMs, type Nano } from '../../../kernel';
import type { Slice } from '../escrow/slice';
import type { SlicePortion } from '../store/money-store';
import type { TickAcknowledgement } from './tick-acknowledgement';

/** A settled request and what it used of each slice. */
export interface SettledRequest {
  readonly record: WrittenRecord;
  readonly slices: readonly Slice[];
  readonly used: readonly Nano[];
  readonly tick: TickAcknowledgement;
  /** Whether the caller already has a response: the record stays, even if its tick fails. */
  readonly isAcknowledged: boolean;
}

/** The settled requests of one transaction, and what they used of this node's slices. */
export class SettlementBatch {
  private requests: SettledRequest[] = [];
  readonly startedAt = monotonicMs();
  /** Set while the batch is in flight: later requests go into the next one. */
  isClosed = false;
  /** Records that are neither committed nor saved as refused; null until the database refuses a record. */
  unsettled: WrittenRecord[] | null = null;

  /** Journalled and other requests never share a batch: only the others can be withdrawn. */
  constructor(readonly isJournalled: boolean) {}

  get length(): number {
    return this.requests.length;
  }

  get records(): WrittenRecord[] {
    return this.requests.map(({ record }) => record);
  }

  add(requests: readonly SettledRequest[]): void {
    this.requests.push(...requests);
  }

  /**
   * Whether a caller was told that its request could not be recorded. A split batch is committed in part, so it cannot
   * be called off.
   */
  get isCalledOff(): boolean {
    return !this.isJournalled && this.unsettled === null && this.requests.some(isExpired);
  }

  /** Removes and returns the requests that must no longer be charged. */
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

  /**
   * Returns the portions that the database releases from escrow. Slices of a swept lease are left out: they belong to
   * other nodes.
   */
  releases(): SlicePortion[] {
    const sums = new Map<string, Nano>();
    for (const [{ window, hasLapsed }, amount] of this.used()) {
      if (window !== null && !hasLapsed) sums.set(window.id, (sums.get(window.id) ?? 0n) + amount);
    }
    return [...sums].map(([windowId, amount]) => ({ windowId, amount }));
  }

  acknowledge(): void {
    for (const { tick } of this.requests) {
      tick.uncommitted -= 1;
      if (tick.uncommitted === 0) tick.resolve();
    }
  }
}

const isExpired = ({ tick, isAcknowledged }: SettledRequest): boolean => tick.isExpired && !isAcknowledged;
