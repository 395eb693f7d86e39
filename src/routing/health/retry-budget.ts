/** Counted in tenths of a retry: ten first attempts buy one. */
const RETRY_COST = 10;
const CREDIT_PER_FIRST_TRY = 1;
const CREDIT_PER_SECOND = 50;
const MAX_CREDIT = 1_000;

/**
 * Limits retries at one supplier to a tenth of first attempts plus five per second, with up to a hundred saved. A
 * supplier failing under load loses no request, and a total outage does not double the load.
 */
export class RetryBudget {
  private credit = MAX_CREDIT;
  private creditedAt: number | null = null;

  firstTry(): void {
    this.credit = Math.min(MAX_CREDIT, this.credit + CREDIT_PER_FIRST_TRY);
  }

  spend(now: number): boolean {
    if (!this.canSpend(now)) return false;
    this.credit -= RETRY_COST;
    return true;
  }

  canSpend(now: number): boolean {
    const elapsedMs = Math.max(0, now - (this.creditedAt ?? now));
    const earned = Math.floor((elapsedMs * CREDIT_PER_SECOND) / 1_000);
    // Time worth less than one credit is carried over.
    this.creditedAt = this.creditedAt === null ? now : this.creditedAt + (earned * 1_000) / CREDIT_PER_SECOND;
    this.credit = Math.min(MAX_CREDIT, this.credit + earned);
    return this.credit >= RETRY_COST;
  }
}
