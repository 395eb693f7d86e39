import type { Tap } from '#extension';
import type { Owned } from '../../extensions';
import type { Logger } from '../../platform';
import { settledRecordOf } from '../settled-record';
import { attempt, USUAL_BATCH } from './attempt';
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
  constructor(
    private readonly tap: Owned<Tap>,
    private readonly claim: TapClaim,
    private readonly parts: RunParts,
  ) {}

  async go(failures: number): Promise<void> {
    const { rows } = this.parts;
    const { batchSize = USUAL_BATCH } = this.tap.part;
    for (let failed = failures; await this.goesOn(); failed = 0) {
      await this.replay();
      const entries = await rows.next(this.claim, batchSize);
      if (entries.length === 0) return;
      const error = await this.give(entries);
      if (error === null) {
        if (!(await this.done(entries))) return;
        continue;
      }
      if (this.isStopping) return;
      const wentOn = failed + 1 >= MOST_FAILURES && (await this.findFaults(entries));
      // A search that was broken off found nothing.
      if (this.isStopping) return;
      if (!wentOn) return this.failed(error);
    }
  }

  private get isStopping(): boolean {
    return this.parts.stopping.aborted;
  }

  private async goesOn(): Promise<boolean> {
    return !this.isStopping && (await this.parts.rows.renew(this.claim));
  }

  private give(entries: readonly Pick<TapEntry, 'record'>[]): Promise<string | null> {
    const records = entries.flatMap(({ record }) => (record === null ? [] : [settledRecordOf(record)]));
    if (records.length === 0) return Promise.resolve(null);
    return attempt(this.tap.part, records, this.parts.stopping);
  }

  private async done(entries: readonly TapEntry[]): Promise<boolean> {
    const { rows, counts } = this.parts;
    if (!(await rows.delivered(this.claim, entries))) return false;
    const gone = entries.filter(({ record }) => record === null).length;
    counts.add(this.tap.name, 'delivered', entries.length - gone);
    counts.add(this.tap.name, 'dropped', gone);
    return true;
  }

  private async failed(error: string): Promise<void> {
    const { rows, counts, logger } = this.parts;
    counts.add(this.tap.name, 'failed', 1);
    logger.warn('a tap failed, its records are delivered again later', this.facts(error));
    await rows.failed(this.claim, error);
  }

  /** Some of the dead letters that somebody asked for. One that fails is a dead letter again, and the others wait. */
  private async replay(): Promise<void> {
    const { rows, counts } = this.parts;
    for (let count = 0; count < MOST_REPLAYED && (await this.goesOn()); count += 1) {
      const letter = await rows.letter(this.claim);
      if (letter === undefined) return;
      const error = await this.give([letter]);
      if (this.isStopping && error !== null) return;
      counts.add(this.tap.name, replayOutcome(letter, error), 1);
      if (error !== null) return rows.letterFailed(letter, error);
      await rows.letterDelivered(this.claim, letter);
    }
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
      const error = await this.give(half);
      if (this.isStopping && error !== null) return false;
      if (error === null) {
        if (!(await this.done(half))) return false;
        takesOthers ||= half.some(({ record }) => record !== null);
        left = left.slice(half.length);
      } else if (left.length === 1) {
        return this.judge({ entry: left[0]!, error }, takesOthers);
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
      const error = await this.give([entry]);
      if (this.isStopping && error !== null) return false;
      if (error === null) return (await this.bury(found)) && this.done([entry]);
      found.push({ entry, error });
    }
    return false;
  }

  private async bury(found: readonly AtFault[]): Promise<boolean> {
    const { rows, counts, logger } = this.parts;
    if (!(await rows.bury(this.claim, found))) return false;
    counts.add(this.tap.name, 'dead', found.length);
    for (const { entry, error } of found)
      logger.error('a record became a dead letter', {
        ...this.facts(error),
        request_id: entry.record?.requestId,
      });
    return true;
  }

  private facts(error: string): Record<string, string> {
    return { tap: this.tap.name, extension: this.tap.extension, error };
  }
}

function replayOutcome({ record }: LetterEntry, error: string | null): TapOutcome {
  if (error !== null) return 'failed';
  return record === null ? 'dropped' : 'delivered';
}
