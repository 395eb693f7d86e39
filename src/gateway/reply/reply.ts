import type { CallSummary } from './svc-headers';

export interface Reply {
  readonly status: number;
  readonly contentType: string;
  readonly body: Buffer;
  readonly facts: CallSummary;
  readonly headers?: Readonly<Record<string, string>>;
}
