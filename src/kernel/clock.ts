export interface Clock {
  /** Wall time in ms since the epoch. */
  now(): number;
  /** Monotonic ms, for durations and deadlines. */
  monotonicMs(): number;
}

export const monotonicMs = (): number => performance.now();

export const systemClock: Clock = { now: () => Date.now(), monotonicMs };
