import { Injectable } from '@nestjs/common';
import { ActivityLog, systemActor } from '../audit';
import { Database, RepeatingJob, type TableRow, type Tx } from '../platform';
import { ReplyStore } from './reply.store';

const BATCH_SIZE = 100;

interface RemovedConversations {
  readonly organisation_id: number | null;
  readonly count: number;
  readonly expired: number;
}

const DELETE_EXPIRED_SQL = `
  WITH chosen AS (
    SELECT c.id, c.organisation_id, c.updated_at < now() - make_interval(days => r.days) AS is_expired
      FROM conversation c LEFT JOIN conversation_retention r ON r.organisation_id = c.organisation_id
     WHERE c.updated_at < now() - make_interval(days => r.days)
        OR (c.updated_at < now() - interval '1 day'
            AND NOT EXISTS (SELECT FROM conversation_message m WHERE m.conversation_id = c.id))
     ORDER BY c.updated_at LIMIT ${BATCH_SIZE} FOR UPDATE OF c SKIP LOCKED
  ), gone AS (DELETE FROM conversation WHERE id IN (SELECT id FROM chosen) RETURNING id)
  SELECT organisation_id, count(*)::integer AS count, count(*) FILTER (WHERE is_expired)::integer AS expired
    FROM chosen JOIN gone USING (id) GROUP BY organisation_id`;

@Injectable()
export class ConversationRetention {
  constructor(
    private readonly database: Database,
    private readonly replies: ReplyStore,
    private readonly activity: ActivityLog,
  ) {}

  /** Retention in days; null keeps conversations until they are deleted. */
  async daysOf(organisationId: number, tx?: Tx): Promise<number | null> {
    const [row] = await (tx ?? this.database.source).query<TableRow<'conversation_retention', 'days'>[]>(
      'SELECT days FROM conversation_retention WHERE organisation_id = $1',
      [organisationId],
    );
    return row?.days ?? null;
  }

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

  /** Also removes conversations that were started and never used. */
  @RepeatingJob({ name: 'conversations', cron: '25 * * * *' })
  async removeExpired(signal: AbortSignal): Promise<number> {
    await this.replies.closeStale(null, null);
    let removed = 0;
    while (!signal.aborted) {
      const count = await this.database.transaction((tx) => this.removeBatch(tx));
      removed += count;
      if (count < BATCH_SIZE) break;
    }
    return removed;
  }

  /** Unused conversations hold no content and are removed without an activity entry. */
  private async removeBatch(tx: Tx): Promise<number> {
    const removed = await tx.query<RemovedConversations[]>(DELETE_EXPIRED_SQL);
    for (const { organisation_id: organisationId, expired } of removed) {
      if (expired === 0) continue;
      await this.activity.write(tx, {
        action: 'conversation.expired',
        object: { type: 'conversation', label: String(expired) },
        concerns: { organisationId },
        changes: { conversations: [expired, null] },
        actor: systemActor('retention'),
      });
    }
    return removed.reduce((sum, { count }) => sum + count, 0);
  }
}
