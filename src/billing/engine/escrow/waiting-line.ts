import { scopeKey } from '../../scope';
import type { Fault } from '../../../kernel';
import type { Hold, HoldRequest } from './hold';

export interface Waiter {
  readonly request: HoldRequest;
  readonly deadline: number;
  readonly resolve: (hold: Hold) => void;
  readonly reject: (refusal: Fault) => void;
}

/**
 * Requests that cannot be held yet, in order of arrival. All wait equally long, so the first expires first; only those
 * with a draw in flight stay a little longer.
 */
export class WaitingLine {
  private waiters: Waiter[] = [];
  private readonly perScope = new Map<number, number>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly elapsed: () => number,
    /** Returns the refusal for a waiter whose time is up; undefined while its draw is in flight. */
    private readonly refusalFor: (waiter: Waiter) => Fault | undefined,
    private readonly maxWaiters: number,
    /** Additional wait of a waiter whose draw is in flight. */
    private readonly extraWaitMs: number,
  ) {}

  get length(): number {
    return this.waiters.length;
  }

  get isFull(): boolean {
    return this.waiters.length >= this.maxWaiters;
  }

  [Symbol.iterator](): Iterator<Waiter> {
    return this.waiters[Symbol.iterator]();
  }

  hasWaiters(key: number): boolean {
    return this.perScope.has(key);
  }

  countFor(key: number): number {
    return this.perScope.get(key) ?? 0;
  }

  add(waiter: Waiter): void {
    this.waiters.push(waiter);
    this.count(waiter, 1);
    this.watch();
  }

  /** Resolves or rejects every waiter that has an outcome now; the others stay. */
  resolveEach(outcomeOf: (waiter: Waiter) => Hold | Fault | undefined): void {
    if (this.waiters.length === 0) return;
    const remaining: Waiter[] = [];
    for (const waiter of this.waiters) {
      const outcome = outcomeOf(waiter);
      if (outcome === undefined) {
        remaining.push(waiter);
        continue;
      }
      this.count(waiter, -1);
      if (outcome instanceof Error) waiter.reject(outcome);
      else waiter.resolve(outcome);
    }
    this.waiters = remaining;
    if (remaining.length === 0) this.unwatch();
  }

  expire(): void {
    const now = this.elapsed();
    this.resolveEach((waiter) => (waiter.deadline <= now ? this.refusalFor(waiter) : undefined));
  }

  private count(waiter: Waiter, change: 1 | -1): void {
    for (const ref of waiter.request.refs) {
      const key = scopeKey(ref);
      const count = (this.perScope.get(key) ?? 0) + change;
      if (count === 0) this.perScope.delete(key);
      else this.perScope.set(key, count);
    }
  }

  private watch(): void {
    if (this.waiters.length === 0 || this.timer !== undefined) return;
    const now = this.elapsed();
    const next = this.waiters.reduce((soonest, { deadline }) => {
      const end = deadline > now ? deadline : deadline + this.extraWaitMs;
      return end < soonest ? end : soonest;
    }, Infinity);
    this.timer = setTimeout(
      () => {
        this.timer = undefined;
        this.expire();
        this.watch();
      },
      Math.max(1, Math.ceil(next - now)),
    );
  }

  private unwatch(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }
}
