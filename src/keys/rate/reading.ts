/** A limit stands so at one moment; times are milliseconds from then. */
export interface Reading {
  readonly allowed: boolean;
  readonly limit: number;
  /** So many of the last window's calls count, this one included. */
  readonly used: number;
  /** It lasts until nothing counts any more. */
  readonly resetMs: number;
  /** It lasts until the next call is welcome; it is 0 while there is room. */
  readonly retryMs: number;
}

export interface RateWindow {
  readonly key: string;
  readonly limit: number;
  readonly windowMs: number;
}
