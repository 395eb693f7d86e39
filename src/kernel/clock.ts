export interface Clock {
  /** It is wall time in milliseconds since the epoch: what people and ledgers read. */
  now(): number;
  /** Durations and deadlines are measured with these milliseconds, which never run backwards. */
  monotonicMs(): number;
}

export const monotonicMs = (): number => performance.now();

export const systemClock: Clock = { now: () => Date.now(), monotonicMs };
