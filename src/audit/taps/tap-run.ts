import type { Logger } from '../../platform';
import { settledRecordOf } from '../settled-record';
import { attempt } from './attempt';
import type { Failure } from './failure';
import type { RegisteredTap } from './registered-tap';
import type { TapCounts, TapOutcome } from './tap-counts';
import type { FaultyRecord, LetterEntry, TapClaim, TapEntry, TapRows } from './tap-rows';

const MAX_FAILURES = 8;
/** A tap that takes none of this number of records, one by one, is considered down. */
const MAX_FAULTY = 5;
const MAX_REPLAYS = 100;

export interface TapRunContext {
  readonly rows: TapRows;
  readonly counts: TapCounts;
  readonly logger: Logger;
  readonly stopping: AbortSignal;
}

/** Work of one node for one tap while it has the claim: batch after batch, until none is left or one fails. */
export class TapRun {
  /** Failure that interrupted a search for faulty records. */
  private obstacle: Failure | null = null;

  constructor(
    private readonly tap: RegisteredTap,
    private readonly claim: TapClaim,
    private readonly context: TapRunContext,
  ) {}

  async run(failures: number): Promise<void> {
    const { rows } = this.context;
    const { batchSize, everyMs } = this.tap;
    for (let failureCount = failures; await this.canContinue(); failureCount = 0) {
      const obstacle = await this.replay();
      if (obstacle !== null) return this.recordFailure(obstacle);
      const entries = await rows.next(this.claim, batchSize);
      if (entries.length === 0) return;
      const failure = await this.deliver(entries);
      if (this.isStopping && failure !== null) return;
      const hasProgressed =
        failure === null
          ? await this.markDelivered(entries)
          : await this.handleFailure(failure, entries, failureCount);
      if (this.isStopping) return;
      if (!hasProgressed) return failure === null ? undefined : this.recordFailure(this.obstacle ?? failure);
      // The next entries wait to be delivered together with others.
      if (everyMs > 0 && entries.length < batchSize) return;
    }
  }

  private get isStopping(): boolean {
    return this.context.stopping.aborted;
  }

  private async canContinue(): Promise<boolean> {
    return !this.isStopping && (await this.context.rows.renew(this.claim));
  }

  private async deliver(entries: readonly Pick<TapEntry, 'record'>[]): Promise<Failure | null> {
    const records = entries.flatMap(({ record }) => (record === null ? [] : [settledRecordOf(record)]));
    if (records.length === 0) return null;
    const outcome = await attempt(this.tap, records, this.context.stopping);
    return outcome.ok ? null : outcome.error;
  }

  private async markDelivered(entries: readonly TapEntry[]): Promise<boolean> {
    const { rows } = this.context;
    if (!(await rows.markDelivered(this.claim, entries))) return false;
    this.count(entries, 0);
    return true;
  }

  private count(entries: readonly TapEntry[], dead: number): void {
    const { counts } = this.context;
    const missing = entries.filter(({ record }) => record === null).length;
    counts.add(this.tap.name, 'delivered', entries.length - missing - dead);
    counts.add(this.tap.name, 'dropped', missing);
  }

  private async recordFailure(failure: Failure): Promise<void> {
    const { rows, counts, logger } = this.context;
    counts.add(this.tap.name, 'failed', 1);
    logger.warn('a tap failed, its records are delivered again later', this.logFields(failure.message));
    await rows.markFailed(this.claim, failure);
  }

  /** Redelivers some of the requested dead letters. A failed one becomes a dead letter again, and the others wait. */
  private async replay(): Promise<Failure | null> {
    const { rows, counts } = this.context;
    for (let count = 0; count < MAX_REPLAYS && (await this.canContinue()); count += 1) {
      const nextLetter = await rows.nextLetter(this.claim);
      if (nextLetter === undefined) return null;
      const failure = await this.deliver([nextLetter]);
      if (this.isStopping && failure !== null) return null;
      if (failure?.kind === 'busy') return failure;
      counts.add(this.tap.name, replayOutcome(nextLetter, failure), 1);
      if (failure !== null) {
        await rows.markLetterFailed(nextLetter, failure.message);
        return null;
      }
      await rows.markLetterDelivered(this.claim, nextLetter);
    }
    return null;
  }

  /** Records that are certainly refused are removed immediately; if the cause is unknown, only after many failures. */
  private async handleFailure(
    failure: Failure,
    entries: readonly TapEntry[],
    failureCount: number,
  ): Promise<boolean> {
    const { kind } = failure;
    if (kind === 'some') return this.buryRefused(failure, entries);
    if (kind === 'busy' || (kind === 'unknown' && failureCount + 1 < MAX_FAILURES)) return false;
    const [only, ...others] = entries;
    return others.length === 0 && kind === 'content'
      ? this.confirmFault({ entry: only!, error: failure.message }, false)
      : this.findFaults(entries);
  }

  /** The receiver has all records except those that it refused. */
  private async buryRefused({ refused }: Failure, entries: readonly TapEntry[]): Promise<boolean> {
    const faulty = entries.flatMap((entry) => {
      const error = entry.record === null ? undefined : refused.get(entry.record.requestId);
      return error === undefined ? [] : [{ entry, error }];
    });
    return faulty.length === 0 ? this.markDelivered(entries) : this.bury(faulty, entries);
  }

  /**
   * Halves the batch down to the first record that fails alone; the record is faulty only if the tap takes another one.
   * A tap that takes none is down, and nothing is given up; returns whether the cursor moved.
   */
  private async findFaults(batch: readonly TapEntry[]): Promise<boolean> {
    let acceptsOthers = false;
    let remaining = batch;
    while (remaining.length > 0) {
      const half = remaining.slice(0, Math.ceil(remaining.length / 2));
      if (!(await this.canContinue())) return false;
      const failure = await this.deliver(half);
      if (this.isStopping && failure !== null) return false;
      if (failure === null || failure.kind === 'some') {
        if (!(await (failure === null ? this.markDelivered(half) : this.buryRefused(failure, half))))
          return false;
        acceptsOthers ||= half.some(({ record }) => record !== null);
        remaining = remaining.slice(half.length);
      } else if (failure.kind === 'busy') {
        this.obstacle = failure;
        return false;
      } else if (remaining.length === 1) {
        return this.confirmFault({ entry: remaining[0]!, error: failure.message }, acceptsOthers);
      } else {
        remaining = half;
      }
    }
    return true;
  }

  private async confirmFault(first: FaultyRecord, acceptsOthers: boolean): Promise<boolean> {
    if (acceptsOthers) return this.bury([first]);
    const faulty = [first];
    for (const entry of await this.context.rows.next(this.claim, MAX_FAULTY, first.entry)) {
      if (entry.record === null) continue;
      if (!(await this.canContinue())) return false;
      const failure = await this.deliver([entry]);
      if (this.isStopping && failure !== null) return false;
      if (failure === null) return (await this.bury(faulty)) && this.markDelivered([entry]);
      if (failure.kind === 'busy') {
        this.obstacle = failure;
        return false;
      }
      faulty.push({ entry, error: failure.message });
    }
    return false;
  }

  private async bury(faulty: readonly FaultyRecord[], entries?: readonly TapEntry[]): Promise<boolean> {
    const { rows, counts, logger } = this.context;
    if (!(await rows.bury(this.claim, faulty, entries))) return false;
    counts.add(this.tap.name, 'dead', faulty.length);
    if (entries !== undefined) this.count(entries, faulty.length);
    for (const { entry, error } of faulty)
      logger.error('a record became a dead letter', {
        ...this.logFields(error),
        request_id: entry.record?.requestId,
      });
    return true;
  }

  private logFields(error: string): Record<string, string> {
    return { tap: this.tap.name, extension: this.tap.owner, error };
  }
}

function replayOutcome({ record }: LetterEntry, failure: Failure | null): TapOutcome {
  if (failure !== null) return 'failed';
  return record === null ? 'dropped' : 'delivered';
}
