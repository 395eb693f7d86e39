import { type SwapListMember, monotonicMs, SwapList } from '../../../kernel';

/** An entry with a deadline of its own, on the monotonic clock; Infinity while none is set. */
export interface TimedEntry extends SwapListMember {
  dueMs: number;
  onDue(): void;
}

/**
 * A single timer for the deadlines of all calls. Thousands of calls per second end long before their deadlines, and a
 * Node timer for each would be expensive.
 */
export class DeadlineTimer {
  private readonly scheduled = new SwapList<TimedEntry>();
  private timer: NodeJS.Timeout | undefined;
  private nextMs = Infinity;

  /** Calls `onDue` once after the time; a second call replaces the deadline of the first. */
  schedule(entry: TimedEntry, milliseconds: number): void {
    const isNew = entry.dueMs === Infinity;
    entry.dueMs = monotonicMs() + milliseconds;
    if (isNew) this.scheduled.add(entry);
    this.wakeAt(entry.dueMs);
  }

  cancel(entry: TimedEntry): void {
    if (entry.dueMs === Infinity) return;
    entry.dueMs = Infinity;
    this.scheduled.remove(entry);
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
    // A timer can be a fraction of a millisecond early.
    const now = monotonicMs() + 1;
    const due: TimedEntry[] = [];
    for (const entry of this.scheduled.all()) {
      if (entry.dueMs > now) this.wakeAt(entry.dueMs);
      else due.push(entry);
    }
    for (const entry of due) {
      // An earlier entry might have cancelled this one.
      if (entry.dueMs > now) continue;
      this.cancel(entry);
      entry.onDue();
    }
  }
}
