/** It is counted in tenths of a retry, so that ten first tries buy exactly one. */
const RETRY = 10;
const PER_FIRST_TRY = 1;
const PER_SECOND = 50;
const LARGEST = 1_000;

/**
 * Limits retries at one supplier: a tenth of its possible first tries, and five a second besides. An unused budget
 * accumulates to a hundred, so that a supplier that fails under load loses no request. In a total outage retries stay
 * rare instead of doubling the load.
 */
export class RetryBudget {
  private credit = LARGEST;
  private creditedAt: number | null = null;

  firstTry(): void {
    this.credit = Math.min(LARGEST, this.credit + PER_FIRST_TRY);
  }

  /** It is true when another try is affordable, which it then has paid for. */
  spend(now: number): boolean {
    if (!this.affords(now)) return false;
    this.credit -= RETRY;
    return true;
  }

  affords(now: number): boolean {
    const elapsedMs = Math.max(0, now - (this.creditedAt ?? now));
    const earned = Math.floor((elapsedMs * PER_SECOND) / 1_000);
    // Less than a tenth stays on the clock.
    this.creditedAt = this.creditedAt === null ? now : this.creditedAt + (earned * 1_000) / PER_SECOND;
    this.credit = Math.min(LARGEST, this.credit + earned);
    return this.credit >= RETRY;
  }
}
