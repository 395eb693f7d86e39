import type { Logger } from '../../platform';
import { settledRecordOf } from '../settled-record';
import { attempt } from './attempt';
import type { Failure } from './failure';
import type { HeldTap } from './held-tap';
import type { TapCounts, TapOutcome } from './tap-counts';
import type { AtFault, LetterEntry, TapClaim, TapEntry, TapRows } from './tap-rows';

/** After so many failures in a row, the records that are at fault are looked for. */
const MOST_FAILURES = 8;
/** A tap that takes none of so many records, one by one, is taken to be down. */
const MOST_AT_FAULT = 5;
/** What waits in the outbox comes in between. */
const MOST_REPLAYED = 100;

export interface RunParts {
  readonly rows: TapRows;
  readonly counts: TapCounts;
  readonly logger: Logger;
  readonly stopping: AbortSignal;
}

/** What one node does for one tap while it has the claim: batch after batch, until none is left or one fails. */
export class TapRun {
  /** Why a search for faults was broken off: it found nothing, and the receiver wants something else. */
  private obstacle: Failure | null = null;

  constructor(
    private readonly tap: HeldTap,
    private readonly claim: TapClaim,
    private readonly parts: RunParts,
  ) {}

  async go(failures: number): Promise<void> {
    const { rows } = this.parts;
    const { batchSize, everyMs } = this.tap;
    for (let failed = failures; await this.goesOn(); failed = 0) {
      const obstacle = await this.replay();
      if (obstacle !== null) return this.failed(obstacle);
      const entries = await rows.next(this.claim, batchSize);
      if (entries.length === 0) return;
      const failure = await this.give(entries);
      if (this.isStopping && failure !== null) return;
      const wentOn =
        failure === null ? await this.done(entries) : await this.goOnDespite(failure, entries, failed);
      // A search that was broken off found nothing.
      if (this.isStopping) return;
      if (!wentOn) return failure === null ? undefined : this.failed(this.obstacle ?? failure);
      // What comes now waits for others to be delivered with it.
      if (everyMs > 0 && entries.length < batchSize) return;
    }
  }

  private get isStopping(): boolean {
    return this.parts.stopping.aborted;
  }

  private async goesOn(): Promise<boolean> {
    return !this.isStopping && (await this.parts.rows.renew(this.claim));
  }

  private async give(entries: readonly Pick<TapEntry, 'record'>[]): Promise<Failure | null> {
    const records = entries.flatMap(({ record }) => (record === null ? [] : [settledRecordOf(record)]));
    if (records.length === 0) return null;
    const outcome = await attempt(this.tap, records, this.parts.stopping);
    return outcome.ok ? null : outcome.error;
  }

  private async done(entries: readonly TapEntry[]): Promise<boolean> {
    const { rows } = this.parts;
    if (!(await rows.delivered(this.claim, entries))) return false;
    this.count(entries, 0);
    return true;
  }

  private count(entries: readonly TapEntry[], dead: number): void {
    const { counts } = this.parts;
    const gone = entries.filter(({ record }) => record === null).length;
    counts.add(this.tap.name, 'delivered', entries.length - gone - dead);
    counts.add(this.tap.name, 'dropped', gone);
  }

  private async failed(failure: Failure): Promise<void> {
    const { rows, counts, logger } = this.parts;
    counts.add(this.tap.name, 'failed', 1);
    logger.warn('a tap failed, its records are delivered again later', this.facts(failure.words));
    await rows.failed(this.claim, failure);
  }

  /** Some of the dead letters that somebody asked for. One that fails is a dead letter again, and the others wait. */
  private async replay(): Promise<Failure | null> {
    const { rows, counts } = this.parts;
    for (let count = 0; count < MOST_REPLAYED && (await this.goesOn()); count += 1) {
      const letter = await rows.letter(this.claim);
      if (letter === undefined) return null;
      const failure = await this.give([letter]);
      if (this.isStopping && failure !== null) return null;
      if (failure?.kind === 'busy') return failure;
      counts.add(this.tap.name, replayOutcome(letter, failure), 1);
      if (failure !== null) {
        await rows.letterFailed(letter, failure.words);
        return null;
      }
      await rows.letterDelivered(this.claim, letter);
    }
    return null;
  }

  /** Records that are refused for certain leave at once; where nobody knows, only after many failures. */
  private async goOnDespite(
    failure: Failure,
    entries: readonly TapEntry[],
    failed: number,
  ): Promise<boolean> {
    const { kind } = failure;
    if (kind === 'some') return this.buryRefused(failure, entries);
    if (kind === 'busy' || (kind === 'unknown' && failed + 1 < MOST_FAILURES)) return false;
    const [only, ...others] = entries;
    return others.length === 0 && kind === 'content'
      ? this.judge({ entry: only!, error: failure.words }, false)
      : this.findFaults(entries);
  }

  /** The receiver has all of them but those that it refuses. */
  private async buryRefused({ refused }: Failure, entries: readonly TapEntry[]): Promise<boolean> {
    const found = entries.flatMap((entry) => {
      const error = entry.record === null ? undefined : refused.get(entry.record.requestId);
      return error === undefined ? [] : [{ entry, error }];
    });
    return found.length === 0 ? this.done(entries) : this.bury(found, entries);
  }

  /**
   * Halves the batch down to the first record that fails alone. It is at fault where the tap takes another one: a tap
   * that takes none is down, and nothing is given up. Returns whether the tap went on.
   */
  private async findFaults(batch: readonly TapEntry[]): Promise<boolean> {
    let takesOthers = false;
    let left = batch;
    while (left.length > 0) {
      const half = left.slice(0, Math.ceil(left.length / 2));
      if (!(await this.goesOn())) return false;
      const failure = await this.give(half);
      if (this.isStopping && failure !== null) return false;
      if (failure === null || failure.kind === 'some') {
        if (!(await (failure === null ? this.done(half) : this.buryRefused(failure, half)))) return false;
        takesOthers ||= half.some(({ record }) => record !== null);
        left = left.slice(half.length);
      } else if (failure.kind === 'busy') {
        this.obstacle = failure;
        return false;
      } else if (left.length === 1) {
        return this.judge({ entry: left[0]!, error: failure.words }, takesOthers);
      } else {
        left = half;
      }
    }
    return true;
  }

  private async judge(first: AtFault, takesOthers: boolean): Promise<boolean> {
    if (takesOthers) return this.bury([first]);
    const found = [first];
    for (const entry of await this.parts.rows.next(this.claim, MOST_AT_FAULT, first.entry)) {
      if (entry.record === null) continue;
      if (!(await this.goesOn())) return false;
      const failure = await this.give([entry]);
      if (this.isStopping && failure !== null) return false;
      if (failure === null) return (await this.bury(found)) && this.done([entry]);
      if (failure.kind === 'busy') {
        this.obstacle = failure;
        return false;
      }
      found.push({ entry, error: failure.words });
    }
    return false;
  }

  private async bury(found: readonly AtFault[], entries?: readonly TapEntry[]): Promise<boolean> {
    const { rows, counts, logger } = this.parts;
    if (!(await rows.bury(this.claim, found, entries))) return false;
    counts.add(this.tap.name, 'dead', found.length);
    if (entries !== undefined) this.count(entries, found.length);
    for (const { entry, error } of found)
      logger.error('a record became a dead letter', {
        ...this.facts(error),
        request_id: entry.record?.requestId,
      });
    return true;
  }

  private facts(error: string): Record<string, string> {
    return { tap: this.tap.name, extension: this.tap.owner, error };
  }
}

function replayOutcome({ record }: LetterEntry, failure: Failure | null): TapOutcome {
  if (failure !== null) return 'failed';
  return record === null ? 'dropped' : 'delivered';
}
