import { Injectable } from '@nestjs/common';
import { Database, Logger, Metrics, RepeatingJob, Settings } from '../../platform';
import { TapCounts } from './tap-counts';
import { Taps } from './taps';

const EXPIRES_AFTER = '30 days';
const DELETE_BATCH_SIZE = 10_000;

const BEHIND = '(o.xid, o.id) > (t.after_xid, t.after_id)';
const ENDED = 'o.xid < pg_snapshot_xmin(pg_current_snapshot())';

/** Newest entry that exceeds a full backlog, and the number of entries dropped with it. */
const TRIM = `
  WITH edge AS (
    SELECT e.xid, e.id,
           (SELECT count(*) FROM tap_outbox o WHERE ${BEHIND} AND (o.xid, o.id) <= (e.xid, e.id)) AS lost
      FROM tap t CROSS JOIN LATERAL (
        SELECT o.xid, o.id FROM tap_outbox o WHERE ${BEHIND} AND ${ENDED}
         ORDER BY o.xid DESC, o.id DESC OFFSET $2 LIMIT 1) e
     WHERE t.name = $1)
  UPDATE tap t SET after_xid = edge.xid, after_id = edge.id, dropped = dropped + edge.lost FROM edge
   WHERE t.name = $1 AND (t.after_xid, t.after_id) < (edge.xid, edge.id) RETURNING edge.lost`;

const DELETE_SOME = `
  WITH low AS (SELECT after_xid, after_id FROM tap ORDER BY after_xid, after_id LIMIT 1), done AS (
    SELECT o.xid, o.id FROM tap_outbox o
     WHERE (o.xid, o.id) <= ((SELECT after_xid FROM low), (SELECT after_id FROM low)) ORDER BY o.xid, o.id LIMIT $1)
  DELETE FROM tap_outbox o USING done WHERE o.xid = done.xid AND o.id = done.id RETURNING o.id`;

const DELETE_UNWANTED = `
  WITH done AS (SELECT xid, id FROM tap_outbox WHERE NOT EXISTS (SELECT FROM tap) LIMIT $1)
  DELETE FROM tap_outbox o USING done WHERE o.xid = done.xid AND o.id = done.id RETURNING o.id`;

/** Keeps the outbox small: deletes entries that all taps have, and the oldest ones if a tap is too far behind. */
@Injectable()
export class TapMaintenance {
  private readonly counts: TapCounts;

  constructor(
    private readonly database: Database,
    private readonly settings: Settings,
    taps: Taps,
    metrics: Metrics,
    private readonly logger: Logger,
  ) {
    this.counts = new TapCounts(metrics, new Set(taps.all.map(({ name }) => name)));
  }

  @RepeatingJob({ name: 'taps', cron: '* * * * *' })
  async runMaintenance(signal: AbortSignal): Promise<void> {
    const expiredTaps = await this.database.rows<{ name: string }>(
      `DELETE FROM tap WHERE listed_at < now() - interval '${EXPIRES_AFTER}' RETURNING name`,
    );
    for (const { name } of expiredTaps)
      this.logger.info('a tap that is no longer listed was forgotten', { tap: name });
    const taps = await this.database.rows<{ name: string }>('SELECT name FROM tap ORDER BY name');
    for (const { name } of taps) await this.trim(name);
    const statement = taps.length === 0 ? DELETE_UNWANTED : DELETE_SOME;
    while (!signal.aborted) {
      const deleted = await this.database.rows(statement, [DELETE_BATCH_SIZE]);
      if (deleted.length < DELETE_BATCH_SIZE) return;
    }
  }

  private async trim(name: string): Promise<void> {
    const [row] = await this.database.rows<{ lost: string }>(TRIM, [name, this.settings.tapBacklog]);
    if (row === undefined) return;
    const entries = Number(row.lost);
    this.counts.add(name, 'dropped', entries);
    this.logger.error('the backlog of a tap was full: its oldest entries left', { tap: name, entries });
  }
}
