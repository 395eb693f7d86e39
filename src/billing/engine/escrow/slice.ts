import type { Nano } from '../../../kernel';
import { type LimitRef, scopeKey } from '../../scope';
import type { DrawResult, SpendingWindow } from '../store/money-store';

/**
 * Share of one limit that this node drew beforehand. `free` is available, `held` belongs to running requests, and
 * `owed` to settled ones that are not committed. Together they are `drawn`, which changes rarely; `held` changes with
 * every request, so it is computed.
 */
export class Slice {
  readonly key: number;
  private drawnNow: Nano = 0n;
  private freeNow: Nano = 0n;
  private owed: Nano = 0n;
  /** Limit minus spending, as last reported by the database. */
  limitLeft: Nano = 0n;
  /** Time when the full limit is available again, as last reported by the database. */
  resetsAt = Infinity;
  /** Set when the slice's lease was swept: nothing in the slice belongs to this node any more. */
  hasLapsed = false;
  /** Time of the next draw after the database had nothing to grant. */
  retryAt = 0;
  /** Start time of the last draw that got a response. */
  lastDrawAt = -Infinity;
  /** Amount that the last draw could not grant. */
  refusedAmount: Nano = 0n;
  /** Amount that the pool had left outside all slices at the last draw. */
  poolLeft: Nano = 0n;
  /** Free money is handed back until this time, because another node has none. */
  recalledUntil = 0;
  /** Whether the recalling node takes precedence when both have none. */
  shouldYield = false;
  /** New holds use another slice: whatever becomes free here is handed back. */
  isRetired = false;
  lastUsedAt = 0;
  lowWater: Nano = 0n;
  /** Set when the limit was lowered below the drawn amount: free money is handed back first. */
  isOverdrawn = false;
  private recentPace: Nano = 0n;
  /** Used only to estimate the pace, so an approximation is enough. */
  private takenSinceMeasured = 0;
  private measuredAt = 0;

  /** Without a window the scope has no limit, and holds cost nothing. */
  constructor(
    readonly ref: LimitRef,
    readonly window: SpendingWindow | null,
    now: number,
  ) {
    this.key = scopeKey(ref);
    this.measuredAt = now;
    this.lastUsedAt = now;
  }

  get drawn(): Nano {
    return this.drawnNow;
  }

  get free(): Nano {
    return this.freeNow;
  }

  get held(): Nano {
    return this.drawnNow - this.freeNow - this.owed;
  }

  get spendable(): Nano {
    return this.limitLeft - this.owed;
  }

  get usable(): Nano {
    return this.isOverdrawn ? 0n : this.freeNow;
  }

  covers(amount: Nano): boolean {
    return this.window === null || (this.freeNow >= amount && !(this.isOverdrawn && amount > 0n));
  }

  /** `approximate` is the amount as a number: fast, but not exact. */
  take(amount: Nano, approximate: number): void {
    if (this.window === null) return;
    this.freeNow -= amount;
    this.takenSinceMeasured += approximate;
  }

  release(amount: Nano): void {
    if (this.window !== null) this.freeNow += amount;
  }

  /**
   * Charges a cost that leaves `rest` of the hold. Returns how much of the slice is used up; an excess over the hold is
   * taken only from free money, since the rest belongs to other requests.
   */
  charge(cost: Nano, rest: Nano): Nano {
    if (this.window === null) return 0n;
    const free = this.freeNow + rest;
    const used = free < 0n ? cost + free : cost;
    this.freeNow = free < 0n ? 0n : free;
    this.owed += used;
    return used;
  }

  uncharge(used: Nano): void {
    if (this.window === null) return;
    this.owed -= used;
    this.freeNow += used;
  }

  markSettled(used: Nano): void {
    this.owed -= used;
    this.drawnNow -= used;
  }

  receive(amount: Nano): void {
    this.freeNow += amount;
    this.drawnNow += amount;
  }

  applyDraw(drawn: DrawResult): void {
    if (drawn.granted !== null) this.receive(drawn.granted);
    this.limitLeft = drawn.limitLeft;
    this.resetsAt = drawn.resetsAt;
    this.isOverdrawn = drawn.poolLeft < 0n;
    this.poolLeft = this.isOverdrawn ? 0n : drawn.poolLeft;
  }

  /** Takes the free money, except for `keep`, out of the slice to hand it back. */
  takeFree(keep: Nano = 0n): Nano {
    const portion = this.freeNow - keep;
    if (portion <= 0n) return 0n;
    this.receive(-portion);
    return portion;
  }

  twoSecondSpending(now: number): Nano {
    const elapsed = now - this.measuredAt;
    if (elapsed >= 250) {
      const pace = BigInt(Math.ceil((this.takenSinceMeasured * 2_000) / elapsed));
      this.recentPace = pace > this.recentPace ? pace : (pace + this.recentPace) / 2n;
      this.takenSinceMeasured = 0;
      this.measuredAt = now;
    }
    return this.recentPace;
  }
}
