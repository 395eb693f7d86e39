import { Breaker, type BreakerState, type BreakerTerms } from './breaker';
import type { LaneRoute } from './lane-facts';

/** So many keys at most have a breaker of their own; the one that has had it longest loses it. */
const MOST_KEYS = 1_000;
/** A lane that so many doubt is open by any terms. */
const MOST_DOUBTERS = 1_000;

const severity: Record<BreakerState, number> = { closed: 0, 'half-open': 1, open: 2 };

const worse = (one: BreakerState, other: BreakerState): BreakerState =>
  severity[other] > severity[one] ? other : one;

/** This node has lately seen this of one lane: as a whole, and by the keys whose requests it failed. */
export class WatchedLane {
  readonly breaker: Breaker;
  /** They stand for keys whose requests failed in a way that the requests themselves may have caused. */
  readonly own = new Map<number, Breaker>();
  /** The owners whose failures have counted since the lane last answered. */
  readonly failedOwners = new Set<string>();
  latency: number | null = null;
  measuredAt = -Infinity;

  constructor(
    readonly route: LaneRoute,
    private terms: BreakerTerms,
    /** It stands for our account at the supplier, which all of its lanes share. */
    public account: Breaker = new Breaker(terms),
  ) {
    this.breaker = new Breaker(terms);
  }

  follow(terms: BreakerTerms): void {
    if (terms === this.terms) return;
    this.terms = terms;
    this.breaker.follow(terms);
    for (const breaker of this.own.values()) breaker.follow(terms);
  }

  /** It is the state as it is to every key. */
  stateOfAll(now: number): BreakerState {
    return worse(this.breaker.state(now), this.account.state(now));
  }

  stateFor(keyId: number, now: number): BreakerState {
    const shared = this.stateOfAll(now);
    const own = this.ownOf(keyId)?.state(now);
    return own === undefined ? shared : worse(shared, own);
  }

  /** Most lanes have no failures. */
  ownOf(keyId: number): Breaker | undefined {
    return this.own.size === 0 ? undefined : this.own.get(keyId);
  }

  nextTryAt(keyId: number, now: number): number {
    const own = this.own.get(keyId)?.nextTryAt(now) ?? now;
    return Math.max(this.breaker.nextTryAt(now), this.account.nextTryAt(now), own);
  }

  waitForProbe(keyId: number, now: number, wake: () => void): (() => void) | null {
    const { breaker, account } = this;
    const own = this.own.get(keyId);
    return (
      breaker.waitForProbe(now, wake) ??
      account.waitForProbe(now, wake) ??
      own?.waitForProbe(now, wake) ??
      null
    );
  }

  breakerFor(keyId: number): Breaker {
    let breaker = this.own.get(keyId);
    if (breaker !== undefined) return breaker;
    if (this.own.size >= MOST_KEYS) this.own.delete(this.own.keys().next().value!);
    this.own.set(keyId, (breaker = new Breaker(this.terms)));
    return breaker;
  }

  isFirstDoubt(owner: string): boolean {
    if (this.failedOwners.has(owner)) return false;
    if (this.failedOwners.size >= MOST_DOUBTERS) this.failedOwners.clear();
    this.failedOwners.add(owner);
    return true;
  }
}
