/**
 * What a failed delivery says of the records: `content`, they are refused and would be again; `busy`, the receiver asks
 * for time; `some`, it has all but those that it refuses; `unknown`, nothing.
 */
export type FailureKind = 'content' | 'busy' | 'some' | 'unknown';

interface FailureFacts {
  /** The receiver wants to be left alone for so long. */
  readonly retryAfterMs?: number;
  /** By the ids of requests, why each is refused; all others were taken. */
  readonly refused?: ReadonlyMap<string, string>;
}

/** A failure that a sink of the service understood. */
export class SinkFailure extends Error {
  readonly retryAfterMs: number;
  readonly refused: ReadonlyMap<string, string>;

  constructor(
    readonly kind: FailureKind,
    words: string,
    { retryAfterMs = 0, refused = new Map() }: FailureFacts = {},
  ) {
    super(words);
    this.name = 'SinkFailure';
    this.retryAfterMs = retryAfterMs;
    this.refused = refused;
  }
}

/** A failed delivery in words that hold no secret. */
export interface Failure {
  readonly words: string;
  readonly kind: FailureKind;
  readonly retryAfterMs: number;
  readonly refused: ReadonlyMap<string, string>;
}
