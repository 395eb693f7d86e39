import { MINUTE_MS } from '../../kernel';
import { CallLog } from './call-log';
import type { RateWindow, RateReading } from './rate-reading';

const SWEEP_MS = MINUTE_MS;

/**
 * Sliding log: a call is admitted if the last window contains fewer than `limit` calls. No window, wherever it starts,
 * exceeds the limit, and refused calls do not count. A call costs constant time; memory is about five bytes per call.
 */
export class LocalWindows {
  private readonly logs = new Map<string, CallLog>();
  private sweptAt = -Infinity;
  private maxWindowMs = 0;

  constructor(private readonly maxKeys = 200_000) {}

  get size(): number {
    return this.logs.size;
  }

  take(window: RateWindow, now: number): RateReading {
    const log = this.logOf(window, now);
    const allowed = log.size < window.limit;
    if (allowed) log.add(now);
    return toReading(log, window, now, allowed);
  }

  /** Returns the reading that `take` would return, without counting. */
  peek(window: RateWindow, now: number): RateReading {
    const log = this.logs.get(window.key) ?? new CallLog(window.windowMs);
    log.dropUntil(now - window.windowMs);
    return toReading(log, window, now, log.size < window.limit);
  }

  /** Counts a call that another node admitted. */
  record(window: RateWindow, now: number): void {
    this.logOf(window, now).add(now);
  }

  private logOf({ key, windowMs }: RateWindow, now: number): CallLog {
    this.maxWindowMs = Math.max(this.maxWindowMs, windowMs);
    this.sweep(now);
    let log = this.logs.get(key);
    if (log === undefined) {
      if (this.logs.size >= this.maxKeys) this.dropFirst();
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
    for (const [key, log] of this.logs) if (log.newest <= now - this.maxWindowMs) this.logs.delete(key);
  }
}

function toReading(
  log: CallLog,
  { limit, windowMs }: RateWindow,
  now: number,
  allowed: boolean,
): RateReading {
  const used = log.size;
  return {
    allowed,
    limit,
    used,
    // Evaluated in this order, a call at this exact moment sees one complete window before it.
    resetMs: used === 0 ? 0 : windowMs - (now - log.newest),
    retryMs: used < limit ? 0 : windowMs - (now - log.at(used - limit)),
  };
}
