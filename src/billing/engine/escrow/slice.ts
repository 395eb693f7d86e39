import type { Nano } from '../../../kernel';
import { type LimitRef, scopeKey } from '../../scope';
import type { Drawn, Window } from '../store/money-store';

/**
 * This node's share of one limit: what it took out of the limit beforehand. `free` may be held by the next request,
 * `held` belongs to requests that run, `owed` to settled ones that are not committed yet. The three together are
 * `drawn`, the database's slice; it changes rarely and what is held with every request, so that is what is left over.
 */
export class Slice {
  readonly key: number;
  private drawnNow: Nano = 0n;
  private freeNow: Nano = 0n;
  private owed: Nano = 0n;
  /** The limit less the spending, as the database last reported it. */
  limitLeft: Nano = 0n;
  /** When the limit is whole again, as the database last reported it. */
  resetsAt = Infinity;
  /** The lease it belongs to was swept: nothing in it is ours any more. */
  lapsed = false;
  /** The database is asked again at this time after it had nothing to grant. */
  askAgainAt = 0;
  /** The last draw that was answered began then. */
  heardAt = -Infinity;
  /** This amount was too much for it then. */
  shortOf: Nano = 0n;
  /** The database had this beside all slices at the last draw. */
  poolLeft: Nano = 0n;
  /** Free money is handed back until this time, because another node starves. */
  recalledUntil = 0;
  /** The node that recalls comes first when both starve. */
  yields = false;
  /** New holds take another slice: whatever becomes free here is handed back. */
  isRetired = false;
  lastUsedAt = 0;
  lowWater: Nano = 0n;
  /** The limit was lowered below what is drawn: free money here goes back first. */
  overdrawn = false;
  private recentPace: Nano = 0n;
  /** Used to estimate the pace alone, so an approximation is enough. */
  private takenSince = 0;
  private measuredAt = 0;

  /** Without a window the scope has no limit, and holding costs nothing. */
  constructor(
    readonly ref: LimitRef,
    readonly window: Window | null,
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

  /** So much is left to be spent, as far as this node knows. */
  get spendable(): Nano {
    return this.limitLeft - this.owed;
  }

  /** The next request may hold this much. */
  get usable(): Nano {
    return this.overdrawn ? 0n : this.freeNow;
  }

  covers(amount: Nano): boolean {
    return this.window === null || (this.freeNow >= amount && !(this.overdrawn && amount > 0n));
  }

  /** `roughly` is the same amount as a number: fast, but not exact. */
  take(amount: Nano, roughly: number): void {
    if (this.window === null) return;
    this.freeNow -= amount;
    this.takenSince += roughly;
  }

  giveUp(amount: Nano): void {
    if (this.window !== null) this.freeNow += amount;
  }

  /**
   * A request cost `cost` and leaves `rest` of its hold. Returns how much of the slice that uses up. An excess over
   * the hold is taken from free money alone, since the rest belongs to other requests.
   */
  charge(cost: Nano, rest: Nano): Nano {
    if (this.window === null) return 0n;
    const free = this.freeNow + rest;
    const used = free < 0n ? cost + free : cost;
    this.freeNow = free < 0n ? 0n : free;
    this.owed += used;
    return used;
  }

  /** The reverse of `charge`: what was used up is free again. */
  uncharge(used: Nano): void {
    if (this.window === null) return;
    this.owed -= used;
    this.freeNow += used;
  }

  settled(used: Nano): void {
    this.owed -= used;
    this.drawnNow -= used;
  }

  /** So much more of the database's slice is ours to hold. */
  receive(amount: Nano): void {
    this.freeNow += amount;
    this.drawnNow += amount;
  }

  applyDraw(drawn: Drawn): void {
    if (drawn.granted !== null) this.receive(drawn.granted);
    this.limitLeft = drawn.limitLeft;
    this.resetsAt = drawn.resetsAt;
    this.overdrawn = drawn.poolLeft < 0n;
    this.poolLeft = this.overdrawn ? 0n : drawn.poolLeft;
  }

  /** Takes what is free out of the slice, to be handed back. */
  empty(keep: Nano = 0n): Nano {
    const portion = this.freeNow - keep;
    if (portion <= 0n) return 0n;
    this.receive(-portion);
    return portion;
  }

  /** It is the spending of two seconds at the recent pace. */
  twoSeconds(now: number): Nano {
    const elapsed = now - this.measuredAt;
    if (elapsed >= 250) {
      const pace = BigInt(Math.ceil((this.takenSince * 2_000) / elapsed));
      this.recentPace = pace > this.recentPace ? pace : (pace + this.recentPace) / 2n;
      this.takenSince = 0;
      this.measuredAt = now;
    }
    return this.recentPace;
  }
}
