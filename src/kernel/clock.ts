export interface Clock {
  /** It is wall time in milliseconds since the epoch: what people and ledgers read. */
  now(): number;
  /** Milliseconds that never run backwards: what durations and deadlines are measured with. */
  monotonicMs(): number;
}

export const monotonicMs = (): number => performance.now();

export const systemClock: Clock = { now: () => Date.now(), monotonicMs };

/** A clock that moves only when told to. */
export class FakeClock implements Clock {
  private wall: number;
  private elapsed = 0;

  constructor(start: Date | number = Date.UTC(2026, 0, 1)) {
    this.wall = Number(start);
  }

  now(): number {
    return this.wall;
  }

  monotonicMs(): number {
    return this.elapsed;
  }

  /** Time passes: both clocks move. */
  advance(milliseconds: number): void {
    if (!(milliseconds >= 0))
      throw new RangeError('time does not run backwards; use setWall to move the wall clock');
    this.wall += milliseconds;
    this.elapsed += milliseconds;
  }

  /** The wall clock is corrected, as a time server would: the monotonic clock does not notice. */
  setWall(instant: Date | number): void {
    this.wall = Number(instant);
  }
}
