import { monotonicMs } from '../../kernel';

/** The assumed error of a reading grows by a thousandth of its age, which exceeds real clock drift. */
const DRIFT = 0.001;

/**
 * An estimate of the database's wall clock, advanced by this process's monotonic clock. Windows begin and end on all
 * nodes at once, and corrections of this machine's clock have no effect.
 */
export class DatabaseClock {
  private offset = 0;
  private doubt = Infinity;
  private synchronisedAt = 0;

  constructor(private readonly elapsed: () => number = monotonicMs) {}

  /**
   * Learns from an answer to a query sent at `askedAt` of the monotonic clock, unless the present estimate is better.
   */
  synchronise(now: number, askedAt: number): void {
    const heardAt = this.elapsed();
    // It was given at some moment between the two.
    const doubt = (heardAt - askedAt) / 2;
    if (doubt > this.doubt + (heardAt - this.synchronisedAt) * DRIFT) return;
    this.offset = now - askedAt - doubt;
    this.doubt = doubt;
    this.synchronisedAt = heardAt;
  }

  now(): number {
    return this.at(this.elapsed());
  }

  /** The clock reads this when so much has elapsed. */
  at(elapsed: number): number {
    return this.offset + elapsed;
  }

  elapsedMs(): number {
    return this.elapsed();
  }
}
