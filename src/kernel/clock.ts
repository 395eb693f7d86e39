export interface Clock {
  /** It is wall time in milliseconds since the epoch: what people and ledgers read. */
  now(): number;
  /** Milliseconds that never run backwards: what durations and deadlines are measured with. */
  monotonicMs(): number;
}

export const monotonicMs = (): number => performance.now();

export const systemClock: Clock = { now: () => Date.now(), monotonicMs };
