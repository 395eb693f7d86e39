import type { SettledRecord } from './records';

/**
 * It gets every settled request at least once, and those of one key in their order. What it throws for is tried again;
 * a record that it throws for while it takes others becomes a dead letter.
 */
export interface Tap {
  readonly name: string;
  /** From 1 to 1,000; left out: 100. */
  readonly batchSize?: number;
  /** From 100 to 60,000; left out: 10,000. */
  readonly timeoutMs?: number;
  /** The records count as delivered once the promise is fulfilled. The signal ends with the time for them. */
  deliver(records: readonly SettledRecord[], signal: AbortSignal): Promise<void>;
}
