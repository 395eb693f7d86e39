/** They say when a lane's breaker opens, and how long the lane then rests. */
export interface BreakerTerms {
  /** So many failures in a row open it. */
  readonly failures: number;
  /** It opens as well when most of the calls within this time failed. */
  readonly windowMs: number;
  /** The first rest; each failed probe doubles it, up to the longest. */
  readonly restMs: number;
  readonly longestRestMs: number;
}

export const usualTerms: BreakerTerms = {
  failures: 5,
  windowMs: 10_000,
  restMs: 5_000,
  longestRestMs: 20_000,
};

const WINDOW_SLOTS = 10;
/** Fewer calls than this in a window say nothing about how many fail. */
const WINDOW_CALLS = 20;
/** Jitter of the rests: otherwise every node would probe at the same moment. */
const JITTER = 0.2;
/** A lane may be tried so often all the same when there is no other. */
const LAST_LANE_INTERVAL_MS = 1_000;
/** A probe that never came back no longer counts after this. */
const PROBE_DEADLINE_MS = 30_000;
/** A lane whose last failure took so long is not waited for: its next probe may take as long. */
const SLOW_FAILURE_MS = 500;
/** The bound on callers that wait for one probe: more would return to the lane at once. */
const MOST_WAITERS = 100;

export type BreakerState = 'closed' | 'open' | 'half-open';

/** The right to one try, handed back with what became of it. Zero: it is no probe. */
export type Ticket = number;

/**
 * The circuit breaker of a lane. It opens after some failures in a row, or when more than half of at least twenty
 * calls within its window failed. While it is open, one probe at a time tests the lane.
 */
export class Breaker {
  private consecutive = 0;
  private rest: number;
  /** It is closed while null; otherwise the next probe may go at this time. */
  private probeAt: number | null = null;
  private probe: { readonly ticket: Ticket; readonly since: number } | null = null;
  private lastTicket = 0;
  private triedAsLastAt = -Infinity;
  /** A supplier that named a time is left alone until then, however healthy it is. */
  private pausedUntil = 0;
  private readonly calls = new Uint32Array(WINDOW_SLOTS);
  private readonly failures = new Uint32Array(WINDOW_SLOTS);
  private slotStart = 0;
  /** After a failure that was long in coming, no probe is waited for until then. */
  private slowUntil = -Infinity;
  private readonly waiters = new Set<() => void>();

  constructor(
    private terms: BreakerTerms = usualTerms,
    private readonly random: () => number = Math.random,
  ) {
    this.rest = terms.restMs;
  }

  /** Neither open nor waiting for a probe; a pause the supplier asked for is no opening. */
  get isClosed(): boolean {
    return this.probeAt === null;
  }

  /** The operator may change them at any time. */
  follow(terms: BreakerTerms): void {
    if (terms === this.terms) return;
    if (terms.windowMs !== this.terms.windowMs) this.forgetCalls();
    this.terms = terms;
    this.rest = Math.min(Math.max(this.rest, terms.restMs), terms.longestRestMs);
  }

  state(now: number): BreakerState {
    if (now < this.pausedUntil) return 'open';
    if (this.probeAt === null) return 'closed';
    return now < this.probeAt || this.isProbing(now) ? 'open' : 'half-open';
  }

  /** Well, but asked to be left alone. */
  isPaused(now: number): boolean {
    return this.probeAt === null && now < this.pausedUntil;
  }

  /** When something may be tried again, if there is no other lane; for the caller's Retry-After. */
  nextTryAt(now: number): number {
    const lastHope = Math.max(now, this.triedAsLastAt + LAST_LANE_INTERVAL_MS);
    return Math.max(now, this.pausedUntil, Math.min(this.probeAt ?? 0, lastHope));
  }

  /** Takes the right to try, or null. A half-open lane gives it to one caller at a time. */
  tryAcquire(now: number): Ticket | null {
    const state = this.state(now);
    if (state === 'closed') return 0;
    return state === 'open' ? null : this.beginProbe(now);
  }

  /** Resting would refuse every caller: one caller a second tries the lane instead. */
  tryAsLast(now: number): Ticket | null {
    if (now < this.pausedUntil || now - this.triedAsLastAt < LAST_LANE_INTERVAL_MS) return null;
    this.triedAsLastAt = now;
    return this.beginProbe(now);
  }

  /** Wakes the caller when the probe under way has ended. Null: there is none, it may be slow, or too many wait for it. */
  waitForProbe(now: number, wake: () => void): (() => void) | null {
    if (!this.isProbing(now) || now < this.slowUntil || this.waiters.size >= MOST_WAITERS) return null;
    this.waiters.add(wake);
    return () => this.waiters.delete(wake);
  }

  /** An answer has begun. The lane is open to everybody again, and shut at once should this answer break off. */
  answering(ticket: Ticket): void {
    // A success of a slow probe counts, even if another probe followed it.
    if (this.probeAt !== null && ticket !== 0) {
      this.probeAt = null;
      this.forgetCalls();
      this.endProbe();
    }
    this.forget(ticket);
  }

  /** An answer is whole. */
  success(now: number): void {
    this.count(now, false);
    if (this.probeAt !== null) return;
    this.consecutive = 0;
    this.rest = this.terms.restMs;
  }

  /** A call failed, before its answer began or in the middle of it. */
  failure(now: number, ticket: Ticket, milliseconds = 0): void {
    this.count(now, true);
    this.slowUntil = milliseconds < SLOW_FAILURE_MS ? -Infinity : now + this.terms.longestRestMs;
    this.consecutive += 1;
    if (this.probeAt === null) {
      if (this.consecutive >= this.terms.failures || this.mostlyFails()) this.probeAt = now + this.nextRest();
    } else if (this.owns(ticket)) {
      // Only the probe counts; other calls were sent before the breaker opened.
      this.rest = Math.min(this.rest * 2, this.terms.longestRestMs);
      this.probeAt = now + this.nextRest();
    }
    this.forget(ticket);
  }

  /** The call ended without saying anything about the lane: a client's error, or a caller that left. */
  neutral(ticket: Ticket): void {
    this.forget(ticket);
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

  private forget(ticket: Ticket): void {
    if (this.owns(ticket)) this.endProbe();
  }

  private endProbe(): void {
    this.probe = null;
    const woken = [...this.waiters];
    this.waiters.clear();
    for (const wake of woken) wake();
  }

  private nextRest(): number {
    return Math.round(this.rest * (1 - JITTER + 2 * JITTER * this.random()));
  }

  private forgetCalls(): void {
    this.calls.fill(0);
    this.failures.fill(0);
  }

  private isProbing(now: number): boolean {
    return this.probe !== null && now - this.probe.since < PROBE_DEADLINE_MS;
  }

  private count(now: number, failed: boolean): void {
    const slotMs = this.terms.windowMs / WINDOW_SLOTS;
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

  private mostlyFails(): boolean {
    const calls = this.calls.reduce((sum, count) => sum + count, 0);
    const failures = this.failures.reduce((sum, count) => sum + count, 0);
    return calls >= WINDOW_CALLS && failures * 2 > calls;
  }
}
