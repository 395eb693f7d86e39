import { MINUTE_MS } from '../../kernel';
import type { RateReading } from './rate-reading';

export interface TokenWindow {
  readonly key: string;
  readonly limit: number;
  readonly windowMs: number;
}

export interface TokenReading extends RateReading {
  /** Id under which tokens were taken, if any. */
  readonly id: string;
}

interface TokenEntry {
  readonly id: string;
  readonly at: number;
  tokens: number;
}

/**
 * Tokens that calls took within the last window, the oldest leaving first. An amount can be corrected while it counts.
 */
export class TokenLog {
  private entries: TokenEntry[] = [];
  private first = 0;
  private readonly byId = new Map<string, TokenEntry>();
  used = 0;

  get newest(): number {
    return this.byId.size === 0 ? -Infinity : this.entries.at(-1)!.at;
  }

  add(id: string, tokens: number, at: number): void {
    const entry = { id, at, tokens };
    this.entries.push(entry);
    this.byId.set(id, entry);
    this.used += tokens;
  }

  correct(id: string, tokens: number): void {
    const entry = this.byId.get(id);
    if (entry === undefined) return;
    this.used += tokens - entry.tokens;
    entry.tokens = tokens;
  }

  dropUntil(moment: number): void {
    while (this.first < this.entries.length && this.entries[this.first]!.at <= moment) {
      const { id, tokens } = this.entries[this.first]!;
      this.used -= tokens;
      this.byId.delete(id);
      this.first += 1;
    }
    if (this.first < 64 || this.first * 2 < this.entries.length) return;
    this.entries = this.entries.slice(this.first);
    this.first = 0;
  }

  /**
   * Returns the time of the entry whose leaving makes room for the tokens, -Infinity if they fit now, or null if they
   * never fit.
   */
  fitsAt(tokens: number, limit: number): number | null {
    let remaining = this.used;
    if (remaining + tokens <= limit) return -Infinity;
    for (let index = this.first; index < this.entries.length; index += 1) {
      const entry = this.entries[index]!;
      remaining -= entry.tokens;
      if (remaining + tokens <= limit) return entry.at;
    }
    return null;
  }
}

const SWEEP_MS = MINUTE_MS;

/** Sums of tokens in process, by the same rule as calls: never more than the limit in any window. */
export class LocalTokens {
  private readonly logs = new Map<string, TokenLog>();
  private sweptAt = -Infinity;

  get size(): number {
    return this.logs.size;
  }

  take(window: TokenWindow, id: string, tokens: number, now: number): TokenReading {
    const log = this.logOf(window, now);
    const allowed = log.used + tokens <= window.limit;
    const retryMs = allowed ? 0 : retryOf(log, window, tokens, now);
    if (allowed) log.add(id, tokens, now);
    return { ...toReading(log, window, now), allowed, retryMs, id };
  }

  peek(window: TokenWindow, now: number): RateReading {
    const log = this.logs.get(window.key) ?? new TokenLog();
    log.dropUntil(now - window.windowMs);
    const { limit } = window;
    return {
      ...toReading(log, window, now),
      allowed: log.used < limit,
      retryMs: retryOf(log, window, 1, now),
    };
  }

  /** Counts tokens that the shared count admitted. */
  record(window: TokenWindow, id: string, tokens: number, now: number): void {
    this.logOf(window, now).add(id, tokens, now);
  }

  correct({ key }: TokenWindow, id: string, tokens: number): void {
    this.logs.get(key)?.correct(id, tokens);
  }

  private logOf({ key, windowMs }: TokenWindow, now: number): TokenLog {
    this.sweep(now, windowMs);
    let log = this.logs.get(key);
    if (log === undefined) this.logs.set(key, (log = new TokenLog()));
    log.dropUntil(now - windowMs);
    return log;
  }

  private sweep(now: number, windowMs: number): void {
    if (now - this.sweptAt < SWEEP_MS) return;
    this.sweptAt = now;
    for (const [key, log] of this.logs) if (log.newest <= now - windowMs) this.logs.delete(key);
  }
}

const toReading = (
  log: TokenLog,
  { limit, windowMs }: TokenWindow,
  now: number,
): Pick<RateReading, 'limit' | 'used' | 'resetMs'> => ({
  limit,
  used: log.used,
  resetMs: log.used === 0 ? 0 : windowMs - (now - log.newest),
});

function retryOf(log: TokenLog, { limit, windowMs }: TokenWindow, tokens: number, now: number): number {
  const at = log.fitsAt(tokens, limit);
  return at === null ? windowMs : Math.max(0, windowMs - (now - at));
}
