import type { CallFacts } from './svc-headers';

/** A whole answer, ready to be sent. */
export interface Reply {
  readonly status: number;
  readonly contentType: string;
  readonly body: Buffer;
  readonly facts: CallFacts;
  /** These headers are sent beside those of the facts. */
  readonly headers?: Readonly<Record<string, string>>;
}
