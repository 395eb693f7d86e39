import { MINUTE_MS } from '../../kernel';
import { CallLog } from './call-log';
import type { RateWindow, Reading } from './reading';

const SWEEP_MS = MINUTE_MS;

/**
 * A sliding log: a call is admitted when fewer than `limit` calls are in the last window. So no window of a minute,
 * wherever it begins, exceeds the limit, and bursts up to the limit pass. Refused calls do not count. A call costs
 * constant time; memory is some five bytes a call of the last window.
 */
export class LocalWindows {
  private readonly logs = new Map<string, CallLog>();
  private sweptAt = -Infinity;
  private longestMs = 0;

  constructor(private readonly mostKeys = 200_000) {}

  get size(): number {
    return this.logs.size;
  }

  take(window: RateWindow, now: number): Reading {
    const log = this.logOf(window, now);
    const allowed = log.size < window.limit;
    if (allowed) log.add(now);
    return readingOf(log, window, now, allowed);
  }

  /** It does the same as `take`, without counting. */
  look(window: RateWindow, now: number): Reading {
    const log = this.logs.get(window.key) ?? new CallLog(window.windowMs);
    log.dropUntil(now - window.windowMs);
    return readingOf(log, window, now, log.size < window.limit);
  }

  /** Counts a call that another node let in. */
  note(window: RateWindow, now: number): void {
    this.logOf(window, now).add(now);
  }

  private logOf({ key, windowMs }: RateWindow, now: number): CallLog {
    this.longestMs = Math.max(this.longestMs, windowMs);
    this.sweep(now);
    let log = this.logs.get(key);
    if (log === undefined) {
      if (this.logs.size >= this.mostKeys) this.dropFirst();
      log = new CallLog(windowMs);
      this.logs.set(key, log);
    }
    log.dropUntil(now - windowMs);
    return log;
  }

  private dropFirst(): void {
    const first = this.logs.keys().next();
    if (!first.done) this.logs.delete(first.value);
  }

  private sweep(now: number): void {
    if (now - this.sweptAt < SWEEP_MS) return;
    this.sweptAt = now;
    for (const [key, log] of this.logs) if (log.newest <= now - this.longestMs) this.logs.delete(key);
  }
}

function readingOf(log: CallLog, { limit, windowMs }: RateWindow, now: number, allowed: boolean): Reading {
  const used = log.size;
  return {
    allowed,
    limit,
    used,
    // In this order, a call at this very moment sees exactly one window before it.
    resetMs: used === 0 ? 0 : windowMs - (now - log.newest),
    retryMs: used < limit ? 0 : windowMs - (now - log.at(used - limit)),
  };
}
