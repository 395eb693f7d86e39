import { Injectable } from '@nestjs/common';
import { Database } from '../../platform';

export const thumbs = ['up', 'down'] as const;
export type Thumb = (typeof thumbs)[number];

/** Of whom and what it is: the caller of the use case has found the request among the person's own. */
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

/** What people say of answers to their own requests, once an answer; it may be changed and taken back. */
@Injectable()
export class AnswerFeedback {
  constructor(private readonly database: Database) {}

  /** Null takes a thumb back. */
  async give(
    { requestId, userId, organisationId, model }: AnsweredRequest,
    thumb: Thumb | null,
  ): Promise<void> {
    await this.database.transaction(async (tx) => {
      if (thumb === null) {
        await tx.query(
          `DELETE FROM answer_feedback WHERE request_id = $1 AND user_id = $2 AND retried_at IS NULL`,
          [requestId, userId],
        );
        await tx.query(
          `UPDATE answer_feedback SET verdict = NULL, changed_at = now() WHERE request_id = $1 AND user_id = $2`,
          [requestId, userId],
        );
        return;
      }
      await tx.query(
        `INSERT INTO answer_feedback AS f (request_id, organisation_id, user_id, model, verdict)
         VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT ON CONSTRAINT answer_feedback_pkey
         DO UPDATE SET verdict = EXCLUDED.verdict, changed_at = now() WHERE f.user_id = EXCLUDED.user_id`,
        [requestId, organisationId, userId, model, thumb],
      );
    }, OWN_WORD);
  }

  /** Of a question that was asked again soon after its answer; the first time counts. */
  async noteRetry(
    { requestId, userId, organisationId, model }: AnsweredRequest,
    answeredAt: Date,
  ): Promise<void> {
    await this.database.transaction(
      (tx) =>
        tx.query(
          `INSERT INTO answer_feedback AS f (request_id, organisation_id, user_id, model, retried_at)
           SELECT $1, $2, $3, $4, now() WHERE $5::timestamptz > now() - make_interval(secs => ${RETRY_SECONDS})
           ON CONFLICT ON CONSTRAINT answer_feedback_pkey
           DO UPDATE SET retried_at = now(), changed_at = now()
            WHERE f.retried_at IS NULL AND f.user_id = EXCLUDED.user_id`,
          [requestId, organisationId, userId, model, answeredAt],
        ),
      OWN_WORD,
    );
  }

  /** The thumbs that a person gave to some of their requests. */
  async thumbsOf(userId: number, requestIds: readonly string[]): Promise<ReadonlyMap<string, Thumb>> {
    if (requestIds.length === 0) return new Map();
    const rows = await this.database.query<{ request_id: string; verdict: Thumb }>(
      `SELECT request_id, verdict FROM answer_feedback
        WHERE user_id = $1 AND request_id = ANY ($2::uuid[]) AND verdict IS NOT NULL`,
      [userId, requestIds],
    );
    return new Map(rows.map(({ request_id: requestId, verdict }) => [requestId, verdict]));
  }
}
