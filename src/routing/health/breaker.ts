/**
 * Whether a lane is worth trying. Opens after five failures in a row, or when more than half of at least twenty
 * calls within ten seconds failed; lets one probe through after five seconds, then after ten, then every twenty:
 * a lane that is well again is back within half a minute.
 */
const CONSECUTIVE_FAILURES = 5;
const WINDOW_MS = 10_000;
const WINDOW_SLOTS = 10;
const WINDOW_CALLS = 20;
const FIRST_REST_MS = 5_000;
const LONGEST_REST_MS = 20_000;
/** How often a lane may be tried all the same when there is no other. */
const LAST_HOPE_MS = 1_000;
/** A probe that never came back no longer counts after this. */
const PROBE_DEADLINE_MS = 30_000;

export type BreakerState = 'closed' | 'open' | 'half-open';

/** The right to one try, handed back with what became of it. Zero: nobody waits for it in particular. */
export type Ticket = number;

export class Breaker {
  private consecutive = 0;
  private restMs = FIRST_REST_MS;
  /** Closed while null; otherwise when the next probe may go. */
  private probeAt: number | null = null;
  private probe: { readonly ticket: Ticket; readonly since: number } | null = null;
  private lastTicket = 0;
  private lastHopeAt = -Infinity;
  /** A supplier that named a time is left alone until then, however healthy it is. */
  private pausedUntil = 0;
  private readonly calls = new Uint32Array(WINDOW_SLOTS);
  private readonly failures = new Uint32Array(WINDOW_SLOTS);
  private slotStart = 0;

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
    const lastHope = Math.max(now, this.lastHopeAt + LAST_HOPE_MS);
    return Math.max(now, this.pausedUntil, Math.min(this.probeAt ?? 0, lastHope));
  }

  /** Takes the right to try, or null. A half-open lane gives it to one caller at a time. */
  tryAcquire(now: number): Ticket | null {
    const state = this.state(now);
    if (state === 'closed') return 0;
    return state === 'open' ? null : this.beginProbe(now);
  }

  /** Resting would mean refusing everybody: one caller a second finds out whether it is over. */
  tryAsLast(now: number): Ticket | null {
    if (now < this.pausedUntil || now - this.lastHopeAt < LAST_HOPE_MS) return null;
    this.lastHopeAt = now;
    return this.beginProbe(now);
  }

  /** An answer has begun. The lane is open to everybody again, and shut at once should this answer break off. */
  answering(ticket: Ticket): void {
    if (this.probeAt !== null && this.owns(ticket)) {
      this.probeAt = null;
      this.calls.fill(0);
      this.failures.fill(0);
    }
    this.forget(ticket);
  }

  /** An answer is whole. */
  success(now: number): void {
    this.count(now, false);
    if (this.probeAt !== null) return;
    this.consecutive = 0;
    this.restMs = FIRST_REST_MS;
  }

  /** A call failed, before its answer began or in the middle of it. */
  failure(now: number, ticket: Ticket): void {
    this.count(now, true);
    this.consecutive += 1;
    if (this.probeAt === null) {
      if (this.consecutive >= CONSECUTIVE_FAILURES || this.mostlyFails()) this.probeAt = now + this.restMs;
    } else if (this.owns(ticket)) {
      // Only the probe says something new; stragglers were sent before it opened.
      this.restMs = Math.min(this.restMs * 2, LONGEST_REST_MS);
      this.probeAt = now + this.restMs;
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
    if (this.owns(ticket)) this.probe = null;
  }

  private isProbing(now: number): boolean {
    return this.probe !== null && now - this.probe.since < PROBE_DEADLINE_MS;
  }

  private count(now: number, failed: boolean): void {
    const slotMs = WINDOW_MS / WINDOW_SLOTS;
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
