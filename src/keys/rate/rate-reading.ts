/** State of a limit at one moment; times are milliseconds from then. */
export interface RateReading {
  readonly allowed: boolean;
  readonly limit: number;
  /** Number of calls in the last window that count, including this one. */
  readonly used: number;
  /** Time until nothing counts any more. */
  readonly resetMs: number;
  /** Time until the next call is admitted; 0 while there is room. */
  readonly retryMs: number;
}

export interface RateWindow {
  readonly key: string;
  readonly limit: number;
  readonly windowMs: number;
}
