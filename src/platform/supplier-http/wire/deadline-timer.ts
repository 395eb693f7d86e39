import { type Listed, monotonicMs, SwapList } from '../../../kernel';

/** An entry with a deadline of its own, on the monotonic clock; Infinity while none is set. */
export interface Timed extends Listed {
  dueMs: number;
  onDue(): void;
}

/**
 * One timer for the deadlines of all calls. Thousands of calls a second end long before their deadlines, and a Node
 * timer for each would cost a good part of the call itself.
 */
export class DeadlineTimer {
  private readonly scheduled = new SwapList<Timed>();
  private timer: NodeJS.Timeout | undefined;
  private nextMs = Infinity;

  /** Calls `onDue` once after so many milliseconds; a second call replaces the deadline of the first. */
  schedule(one: Timed, milliseconds: number): void {
    const isNew = one.dueMs === Infinity;
    one.dueMs = monotonicMs() + milliseconds;
    if (isNew) this.scheduled.add(one);
    this.wakeAt(one.dueMs);
  }

  cancel(one: Timed): void {
    if (one.dueMs === Infinity) return;
    one.dueMs = Infinity;
    this.scheduled.remove(one);
  }

  private wakeAt(dueMs: number): void {
    if (dueMs >= this.nextMs) return;
    clearTimeout(this.timer);
    this.nextMs = dueMs;
    // The connections of open calls keep the process alive; the timer must not.
    this.timer = setTimeout(() => this.fireDue(), Math.max(0, dueMs - monotonicMs())).unref();
  }

  private fireDue(): void {
    this.nextMs = Infinity;
    // A timer may be a fraction of a millisecond early.
    const now = monotonicMs() + 1;
    const due: Timed[] = [];
    for (const one of this.scheduled.all()) {
      if (one.dueMs > now) this.wakeAt(one.dueMs);
      else due.push(one);
    }
    for (const one of due) {
      // An earlier one may have cancelled it.
      if (one.dueMs > now) continue;
      this.cancel(one);
      one.onDue();
    }
  }
}
