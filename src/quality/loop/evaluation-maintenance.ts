import { Injectable } from '@nestjs/common';
import { Database, RepeatingJob, type TableRow, Settings } from '../../platform';
import { EvaluationLedger } from '../ledger/evaluation-ledger';
import { EvaluationQueue } from './evaluation-queue';
import { Samples } from './samples';

const BATCH_SIZE = 200;

/** Deletes expired texts and resumes what a crash interrupted. */
@Injectable()
export class EvaluationMaintenance {
  constructor(
    private readonly database: Database,
    private readonly samples: Samples,
    private readonly queue: EvaluationQueue,
    private readonly ledger: EvaluationLedger,
    private readonly settings: Settings,
  ) {}

  @RepeatingJob({ name: 'evaluation', cron: '*/10 * * * *' })
  async runMaintenance(signal: AbortSignal): Promise<void> {
    await this.dropContent(signal);
    await this.ledger.closeOpen();
    await this.resumeStuck(signal);
    await this.deleteOld();
  }

  /** Closes samples that were not judged in time: their text is deleted, so they cannot be judged any more. */
  private async dropContent(signal: AbortSignal): Promise<void> {
    let count: number;
    do {
      const overdue = await this.database.rows<
        TableRow<'quality_sample', 'request_id'>
      >(`SELECT request_id FROM quality_sample WHERE content IS NOT NULL AND content_until < now()
            AND state IN ('waiting', 'replayed', 'judged') ORDER BY content_until LIMIT ${BATCH_SIZE}`);
      for (const { requestId } of overdue) await this.samples.close(requestId, 'expired');
      count = overdue.length;
    } while (count === BATCH_SIZE && !signal.aborted);
    await this.database.query(
      `WITH over AS (
         UPDATE quality_sample SET content = NULL, content_until = NULL
          WHERE content_until < now() AND state IN ('learned', 'closed') RETURNING request_id)
       UPDATE quality_score SET content = NULL WHERE request_id IN (SELECT request_id FROM over)`,
    );
  }

  /** Recreates lost jobs under an id of their own, because the former id might be remembered as done. */
  private async resumeStuck(signal: AbortSignal): Promise<void> {
    const stuck = await this.database.rows<
      TableRow<'quality_sample', 'request_id, state'> & { hour: string }
    >(`SELECT request_id, state, to_char(now(), '.YYYYMMDDHH24') AS hour FROM quality_sample
        WHERE state IN ('waiting', 'replayed', 'judged') AND changed_at < now() - interval '30 minutes'
        ORDER BY changed_at LIMIT ${BATCH_SIZE}`);
    for (const { requestId, state, hour } of stuck) {
      if (signal.aborted) return;
      if (state === 'judged') {
        await this.queue.learn(requestId, hour);
        continue;
      }
      // Starts from the beginning: existing replies and scores are not requested again.
      await this.samples.changeState(requestId, 'replayed', 'waiting');
      await this.queue.replay(requestId, hour);
    }
  }

  private async deleteOld(): Promise<void> {
    const { recordRetentionMonths: months } = this.settings;
    if (months === undefined) return;
    await this.database.query(
      `DELETE FROM quality_sample WHERE created_at < now() - make_interval(months => $1)`,
      [months],
    );
    await this.database.query(
      `DELETE FROM answer_feedback WHERE changed_at < now() - make_interval(months => $1)`,
      [months],
    );
  }
}
