import { Injectable } from '@nestjs/common';
import { Database, type TableRow, type Tx } from '../../platform';
import { AnswerSignals } from './answer-signals';

export const thumbs = ['up', 'down'] as const;
export type Thumb = (typeof thumbs)[number];

/** Request that the caller of the use case has already found among the user's own. */
export interface AnsweredRequest {
  readonly requestId: string;
  readonly userId: number;
  readonly organisationId: number | null;
  readonly model: string;
}

/** A retry within this time means that the reply was unsatisfactory; a later one might have other reasons. */
const RETRY_SECONDS = 60;
const NOT_LOGGED = { withoutActivity: 'a thumb on one’s own answer changes nothing of the service' } as const;

@Injectable()
export class AnswerFeedback {
  constructor(
    private readonly database: Database,
    private readonly signals: AnswerSignals,
  ) {}

  /** Null withdraws a thumb. Safe to repeat: only changes are announced. */
  async give(request: AnsweredRequest, thumb: Thumb | null): Promise<void> {
    await this.database.transaction(async (tx) => {
      await lock(tx, request);
      const current = await this.thumbOf(tx, request);
      if (current === thumb) return;
      const isWritten = thumb === null ? await withdraw(tx, request) : await write(tx, request, thumb);
      if (!isWritten || !(await isRecent(tx, request))) return;
      await this.signals.announce(tx, request, {
        failed: toNumber(thumb === 'down') - toNumber(current === 'down'),
        answered: toNumber(thumb === 'up') - toNumber(current === 'up'),
      });
    }, NOT_LOGGED);
  }

  /** Records that a request was repeated soon after its reply; only the first time counts. */
  async recordRetry(
    { requestId, userId, organisationId, model }: AnsweredRequest,
    answeredAt: Date,
  ): Promise<void> {
    await this.database.transaction(async (tx) => {
      const inserted = await tx.query<unknown[]>(
        `INSERT INTO answer_feedback AS f (request_id, organisation_id, user_id, model, retried_at)
         SELECT $1, $2, $3, $4, now() WHERE $5::timestamptz > now() - make_interval(secs => ${RETRY_SECONDS})
         ON CONFLICT ON CONSTRAINT answer_feedback_pkey
         DO UPDATE SET retried_at = now(), changed_at = now()
          WHERE f.retried_at IS NULL AND f.user_id = EXCLUDED.user_id RETURNING request_id`,
        [requestId, organisationId, userId, model, answeredAt],
      );
      if (inserted.length > 0)
        await this.signals.announce(tx, { organisationId, model }, { failed: 1, answered: 0 });
    }, NOT_LOGGED);
  }

  async thumbsOf(userId: number, requestIds: readonly string[]): Promise<ReadonlyMap<string, Thumb>> {
    if (requestIds.length === 0) return new Map();
    const rows = await this.database.rows<
      TableRow<'answer_feedback', 'request_id'> & { readonly verdict: Thumb }
    >(
      `SELECT request_id, verdict FROM answer_feedback
        WHERE user_id = $1 AND request_id = ANY ($2::uuid[]) AND verdict IS NOT NULL`,
      [userId, requestIds],
    );
    return new Map(rows.map(({ requestId, verdict }) => [requestId, verdict]));
  }

  private async thumbOf(tx: Tx, { requestId, userId }: AnsweredRequest): Promise<Thumb | null> {
    const [row] = await tx.query<TableRow<'answer_feedback', 'verdict'>[]>(
      'SELECT verdict FROM answer_feedback WHERE request_id = $1 AND user_id = $2',
      [requestId, userId],
    );
    return row?.verdict ?? null;
  }
}

const toNumber = (value: boolean): number => (value ? 1 : 0);

/** Serialises changes: two concurrent ones would both see no previous thumb. */
async function lock(tx: Tx, { requestId }: AnsweredRequest): Promise<void> {
  await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`feedback ${requestId}`]);
}

/** Returns false for a reply to another user. */
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

async function withdraw(tx: Tx, { requestId, userId }: AnsweredRequest): Promise<true> {
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

/** Feedback on an older reply says nothing about how its model performs now. */
async function isRecent(tx: Tx, { requestId, userId }: AnsweredRequest): Promise<boolean> {
  const rows = await tx.query<unknown[]>(
    `SELECT 1 FROM request_record
      WHERE request_id = $1 AND user_id = $2 AND created_at > now() - interval '1 hour' LIMIT 1`,
    [requestId, userId],
  );
  return rows.length > 0;
}
