import { Injectable } from '@nestjs/common';
import { ActivityLog, systemActor } from '../audit';
import { Database, RepeatingJob, type Row, type Tx } from '../platform';
import { AnswerKeeper } from './answer-keeper';

const ROWS_AT_ONCE = 100;

interface Gone {
  readonly organisation_id: number | null;
  readonly count: number;
  /** The organisation's retention ended so many of them. */
  readonly expired: number;
}

const EXPIRED = `
  WITH chosen AS (
    SELECT c.id, c.organisation_id, c.updated_at < now() - make_interval(days => r.days) AS is_expired
      FROM conversation c LEFT JOIN conversation_retention r ON r.organisation_id = c.organisation_id
     WHERE c.updated_at < now() - make_interval(days => r.days)
        OR (c.updated_at < now() - interval '1 day'
            AND NOT EXISTS (SELECT FROM conversation_message m WHERE m.conversation_id = c.id))
     ORDER BY c.updated_at LIMIT ${ROWS_AT_ONCE} FOR UPDATE OF c SKIP LOCKED
  ), gone AS (DELETE FROM conversation WHERE id IN (SELECT id FROM chosen) RETURNING id)
  SELECT organisation_id, count(*)::integer AS count, count(*) FILTER (WHERE is_expired)::integer AS expired
    FROM chosen JOIN gone USING (id) GROUP BY organisation_id`;

/** An organisation keeps its people's conversations for a time after their last message. */
@Injectable()
export class ConversationRetention {
  constructor(
    private readonly database: Database,
    private readonly keeper: AnswerKeeper,
    private readonly activity: ActivityLog,
  ) {}

  /** Null means until they are deleted. */
  async daysOf(organisationId: number, tx?: Tx): Promise<number | null> {
    const [row] = await (tx ?? this.database.source).query<Row<'conversation_retention', 'days'>[]>(
      'SELECT days FROM conversation_retention WHERE organisation_id = $1',
      [organisationId],
    );
    return row?.days ?? null;
  }

  /** Changes of one organisation's take turns. */
  async lockedDaysOf(tx: Tx, organisationId: number): Promise<number | null> {
    await tx.query('SELECT 1 FROM organisation WHERE id = $1 FOR NO KEY UPDATE', [organisationId]);
    return this.daysOf(organisationId, tx);
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

  /** It also ends those that were begun and never used. */
  @RepeatingJob({ name: 'conversations', cron: '25 * * * *' })
  async removeExpired(signal: AbortSignal): Promise<number> {
    await this.keeper.closeStale(null, null);
    let removed = 0;
    while (!signal.aborted) {
      const count = await this.database.transaction((tx) => this.removeSome(tx));
      removed += count;
      if (count < ROWS_AT_ONCE) break;
    }
    return removed;
  }

  /** One that was never used is no content: it goes without an entry. */
  private async removeSome(tx: Tx): Promise<number> {
    const gone = await tx.query<Gone[]>(EXPIRED);
    for (const { organisation_id: organisationId, expired } of gone) {
      if (expired === 0) continue;
      await this.activity.write(tx, {
        action: 'conversation.expired',
        object: { type: 'conversation', label: String(expired) },
        concerns: { organisationId },
        changes: { conversations: [expired, null] },
        actor: systemActor('retention'),
      });
    }
    return gone.reduce((sum, { count }) => sum + count, 0);
  }
}
