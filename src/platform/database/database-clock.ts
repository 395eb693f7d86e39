import { monotonicMs } from '../../kernel';

/** What was heard goes wrong by a thousandth of the time since, which is more than clocks drift apart. */
const DRIFT = 0.001;

/**
 * The database's wall clock, kept by the monotonic clock of this process: windows begin and end for all nodes at
 * once, and a correction of this machine's clock moves nothing.
 */
export class DatabaseClock {
  private offset = 0;
  private doubt = Infinity;
  private heardAt = 0;

  constructor(private readonly elapsed: () => number = monotonicMs) {}

  /** Learns from an answer that was asked for at `askedAt` of the monotonic clock, unless it knows better. */
  hear(now: number, askedAt: number): void {
    const heardAt = this.elapsed();
    // It was given at some moment between the two.
    const doubt = (heardAt - askedAt) / 2;
    if (doubt > this.doubt + (heardAt - this.heardAt) * DRIFT) return;
    this.offset = now - askedAt - doubt;
    this.doubt = doubt;
    this.heardAt = heardAt;
  }

  now(): number {
    return this.at(this.elapsed());
  }

  /** What it reads when so much has elapsed. */
  at(elapsed: number): number {
    return this.offset + elapsed;
  }

  elapsedMs(): number {
    return this.elapsed();
  }
}
