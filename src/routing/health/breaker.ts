export interface BreakerOptions {
  readonly failures: number;
  /** The breaker also opens if most calls within this time fail. */
  readonly windowMs: number;
  /** First open time; each failed probe doubles it, up to the maximum. */
  readonly openMs: number;
  readonly maxOpenMs: number;
}

export const defaultBreakerOptions: BreakerOptions = {
  failures: 5,
  windowMs: 10_000,
  openMs: 5_000,
  maxOpenMs: 20_000,
};

const WINDOW_SLOTS = 10;
const MIN_WINDOW_CALLS = 20;
/** Jitter of the open time, so that nodes do not probe simultaneously. */
const JITTER = 0.2;
/** Minimum interval between attempts on an open lane if it is the only one. */
const LAST_LANE_INTERVAL_MS = 1_000;
/** Time after which a probe without a result no longer counts. */
const PROBE_DEADLINE_MS = 30_000;
/** Failure duration above which callers do not wait for the next probe, which might take as long. */
const SLOW_FAILURE_MS = 500;
/** Maximum number of callers that wait for one probe, since all of them return to the lane together. */
const MAX_WAITERS = 100;

export type BreakerState = 'closed' | 'open' | 'half-open';

/** The right to one attempt, returned with its result. Zero if it is no probe. */
export type Ticket = number;

/**
 * Opens after several consecutive failures, or if more than half of at least twenty calls within the window failed.
 * While open, one probe at a time tests the lane.
 */
export class Breaker {
  private consecutive = 0;
  private openMs: number;
  /** Time from which the next probe is allowed; null while closed. */
  private probeAt: number | null = null;
  private probe: { readonly ticket: Ticket; readonly since: number } | null = null;
  private lastTicket = 0;
  private triedAsLastAt = -Infinity;
  /** Time until which the supplier asked for no requests, even if the lane is healthy. */
  private pausedUntil = 0;
  private readonly calls = new Uint32Array(WINDOW_SLOTS);
  private readonly failures = new Uint32Array(WINDOW_SLOTS);
  private slotStart = 0;
  /** No caller waits for a probe until then, because the last failure was slow. */
  private slowUntil = -Infinity;
  private readonly waiters = new Set<() => void>();

  constructor(
    private options: BreakerOptions = defaultBreakerOptions,
    private readonly random: () => number = Math.random,
  ) {
    this.openMs = options.openMs;
  }

  /** A pause requested by the supplier does not count as open. */
  get isClosed(): boolean {
    return this.probeAt === null;
  }

  reconfigure(options: BreakerOptions): void {
    if (options === this.options) return;
    if (options.windowMs !== this.options.windowMs) this.resetCounts();
    this.options = options;
    this.openMs = Math.min(Math.max(this.openMs, options.openMs), options.maxOpenMs);
  }

  state(now: number): BreakerState {
    if (now < this.pausedUntil) return 'open';
    if (this.probeAt === null) return 'closed';
    return now < this.probeAt || this.isProbing(now) ? 'open' : 'half-open';
  }

  isPaused(now: number): boolean {
    return this.probeAt === null && now < this.pausedUntil;
  }

  /** Earliest attempt if there is no other lane; used for Retry-After. */
  nextTryAt(now: number): number {
    const lastLaneTryAt = Math.max(now, this.triedAsLastAt + LAST_LANE_INTERVAL_MS);
    return Math.max(now, this.pausedUntil, Math.min(this.probeAt ?? 0, lastLaneTryAt));
  }

  /** Takes the right to an attempt; null if the lane is open. A half-open lane allows one caller at a time. */
  tryAcquire(now: number): Ticket | null {
    const state = this.state(now);
    if (state === 'closed') return 0;
    return state === 'open' ? null : this.beginProbe(now);
  }

  /** Allows one caller per second on an open lane, so that not every caller is refused. */
  tryAsLast(now: number): Ticket | null {
    if (now < this.pausedUntil || now - this.triedAsLastAt < LAST_LANE_INTERVAL_MS) return null;
    this.triedAsLastAt = now;
    return this.beginProbe(now);
  }

  /**
   * Calls `wake` when the current probe has ended. Null if there is none, it might be slow, or too many callers wait.
   */
  waitForProbe(now: number, wake: () => void): (() => void) | null {
    if (!this.isProbing(now) || now < this.slowUntil || this.waiters.size >= MAX_WAITERS) return null;
    this.waiters.add(wake);
    return () => this.waiters.delete(wake);
  }

  /** A response has started: closes the breaker, although a failure of this response can open it again. */
  responseStarted(ticket: Ticket): void {
    // A success of a slow probe counts, even if another probe followed it.
    if (this.probeAt !== null && ticket !== 0) {
      this.probeAt = null;
      this.resetCounts();
      this.endProbe();
    }
    this.endProbeOf(ticket);
  }

  success(now: number): void {
    this.count(now, false);
    if (this.probeAt !== null) return;
    this.consecutive = 0;
    this.openMs = this.options.openMs;
  }

  failure(now: number, ticket: Ticket, milliseconds = 0): void {
    this.count(now, true);
    this.slowUntil = milliseconds < SLOW_FAILURE_MS ? -Infinity : now + this.options.maxOpenMs;
    this.consecutive += 1;
    if (this.probeAt === null) {
      if (this.consecutive >= this.options.failures || this.failsMostly())
        this.probeAt = now + this.nextOpenMs();
    } else if (this.owns(ticket)) {
      // Only the probe counts; other calls were sent before the breaker opened.
      this.openMs = Math.min(this.openMs * 2, this.options.maxOpenMs);
      this.probeAt = now + this.nextOpenMs();
    }
    this.endProbeOf(ticket);
  }

  /** The call ended without a result for the lane: a client error or a disconnected caller. */
  neutral(ticket: Ticket): void {
    this.endProbeOf(ticket);
  }

  pause(until: number): void {
    this.pausedUntil = Math.max(this.pausedUntil, until);
  }

  private beginProbe(now: number): Ticket {
    this.lastTicket += 1;
    this.probe = { ticket: this.lastTicket, since: now };
    return this.lastTicket;
  }

  private owns(ticket: Ticket): boolean {
    return this.probe !== null && this.probe.ticket === ticket;
  }

  private endProbeOf(ticket: Ticket): void {
    if (this.owns(ticket)) this.endProbe();
  }

  private endProbe(): void {
    this.probe = null;
    const waiting = [...this.waiters];
    this.waiters.clear();
    for (const wake of waiting) wake();
  }

  private nextOpenMs(): number {
    return Math.round(this.openMs * (1 - JITTER + 2 * JITTER * this.random()));
  }

  private resetCounts(): void {
    this.calls.fill(0);
    this.failures.fill(0);
  }

  private isProbing(now: number): boolean {
    return this.probe !== null && now - this.probe.since < PROBE_DEADLINE_MS;
  }

  private count(now: number, failed: boolean): void {
    const slotMs = this.options.windowMs / WINDOW_SLOTS;
    const slot = Math.floor(now / slotMs);
    const passed = Math.min(slot - this.slotStart, WINDOW_SLOTS);
    for (let step = 1; step <= passed; step += 1) {
      this.calls[(this.slotStart + step) % WINDOW_SLOTS] = 0;
      this.failures[(this.slotStart + step) % WINDOW_SLOTS] = 0;
    }
    this.slotStart = slot;
    this.calls[slot % WINDOW_SLOTS]! += 1;
    if (failed) this.failures[slot % WINDOW_SLOTS]! += 1;
  }

  private failsMostly(): boolean {
    const calls = this.calls.reduce((sum, count) => sum + count, 0);
    const failures = this.failures.reduce((sum, count) => sum + count, 0);
    return calls >= MIN_WINDOW_CALLS && failures * 2 > calls;
  }
}
