import { monotonicMs } from '../../kernel';

/**
 * The database's wall clock, kept by the monotonic clock of this process: windows begin and end for all nodes at
 * once, and a correction of this machine's clock moves nothing.
 */
export class DatabaseClock {
  private offset: number | undefined;

  constructor(private readonly elapsed: () => number = monotonicMs) {}

  /** Learns from an answer that was asked for at `askedAt` of the monotonic clock. */
  hear(now: number, askedAt: number): void {
    const heardAt = this.elapsed();
    // A slow answer says little about when it was given.
    if (this.offset === undefined || heardAt - askedAt < 100) this.offset = now - (askedAt + heardAt) / 2;
  }

  now(): number {
    return (this.offset ?? 0) + this.elapsed();
  }

  elapsedMs(): number {
    return this.elapsed();
  }
}
