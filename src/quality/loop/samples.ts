import { Injectable } from '@nestjs/common';
import { Database, type TableRow, type Tx } from '../../platform';
import type { DialectName } from '../../protocol';
import type { StoredExample } from '../../autorouter';
import type { RequestContent } from '../content/sample-content';
import { SampleContent } from '../content/sample-content';
import { NOT_ACTIVITY } from '../ledger/evaluation-ledger';

export type SampleState = 'waiting' | 'replayed' | 'judged' | 'learned' | 'closed';

const SAMPLE =
  'request_id, created_at, organisation_id, user_id, key_id, served_model, region_asked, bucket, inclusion_prob, content';

export type SampleRow = TableRow<'quality_sample', typeof SAMPLE> & {
  readonly surface: DialectName;
  readonly state: SampleState;
  readonly features: StoredExample | null;
};

const ANSWER = 'model, role, latency_ms, verdict, score_total, judge_version, content';

export type AnswerRow = TableRow<'quality_score', typeof ANSWER> & {
  readonly tokensIn: number;
  readonly tokensOut: number;
};

/** Returns the key and organisation that can withdraw consent to evaluation. */
export const consentOwnerOf = ({
  organisationId,
  keyId,
}: SampleRow): { organisationId: number; keyId: number } => ({
  organisationId,
  keyId,
});

@Injectable()
export class Samples {
  constructor(
    private readonly database: Database,
    private readonly content: SampleContent,
  ) {}

  /** Returns null if the sample is gone, or not in the state that the step starts from. */
  async findInState(requestId: string, state: SampleState): Promise<SampleRow | null> {
    const [row] = await this.database.rows<SampleRow>(
      `SELECT ${SAMPLE}, surface, state, features FROM quality_sample WHERE request_id = $1 AND state = $2`,
      [requestId, state],
    );
    return row ?? null;
  }

  /** Returns null once the request was deleted, or while the master key is not available. */
  requestOf({ requestId, content }: SampleRow): RequestContent | null {
    return content === null ? null : this.content.openRequest(requestId, content);
  }

  listAnswers(requestId: string): Promise<AnswerRow[]> {
    return this.database.rows<AnswerRow>(
      `SELECT ${ANSWER}, tokens_in::integer AS tokens_in, tokens_out::integer AS tokens_out
         FROM quality_score WHERE request_id = $1 ORDER BY role DESC, model`,
      [requestId],
    );
  }

  async changeState(requestId: string, from: SampleState, to: SampleState): Promise<void> {
    await this.database.query(
      'UPDATE quality_sample SET state = $3, changed_at = now() WHERE request_id = $1 AND state = $2',
      [requestId, from, to],
    );
  }

  /** Returns whether the sample is in the state, and locks the state until the transaction ends. */
  async lockInState(tx: Tx, requestId: string, state: SampleState): Promise<boolean> {
    const rows = await tx.query<unknown[]>(
      'SELECT FROM quality_sample WHERE request_id = $1 AND state = $2 FOR UPDATE',
      [requestId, state],
    );
    return rows.length > 0;
  }

  /** Ends a sample early: nothing is learned from it, and its texts are deleted. */
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
