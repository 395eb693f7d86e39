import { Injectable } from '@nestjs/common';
import { Database, RepeatingJob, type Tx } from '../platform';
import { AnswerKeeper } from './answer-keeper';

const ROWS_AT_ONCE = 100;

/** How long an organisation keeps its people's conversations after their last message. */
@Injectable()
export class ConversationRetention {
  constructor(
    private readonly database: Database,
    private readonly keeper: AnswerKeeper,
  ) {}

  /** Null: until they are deleted. */
  async daysOf(organisationId: number, tx?: Tx): Promise<number | null> {
    const [row] = await (tx ?? this.database.source).query<{ days: number }[]>(
      'SELECT days FROM conversation_retention WHERE organisation_id = $1',
      [organisationId],
    );
    return row?.days ?? null;
  }

  async setDays(tx: Tx, organisationId: number, days: number | null): Promise<void> {
    if (days === null)
      await tx.query('DELETE FROM conversation_retention WHERE organisation_id = $1', [organisationId]);
    else
      await tx.query(
        `INSERT INTO conversation_retention (organisation_id, days) VALUES ($1, $2)
         ON CONFLICT ON CONSTRAINT conversation_retention_pkey DO UPDATE SET days = excluded.days`,
        [organisationId, days],
      );
  }

  /** Also those that were begun and never used. */
  @RepeatingJob({ name: 'conversations', cron: '25 * * * *' })
  async removeExpired(signal: AbortSignal): Promise<number> {
    await this.keeper.closeStale(null, null);
    let removed = 0;
    while (!signal.aborted) {
      const [row] = await this.database.query<{ count: number }>(
        `WITH gone AS (
           DELETE FROM conversation WHERE id IN (
             SELECT c.id FROM conversation c JOIN user_account u ON u.id = c.user_id
               LEFT JOIN conversation_retention r ON r.organisation_id = u.organisation_id
              WHERE c.updated_at < now() - make_interval(days => r.days)
                 OR (c.updated_at < now() - interval '1 day'
                     AND NOT EXISTS (SELECT FROM conversation_message m WHERE m.conversation_id = c.id))
              ORDER BY c.updated_at LIMIT ${ROWS_AT_ONCE} FOR UPDATE OF c SKIP LOCKED) RETURNING 1)
         SELECT count(*)::integer AS count FROM gone`,
      );
      const count = row?.count ?? 0;
      removed += count;
      if (count < ROWS_AT_ONCE) break;
    }
    return removed;
  }
}
