import { Breaker, type BreakerState, type BreakerOptions } from './breaker';
import type { LaneRoute } from './lane-types';

const MAX_KEY_BREAKERS = 1_000;
/** Maximum number of remembered owners; a lane that fails for that many is open anyway. */
const MAX_FAILED_OWNERS = 1_000;

const severity: Record<BreakerState, number> = { closed: 0, 'half-open': 1, open: 2 };

const worseOf = (one: BreakerState, other: BreakerState): BreakerState =>
  severity[other] > severity[one] ? other : one;

export class WatchedLane {
  readonly breaker: Breaker;
  /** Breakers of keys whose requests can have caused their failures themselves. */
  readonly keyBreakers = new Map<number, Breaker>();
  /** Owners whose failures have counted since the last response of the lane. */
  readonly failedOwners = new Set<string>();
  latency: number | null = null;
  measuredAt = -Infinity;

  constructor(
    readonly route: LaneRoute,
    private options: BreakerOptions,
    /** The breaker of the operator's account at the supplier, shared by all of its lanes. */
    public account: Breaker = new Breaker(options),
  ) {
    this.breaker = new Breaker(options);
  }

  reconfigure(options: BreakerOptions): void {
    if (options === this.options) return;
    this.options = options;
    this.breaker.reconfigure(options);
    for (const breaker of this.keyBreakers.values()) breaker.reconfigure(options);
  }

  sharedState(now: number): BreakerState {
    return worseOf(this.breaker.state(now), this.account.state(now));
  }

  stateFor(keyId: number, now: number): BreakerState {
    const shared = this.sharedState(now);
    const keyState = this.keyBreakerOf(keyId)?.state(now);
    return keyState === undefined ? shared : worseOf(shared, keyState);
  }

  /** Optimised for lanes without failures, which most are. */
  keyBreakerOf(keyId: number): Breaker | undefined {
    return this.keyBreakers.size === 0 ? undefined : this.keyBreakers.get(keyId);
  }

  nextTryAt(keyId: number, now: number): number {
    const keyTryAt = this.keyBreakers.get(keyId)?.nextTryAt(now) ?? now;
    return Math.max(this.breaker.nextTryAt(now), this.account.nextTryAt(now), keyTryAt);
  }

  waitForProbe(keyId: number, now: number, wake: () => void): (() => void) | null {
    const { breaker, account } = this;
    const keyBreaker = this.keyBreakers.get(keyId);
    return (
      breaker.waitForProbe(now, wake) ??
      account.waitForProbe(now, wake) ??
      keyBreaker?.waitForProbe(now, wake) ??
      null
    );
  }

  breakerFor(keyId: number): Breaker {
    let breaker = this.keyBreakers.get(keyId);
    if (breaker !== undefined) return breaker;
    if (this.keyBreakers.size >= MAX_KEY_BREAKERS)
      this.keyBreakers.delete(this.keyBreakers.keys().next().value!);
    this.keyBreakers.set(keyId, (breaker = new Breaker(this.options)));
    return breaker;
  }

  addFailedOwner(owner: string): boolean {
    if (this.failedOwners.has(owner)) return false;
    if (this.failedOwners.size >= MAX_FAILED_OWNERS) this.failedOwners.clear();
    this.failedOwners.add(owner);
    return true;
  }
}
