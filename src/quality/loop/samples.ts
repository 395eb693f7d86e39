import { Injectable } from '@nestjs/common';
import { Database, type Row, type Tx } from '../../platform';
import type { DialectName } from '../../protocol';
import type { StoredExample } from '../../autorouter';
import type { RequestContent } from '../content/sample-content';
import { SampleContent } from '../content/sample-content';
import { NOT_ACTIVITY } from '../ledger/evaluation-ledger';

export type SampleState = 'waiting' | 'replayed' | 'judged' | 'learned' | 'closed';

const SAMPLE =
  'request_id, created_at, organisation_id, user_id, key_id, served_model, region_asked, bucket, inclusion_prob, content';

export type SampleRow = Row<'quality_sample', typeof SAMPLE> & {
  readonly surface: DialectName;
  readonly state: SampleState;
  readonly features: StoredExample | null;
};

const ANSWER = 'model, role, latency_ms, verdict, score_total, judge_version, content';

export type AnswerRow = Row<'quality_score', typeof ANSWER> & {
  readonly tokensIn: number;
  readonly tokensOut: number;
};

/** The caller asked, and may take back that the request is evaluated. */
export const askedBy = ({ organisationId, keyId }: SampleRow): { organisationId: number; keyId: number } => ({
  organisationId,
  keyId,
});

/** The rows that the steps of evaluation hand to one another. */
@Injectable()
export class Samples {
  constructor(
    private readonly database: Database,
    private readonly content: SampleContent,
  ) {}

  /** It is null where the sample is gone, or in another state than the step begins from. */
  async inState(requestId: string, state: SampleState): Promise<SampleRow | null> {
    const [row] = await this.database.rows<SampleRow>(
      `SELECT ${SAMPLE}, surface, state, features FROM quality_sample WHERE request_id = $1 AND state = $2`,
      [requestId, state],
    );
    return row ?? null;
  }

  /** The request is null once it was dropped, or while the master key is not at hand. */
  requestOf({ requestId, content }: SampleRow): RequestContent | null {
    return content === null ? null : this.content.openRequest(requestId, content);
  }

  answers(requestId: string): Promise<AnswerRow[]> {
    return this.database.rows<AnswerRow>(
      `SELECT ${ANSWER}, tokens_in::integer AS tokens_in, tokens_out::integer AS tokens_out
         FROM quality_score WHERE request_id = $1 ORDER BY role DESC, model`,
      [requestId],
    );
  }

  async enter(requestId: string, from: SampleState, to: SampleState): Promise<void> {
    await this.database.query(
      'UPDATE quality_sample SET state = $3, changed_at = now() WHERE request_id = $1 AND state = $2',
      [requestId, from, to],
    );
  }

  /** The sample is in the state, which then stays until the transaction ends. */
  async holds(tx: Tx, requestId: string, state: SampleState): Promise<boolean> {
    const rows = await tx.query<unknown[]>(
      'SELECT FROM quality_sample WHERE request_id = $1 AND state = $2 FOR UPDATE',
      [requestId, state],
    );
    return rows.length > 0;
  }

  /** Ends it early: nothing is learned of it, and no text of it stays. */
  async close(requestId: string, reason: string): Promise<void> {
    await this.database.transaction(async (tx) => {
      await tx.query(
        `UPDATE quality_sample SET state = 'closed', closed_by = $2, content = NULL, content_until = NULL,
                changed_at = now() WHERE request_id = $1 AND state IN ('waiting', 'replayed', 'judged')`,
        [requestId, reason],
      );
      await tx.query('UPDATE quality_score SET content = NULL WHERE request_id = $1', [requestId]);
    }, NOT_ACTIVITY);
  }
}
