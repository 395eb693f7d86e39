import type { SettledRecord } from './records';

/**
 * It gets every settled request at least once, and those of one key in their order. Records that it throws for are
 * tried again, then kept as dead letters.
 */
export interface Tap {
  readonly name: string;
  /** From 1 to 1,000; left out: 100. */
  readonly batchSize?: number;
  /** From 100 to 60,000; left out: 10,000. */
  readonly timeoutMs?: number;
  deliver(records: readonly SettledRecord[], signal: AbortSignal): Promise<void>;
}
