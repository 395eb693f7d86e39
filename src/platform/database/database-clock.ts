import { monotonicMs } from '../../kernel';

/** The assumed error of a reading grows by a thousandth of its age, which exceeds real clock drift. */
const DRIFT = 0.001;

/**
 * Estimates the database's wall clock from this process's monotonic clock. Time windows are the same on all nodes, and
 * corrections of this machine's clock have no effect.
 */
export class DatabaseClock {
  private offset = 0;
  private uncertainty = Infinity;
  private synchronisedAt = 0;

  constructor(private readonly elapsed: () => number = monotonicMs) {}

  /**
   * Learns from a response to a query sent at `requestedAt` of the monotonic clock, unless the present estimate is
   * better.
   */
  synchronise(now: number, requestedAt: number): void {
    const receivedAt = this.elapsed();
    // The time was read at some moment between the two.
    const uncertainty = (receivedAt - requestedAt) / 2;
    if (uncertainty > this.uncertainty + (receivedAt - this.synchronisedAt) * DRIFT) return;
    this.offset = now - requestedAt - uncertainty;
    this.uncertainty = uncertainty;
    this.synchronisedAt = receivedAt;
  }

  now(): number {
    return this.at(this.elapsed());
  }

  /** Time of the clock at `elapsed` of the monotonic clock. */
  at(elapsed: number): number {
    return this.offset + elapsed;
  }

  elapsedMs(): number {
    return this.elapsed();
  }
}
