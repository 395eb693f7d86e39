import { Injectable } from '@nestjs/common';
import { Database, RepeatingJob, type Row, Settings } from '../../platform';
import { EvaluationLedger } from '../ledger/evaluation-ledger';
import { EvaluationQueue } from './evaluation-queue';
import { Samples } from './samples';

const AT_ONCE = 200;

/** Lets texts go when their time is over, and takes up what a crash left lying. */
@Injectable()
export class EvaluationUpkeep {
  constructor(
    private readonly database: Database,
    private readonly samples: Samples,
    private readonly queue: EvaluationQueue,
    private readonly ledger: EvaluationLedger,
    private readonly settings: Settings,
  ) {}

  @RepeatingJob({ name: 'evaluation', cron: '*/10 * * * *' })
  async tidy(signal: AbortSignal): Promise<void> {
    await this.dropContent(signal);
    await this.ledger.closeOpen();
    await this.takeUp(signal);
    await this.forgetOld();
  }

  /** A sample that was not judged in its time never is: its text is gone. */
  private async dropContent(signal: AbortSignal): Promise<void> {
    let found: number;
    do {
      const overdue = await this.database.rows<
        Row<'quality_sample', 'request_id'>
      >(`SELECT request_id FROM quality_sample WHERE content IS NOT NULL AND content_until < now()
            AND state IN ('waiting', 'replayed', 'judged') ORDER BY content_until LIMIT ${AT_ONCE}`);
      for (const { requestId } of overdue) await this.samples.close(requestId, 'expired');
      found = overdue.length;
    } while (found === AT_ONCE && !signal.aborted);
    await this.database.query(
      `WITH over AS (
         UPDATE quality_sample SET content = NULL, content_until = NULL
          WHERE content_until < now() AND state IN ('learned', 'closed') RETURNING request_id)
       UPDATE quality_score SET content = NULL WHERE request_id IN (SELECT request_id FROM over)`,
    );
  }

  /** A job that was lost is made again, under an id of its own: the one before it may be remembered as done. */
  private async takeUp(signal: AbortSignal): Promise<void> {
    const stuck = await this.database.rows<
      Row<'quality_sample', 'request_id, state'> & { hour: string }
    >(`SELECT request_id, state, to_char(now(), '.YYYYMMDDHH24') AS hour FROM quality_sample
        WHERE state IN ('waiting', 'replayed', 'judged') AND changed_at < now() - interval '30 minutes'
        ORDER BY changed_at LIMIT ${AT_ONCE}`);
    for (const { requestId, state, hour } of stuck) {
      if (signal.aborted) return;
      if (state === 'judged') {
        await this.queue.learn(requestId, hour);
        continue;
      }
      // It starts from the beginning: answers and scores that are there already are not asked for again.
      await this.samples.enter(requestId, 'replayed', 'waiting');
      await this.queue.replay(requestId, hour);
    }
  }

  private async forgetOld(): Promise<void> {
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
