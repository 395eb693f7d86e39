/** Counted in tenths of a retry, so that ten first tries buy exactly one. */
const RETRY = 10;
const PER_FIRST_TRY = 1;
const PER_SECOND = 50;
const LARGEST = 1_000;

/**
 * How often one supplier may be tried on behalf of requests that another has failed: a tenth of its first tries,
 * and five a second besides. In a total outage retries stay a rounding error instead of doubling the storm.
 */
export class RetryBudget {
  private credit = PER_SECOND;
  private creditedAt: number | null = null;

  firstTry(): void {
    this.credit = Math.min(LARGEST, this.credit + PER_FIRST_TRY);
  }

  /** True when another try is affordable, which it then has paid for. */
  spend(now: number): boolean {
    const elapsedMs = this.creditedAt === null ? 0 : Math.max(0, now - this.creditedAt);
    const earned = Math.min(PER_SECOND, Math.floor((elapsedMs * PER_SECOND) / 1_000));
    if (earned > 0 || this.creditedAt === null) this.creditedAt = now;
    this.credit = Math.min(LARGEST, this.credit + earned);
    if (this.credit < RETRY) return false;
    this.credit -= RETRY;
    return true;
  }
}
