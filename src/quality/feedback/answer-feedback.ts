import { Injectable } from '@nestjs/common';
import { Database, type Row, type Tx } from '../../platform';
import { AnswerSignals } from './answer-signals';

export const thumbs = ['up', 'down'] as const;
export type Thumb = (typeof thumbs)[number];

/** It says whose and what it is: the caller of the use case has found the request among the person's own. */
export interface AnsweredRequest {
  readonly requestId: string;
  readonly userId: number;
  readonly organisationId: number | null;
  /** The model that answered. */
  readonly model: string;
}

/** A retry within this long says that the answer was no good; a later one may have other reasons. */
const RETRY_SECONDS = 60;
const OWN_WORD = { withoutActivity: 'a thumb on one’s own answer changes nothing of the service' } as const;

/** People judge answers to their own requests, each once; they may change the judgement and take it back. */
@Injectable()
export class AnswerFeedback {
  constructor(
    private readonly database: Database,
    private readonly signals: AnswerSignals,
  ) {}

  /** Null takes a thumb back. Safe to repeat: only a change is announced. */
  async give(request: AnsweredRequest, thumb: Thumb | null): Promise<void> {
    await this.database.transaction(async (tx) => {
      await lock(tx, request);
      const before = await this.thumbOf(tx, request);
      if (before === thumb) return;
      const isWritten = thumb === null ? await takeBack(tx, request) : await write(tx, request, thumb);
      if (!isWritten || !(await isRecent(tx, request))) return;
      await this.signals.announce(tx, request, {
        failed: count(thumb === 'down') - count(before === 'down'),
        answered: count(thumb === 'up') - count(before === 'up'),
      });
    }, OWN_WORD);
  }

  /** A question was asked again soon after its answer; the first time counts. */
  async noteRetry(
    { requestId, userId, organisationId, model }: AnsweredRequest,
    answeredAt: Date,
  ): Promise<void> {
    await this.database.transaction(async (tx) => {
      const noted = await tx.query<unknown[]>(
        `INSERT INTO answer_feedback AS f (request_id, organisation_id, user_id, model, retried_at)
         SELECT $1, $2, $3, $4, now() WHERE $5::timestamptz > now() - make_interval(secs => ${RETRY_SECONDS})
         ON CONFLICT ON CONSTRAINT answer_feedback_pkey
         DO UPDATE SET retried_at = now(), changed_at = now()
          WHERE f.retried_at IS NULL AND f.user_id = EXCLUDED.user_id RETURNING request_id`,
        [requestId, organisationId, userId, model, answeredAt],
      );
      if (noted.length > 0)
        await this.signals.announce(tx, { organisationId, model }, { failed: 1, answered: 0 });
    }, OWN_WORD);
  }

  /** The thumbs that a person gave to some of their requests. */
  async thumbsOf(userId: number, requestIds: readonly string[]): Promise<ReadonlyMap<string, Thumb>> {
    if (requestIds.length === 0) return new Map();
    const rows = await this.database.rows<Row<'answer_feedback', 'request_id'> & { readonly verdict: Thumb }>(
      `SELECT request_id, verdict FROM answer_feedback
        WHERE user_id = $1 AND request_id = ANY ($2::uuid[]) AND verdict IS NOT NULL`,
      [userId, requestIds],
    );
    return new Map(rows.map(({ requestId, verdict }) => [requestId, verdict]));
  }

  private async thumbOf(tx: Tx, { requestId, userId }: AnsweredRequest): Promise<Thumb | null> {
    const [row] = await tx.query<Row<'answer_feedback', 'verdict'>[]>(
      'SELECT verdict FROM answer_feedback WHERE request_id = $1 AND user_id = $2',
      [requestId, userId],
    );
    return row?.verdict ?? null;
  }
}

const count = (is: boolean): number => (is ? 1 : 0);

/** Two at once would both see nothing before them. */
async function lock(tx: Tx, { requestId }: AnsweredRequest): Promise<void> {
  await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`feedback ${requestId}`]);
}

/** It returns false for an answer of another person. */
async function write(
  tx: Tx,
  { requestId, userId, organisationId, model }: AnsweredRequest,
  thumb: Thumb,
): Promise<boolean> {
  const rows = await tx.query<unknown[]>(
    `INSERT INTO answer_feedback AS f (request_id, organisation_id, user_id, model, verdict)
     VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT ON CONSTRAINT answer_feedback_pkey
     DO UPDATE SET verdict = EXCLUDED.verdict, changed_at = now() WHERE f.user_id = EXCLUDED.user_id
     RETURNING request_id`,
    [requestId, organisationId, userId, model, thumb],
  );
  return rows.length > 0;
}

async function takeBack(tx: Tx, { requestId, userId }: AnsweredRequest): Promise<true> {
  await tx.query(
    `DELETE FROM answer_feedback WHERE request_id = $1 AND user_id = $2 AND retried_at IS NULL`,
    [requestId, userId],
  );
  await tx.query(
    `UPDATE answer_feedback SET verdict = NULL, changed_at = now() WHERE request_id = $1 AND user_id = $2`,
    [requestId, userId],
  );
  return true;
}

/** Words about an older answer tell nothing of how its model does now. */
async function isRecent(tx: Tx, { requestId, userId }: AnsweredRequest): Promise<boolean> {
  const rows = await tx.query<unknown[]>(
    `SELECT 1 FROM request_record
      WHERE request_id = $1 AND user_id = $2 AND created_at > now() - interval '1 hour' LIMIT 1`,
    [requestId, userId],
  );
  return rows.length > 0;
}
