import type { Database, TableRow } from '../../platform';
import type { NotifiableAlert } from '../channels/alert-wording';
import type { AlertEvent } from '../channels/channel';

const BATCH_SIZE = 200;

export type DeliveryRow = TableRow<'alert_delivery', 'id, alert_id, channel_id, created_at, attempts'> &
  Omit<NotifiableAlert, 'id'> & {
    readonly event: AlertEvent;
    readonly isAcknowledged: boolean;
    /** An earlier message about the alert reached the channel. */
    readonly isKnown: boolean;
  };

/**
 * Messages of one alert reach a channel in order. Messages that failed before come last, so that they do not delay
 * others.
 */
const DUE = `
  SELECT d.id, d.alert_id, d.channel_id, d.event, d.created_at, d.attempts, a.organisation_id, a.department_id, a.kind,
         a.severity, a.facts, a.since, a.resolved_at, a.acknowledged_at IS NOT NULL AS is_acknowledged,
         o.name AS organisation_name,
         EXISTS (SELECT FROM alert_delivery e WHERE e.alert_id = d.alert_id AND e.channel_id = d.channel_id
                  AND e.outcome = 'delivered') AS is_known
    FROM alert_delivery d JOIN alert a ON a.id = d.alert_id LEFT JOIN organisation o ON o.id = a.organisation_id
   WHERE d.outcome IS NULL AND d.due_at <= $1
     AND NOT EXISTS (SELECT FROM alert_delivery e WHERE e.alert_id = d.alert_id AND e.channel_id = d.channel_id
                      AND e.id < d.id AND e.outcome IS NULL)
   ORDER BY d.attempts, d.id LIMIT ${BATCH_SIZE}`;

export const listDueDeliveries = (database: Database, now: Date): Promise<DeliveryRow[]> =>
  database.rows<DeliveryRow>(DUE, [now]);

export async function readDatabaseTime(database: Database): Promise<Date> {
  const [row] = await database.query<{ now: Date }>('SELECT now() AS now');
  return row!.now;
}
