/**
 * Meaning of a failed delivery for its records:
 * `content`: refused, and would be refused again.
 * `busy`: the receiver asks for time.
 * `some`: all were taken except the refused ones.
 * `unknown`: nothing is known.
 */
export type FailureKind = 'content' | 'busy' | 'some' | 'unknown';

interface SinkFailureOptions {
  /** Time for which the receiver does not want to be called. */
  readonly retryAfterMs?: number;
  readonly refused?: ReadonlyMap<string, string>;
}

export class SinkFailure extends Error {
  readonly retryAfterMs: number;
  readonly refused: ReadonlyMap<string, string>;

  constructor(
    readonly kind: FailureKind,
    message: string,
    { retryAfterMs = 0, refused = new Map() }: SinkFailureOptions = {},
  ) {
    super(message);
    this.name = 'SinkFailure';
    this.retryAfterMs = retryAfterMs;
    this.refused = refused;
  }
}

export interface Failure {
  readonly message: string;
  readonly kind: FailureKind;
  readonly retryAfterMs: number;
  readonly refused: ReadonlyMap<string, string>;
}
