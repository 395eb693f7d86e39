import type { SettledRecord } from './records';

/**
 * Receives every settled request at least once, and those of one key in order. Failed deliveries are retried; a record
 * that fails while others are accepted becomes a dead letter.
 */
export interface Tap {
  readonly name: string;
  /** From 1 to 1,000; defaults to 100. */
  readonly batchSize?: number;
  /** From 100 to 60,000; defaults to 10,000. */
  readonly timeoutMs?: number;
  /** Delivers records; they count as delivered once the promise resolves. The signal aborts at the timeout. */
  deliver(records: readonly SettledRecord[], signal: AbortSignal): Promise<void>;
}
