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
 * Requests that cannot be held yet, in the order they came. All wait equally long, so the first also expires first;
 * only those whose answer is on its way from the database stay a little longer.
 */
export class WaitingLine {
  private waiters: Waiter[] = [];
  private readonly perScope = new Map<number, number>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly elapsed: () => number,
    /** The refusal for a waiter whose time is up; undefined while its answer is in flight. */
    private readonly expired: (waiter: Waiter) => Fault | undefined,
    private readonly most: number,
    /** A waiter whose answer is on its way stays so much longer. */
    private readonly longerMs: number,
  ) {}

  get length(): number {
    return this.waiters.length;
  }

  get full(): boolean {
    return this.waiters.length >= this.most;
  }

  [Symbol.iterator](): Iterator<Waiter> {
    return this.waiters[Symbol.iterator]();
  }

  waitsFor(key: number): boolean {
    return this.perScope.has(key);
  }

  /** So many wait for money of this scope. */
  countFor(key: number): number {
    return this.perScope.get(key) ?? 0;
  }

  add(waiter: Waiter): void {
    this.waiters.push(waiter);
    this.count(waiter, 1);
    this.watch();
  }

  /** Answers every waiter whose answer is known now; the others stay. */
  answer(answerOf: (waiter: Waiter) => Hold | Fault | undefined): void {
    if (this.waiters.length === 0) return;
    const staying: Waiter[] = [];
    for (const waiter of this.waiters) {
      const answer = answerOf(waiter);
      if (answer === undefined) {
        staying.push(waiter);
        continue;
      }
      this.count(waiter, -1);
      if (answer instanceof Error) waiter.reject(answer);
      else waiter.resolve(answer);
    }
    this.waiters = staying;
    if (staying.length === 0) this.unwatch();
  }

  /** Lets those go whose time is up. */
  expire(): void {
    const now = this.elapsed();
    this.answer((waiter) => (waiter.deadline <= now ? this.expired(waiter) : undefined));
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
      const end = deadline > now ? deadline : deadline + this.longerMs;
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
