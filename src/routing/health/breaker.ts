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

export class Breaker {
  private consecutive = 0;
  private restMs = FIRST_REST_MS;
  /** Closed while null; otherwise when the next probe may go. */
  private probeAt: number | null = null;
  private probingSince: number | null = null;
  private lastHopeAt = -Infinity;
  /** A supplier that named a time is left alone until then, however healthy it is. */
  private pausedUntil = 0;
  private readonly calls = new Uint32Array(WINDOW_SLOTS);
  private readonly failures = new Uint32Array(WINDOW_SLOTS);
  private slotStart = 0;

  state(now: number): BreakerState {
    if (this.probeAt === null) return now < this.pausedUntil ? 'open' : 'closed';
    return now < this.probeAt || this.isProbing(now) ? 'open' : 'half-open';
  }

  /** When something may be tried again; for the caller's Retry-After. */
  nextTryAt(now: number): number {
    return Math.max(now, this.pausedUntil, this.probeAt ?? 0);
  }

  /** Takes the right to try. A half-open lane gives it to one caller at a time. */
  tryAcquire(now: number): boolean {
    const state = this.state(now);
    if (state === 'open') return false;
    if (state === 'half-open') this.probingSince = now;
    return true;
  }

  /** Resting would mean refusing everybody: one caller a second finds out whether it is over. */
  tryAsLast(now: number): boolean {
    if (now < this.pausedUntil || now - this.lastHopeAt < LAST_HOPE_MS) return false;
    this.lastHopeAt = now;
    this.probingSince = now;
    return true;
  }

  success(now: number): void {
    this.count(now, false);
    this.consecutive = 0;
    this.probingSince = null;
    if (this.probeAt !== null) {
      this.probeAt = null;
      this.restMs = FIRST_REST_MS;
      this.calls.fill(0);
      this.failures.fill(0);
    }
  }

  failure(now: number): void {
    this.count(now, true);
    this.consecutive += 1;
    if (this.probeAt !== null) {
      // Stragglers sent before it opened say nothing new; a failed probe doubles the rest.
      if (this.probingSince === null) return;
      this.probingSince = null;
      this.restMs = Math.min(this.restMs * 2, LONGEST_REST_MS);
      this.probeAt = now + this.restMs;
    } else if (this.consecutive >= CONSECUTIVE_FAILURES || this.mostlyFails()) {
      this.probeAt = now + this.restMs;
    }
  }

  /** The call ended without saying anything about the lane: a client's error, or a caller that left. */
  neutral(): void {
    this.probingSince = null;
  }

  pause(until: number): void {
    this.pausedUntil = Math.max(this.pausedUntil, until);
  }

  private isProbing(now: number): boolean {
    return this.probingSince !== null && now - this.probingSince < PROBE_DEADLINE_MS;
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
