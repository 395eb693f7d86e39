import { HOUR_MS, MINUTE_MS } from '../../kernel';
import { Injectable } from '@nestjs/common';
import { Database, readRows, type TableRow, type Tx } from '../../platform';
import { type AlertKind, isAtLeastSeverity, type Severity } from '../catalogue/kinds';
import type { AlertEvent, Channel } from '../channels/channel';
import type { AlertCondition } from '../looks/detector';
import type { AlertRuleSet } from '../rules/alert-rules';
import { quietUntil } from '../rules/quiet-hours';

const MAX_ALERTS_PER_KIND = 5_000;

type OpenAlert = TableRow<
  'alert',
  'id, organisation_id, since, seen_at, good_since, told_at, acknowledged_at, resolved_at'
> & {
  readonly severity: Severity;
  readonly toldSeverity: Severity | null;
};

const COLUMNS = `id, organisation_id, severity, since, seen_at, good_since, told_at, told_severity, acknowledged_at,
  resolved_at`;

const UPSERT_SEEN = `
  INSERT INTO alert AS a (organisation_id, department_id, kind, subject, severity, facts, since, seen_at)
  SELECT DISTINCT ON (c.owner, c.subject) c.owner, d.id, $1, c.subject, c.severity, c.facts, $3, $3
    FROM jsonb_to_recordset($2::jsonb) AS c (owner integer, department integer, subject text, severity text, facts jsonb)
    LEFT JOIN department d ON d.id = c.department
   WHERE c.owner IS NULL OR EXISTS (SELECT FROM organisation o WHERE o.id = c.owner)
   ORDER BY c.owner, c.subject
  ON CONFLICT (kind, organisation_id, subject) WHERE resolved_at IS NULL DO UPDATE
     SET seen_at = excluded.seen_at, severity = excluded.severity, facts = excluded.facts,
         department_id = excluded.department_id, good_since = NULL`;

/** Resolves an alert only after its condition has been absent for a while, so that alerts do not flap. */
const RESOLVE_UNSEEN = `
  UPDATE alert SET good_since = coalesce(good_since, $2::timestamptz),
         resolved_at = CASE WHEN coalesce(good_since, $2::timestamptz) <= $2::timestamptz - $3 * interval '1 millisecond'
                            THEN greatest($2::timestamptz, since) END
   WHERE kind = $1 AND resolved_at IS NULL AND seen_at < $2
  RETURNING ${COLUMNS}`;

interface NewDelivery {
  readonly alertId: string;
  readonly channelId: number;
  readonly event: AlertEvent;
  readonly dueAt: Date;
}

export interface DeliveryContext {
  readonly rules: AlertRuleSet;
  readonly channels: readonly Channel[];
  readonly now: Date;
}

@Injectable()
export class AlertStore {
  constructor(private readonly database: Database) {}

  async openKinds(): Promise<ReadonlySet<string>> {
    const rows = await this.database.query<{ kind: string }>(
      'SELECT DISTINCT kind FROM alert WHERE resolved_at IS NULL',
    );
    return new Set(rows.map(({ kind }) => kind));
  }

  async recordConditions(
    kind: AlertKind,
    conditions: readonly AlertCondition[],
    context: DeliveryContext,
  ): Promise<void> {
    const { now } = context;
    const rows = conditions.slice(0, MAX_ALERTS_PER_KIND).map((condition) => ({
      owner: condition.owner,
      department: condition.departmentId ?? null,
      subject: condition.subject.slice(0, 500),
      severity: condition.severity ?? kind.severity,
      facts: condition.facts,
    }));
    await this.database.transaction(
      async (tx) => {
        if (rows.length > 0) await tx.query(UPSERT_SEEN, [kind.name, JSON.stringify(rows), now]);
        const unseen = await readRows<OpenAlert>(tx, RESOLVE_UNSEEN, [
          kind.name,
          now,
          kind.goodMinutes * MINUTE_MS,
        ]);
        const open = await readRows<OpenAlert>(
          tx,
          `SELECT ${COLUMNS} FROM alert WHERE kind = $1 AND resolved_at IS NULL AND acknowledged_at IS NULL
              AND good_since IS NULL ORDER BY since, id LIMIT ${MAX_ALERTS_PER_KIND}`,
          [kind.name],
        );
        await queueFiring(tx, kind, open, context);
        const resolved = unseen.filter(({ resolvedAt }) => resolvedAt !== null && resolvedAt !== undefined);
        await queueResolved(tx, resolved, context);
      },
      { withoutActivity: 'the service finds and tells of these by itself' },
    );
  }
}

/** Event for which a firing alert is notified now; null if none. */
function reasonOf(alert: OpenAlert, repeatHours: number, now: Date): AlertEvent | null {
  const { toldAt, toldSeverity, severity } = alert;
  if (toldAt === null || toldSeverity === null) return 'triggered';
  if (!isAtLeastSeverity(toldSeverity, severity)) return 'raised';
  const isDue = repeatHours > 0 && now.getTime() - toldAt.getTime() >= repeatHours * HOUR_MS;
  return isDue ? 'repeated' : null;
}

async function queueFiring(
  tx: Tx,
  kind: AlertKind,
  open: readonly OpenAlert[],
  { rules, channels, now }: DeliveryContext,
): Promise<void> {
  const deliveries: NewDelivery[] = [];
  const notified: OpenAlert[] = [];
  for (const alert of open) {
    const owner = alert.organisationId;
    const settings = rules.settings(owner);
    const { mutedUntil, channels: channelIds } = rules.rule(owner, kind);
    const event = reasonOf(alert, settings.repeatHours, now);
    if (event === null || (mutedUntil !== null && mutedUntil > now)) continue;
    const breaksQuietHours = alert.severity === 'urgent' && settings.urgentBreaksQuiet;
    // An alert that still fires after the quiet hours is notified then.
    if (!breaksQuietHours && quietUntil(settings, now) !== null) continue;
    const targets = channels.filter(
      (channel) =>
        channel.organisationId === owner &&
        isAtLeastSeverity(alert.severity, channel.leastSeverity) &&
        (channelIds === null || channelIds.includes(channel.id)) &&
        !(channel.kind === 'mail' && kind.isMailedElsewhere),
    );
    if (targets.length === 0) continue;
    notified.push(alert);
    deliveries.push(...targets.map(({ id }) => ({ alertId: alert.id, channelId: id, event, dueAt: now })));
  }
  await insertDeliveries(tx, deliveries);
  if (notified.length > 0)
    await tx.query('UPDATE alert SET told_at = $2, told_severity = severity WHERE id = ANY ($1::bigint[])', [
      notified.map(({ id }) => id),
      now,
    ]);
}

/** Notifies the channels that were notified of the alert; channels for people wait for the end of quiet hours. */
async function queueResolved(
  tx: Tx,
  resolved: readonly OpenAlert[],
  { rules, now }: DeliveryContext,
): Promise<void> {
  if (resolved.length === 0) return;
  const notifiedChannels = await readRows<{
    alertId: string;
    channelId: number;
    channelKind: Channel['kind'];
  }>(
    tx,
    `SELECT DISTINCT d.alert_id, d.channel_id, c.kind AS channel_kind
       FROM alert_delivery d JOIN alert_channel c ON c.id = d.channel_id
      WHERE d.alert_id = ANY ($1::bigint[]) AND c.enabled ORDER BY 1, 2`,
    [resolved.map(({ id }) => id)],
  );
  const byId = new Map(resolved.map((alert) => [alert.id, alert]));
  const deliveries = notifiedChannels.map(({ alertId, channelId, channelKind }): NewDelivery => {
    const { organisationId, severity } = byId.get(alertId)!;
    const settings = rules.settings(organisationId);
    const isForPeople = channelKind !== 'webhook' && channelKind !== 'pagerduty';
    const breaksQuietHours = severity === 'urgent' && settings.urgentBreaksQuiet;
    const quiet = isForPeople && !breaksQuietHours ? quietUntil(settings, now) : null;
    return { alertId, channelId, event: 'resolved', dueAt: quiet ?? now };
  });
  await insertDeliveries(tx, deliveries);
}

export async function insertDeliveries(tx: Tx, deliveries: readonly NewDelivery[]): Promise<void> {
  if (deliveries.length === 0) return;
  await tx.query(
    `INSERT INTO alert_delivery (alert_id, channel_id, event, due_at)
     SELECT * FROM unnest($1::bigint[], $2::integer[], $3::text[], $4::timestamptz[])`,
    [
      deliveries.map(({ alertId }) => alertId),
      deliveries.map(({ channelId }) => channelId),
      deliveries.map(({ event }) => event),
      deliveries.map(({ dueAt }) => dueAt),
    ],
  );
}
