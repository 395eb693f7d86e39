import { HOUR_MS, MINUTE_MS } from '../../kernel';
import { Injectable } from '@nestjs/common';
import { Database, readRows, type Row, type Tx } from '../../platform';
import { type AlertKind, isAsGrave, type Severity } from '../catalogue/kinds';
import type { AlertEvent, Channel } from '../channels/channel';
import type { Condition } from '../looks/look';
import type { RuleBook } from '../rules/alert-rules';
import { quietUntil } from '../rules/quiet-hours';

/** More of one kind are not told one by one. */
const MOST = 5_000;

type OpenAlert = Row<
  'alert',
  'id, organisation_id, since, seen_at, good_since, told_at, acknowledged_at, resolved_at'
> & {
  readonly severity: Severity;
  readonly toldSeverity: Severity | null;
};

const COLUMNS = `id, organisation_id, severity, since, seen_at, good_since, told_at, told_severity, acknowledged_at,
  resolved_at`;

/** What is found anew begins an alert; what is known goes on. */
const SEEN = `
  INSERT INTO alert AS a (organisation_id, department_id, kind, subject, severity, facts, since, seen_at)
  SELECT DISTINCT ON (c.owner, c.subject) c.owner, d.id, $1, c.subject, c.severity, c.facts, $3, $3
    FROM jsonb_to_recordset($2::jsonb) AS c (owner integer, department integer, subject text, severity text, facts jsonb)
    LEFT JOIN department d ON d.id = c.department
   WHERE c.owner IS NULL OR EXISTS (SELECT FROM organisation o WHERE o.id = c.owner)
   ORDER BY c.owner, c.subject
  ON CONFLICT (kind, organisation_id, subject) WHERE resolved_at IS NULL DO UPDATE
     SET seen_at = excluded.seen_at, severity = excluded.severity, facts = excluded.facts,
         department_id = excluded.department_id, good_since = NULL`;

/** What is not found any more is over once it has been so for a while: nothing fires anew at every other look. */
const UNSEEN = `
  UPDATE alert SET good_since = coalesce(good_since, $2::timestamptz),
         resolved_at = CASE WHEN coalesce(good_since, $2::timestamptz) <= $2::timestamptz - $3 * interval '1 millisecond'
                            THEN greatest($2::timestamptz, since) END
   WHERE kind = $1 AND resolved_at IS NULL AND seen_at < $2
  RETURNING ${COLUMNS}`;

interface Telling {
  readonly alertId: string;
  readonly channelId: number;
  readonly event: AlertEvent;
  readonly dueAt: Date;
}

export interface TellingRules {
  readonly rules: RuleBook;
  readonly channels: readonly Channel[];
  readonly now: Date;
}

/** The alerts in their rows: what fires, what is over, and which messages that makes. */
@Injectable()
export class AlertBook {
  constructor(private readonly database: Database) {}

  /** Kinds with an alert that is not over. */
  async openKinds(): Promise<ReadonlySet<string>> {
    const rows = await this.database.query<{ kind: string }>(
      'SELECT DISTINCT kind FROM alert WHERE resolved_at IS NULL',
    );
    return new Set(rows.map(({ kind }) => kind));
  }

  /** One look at a kind, with everything that follows from it, in one transaction. */
  async enter(kind: AlertKind, conditions: readonly Condition[], telling: TellingRules): Promise<void> {
    const { now } = telling;
    const rows = conditions.slice(0, MOST).map((condition) => ({
      owner: condition.owner,
      department: condition.departmentId ?? null,
      subject: condition.subject.slice(0, 500),
      severity: condition.severity ?? kind.severity,
      facts: condition.facts,
    }));
    await this.database.transaction(
      async (tx) => {
        if (rows.length > 0) await tx.query(SEEN, [kind.name, JSON.stringify(rows), now]);
        const unseen = await readRows<OpenAlert>(tx, UNSEEN, [kind.name, now, kind.goodMinutes * MINUTE_MS]);
        const open = await readRows<OpenAlert>(
          tx,
          `SELECT ${COLUMNS} FROM alert WHERE kind = $1 AND resolved_at IS NULL AND acknowledged_at IS NULL
              AND good_since IS NULL ORDER BY since, id LIMIT ${MOST}`,
          [kind.name],
        );
        await tell(tx, kind, open, telling);
        const over = unseen.filter(({ resolvedAt }) => resolvedAt !== null && resolvedAt !== undefined);
        await tellOver(tx, over, telling);
      },
      { withoutActivity: 'the service finds and tells of these by itself' },
    );
  }
}

/** Why a firing alert is told now; null where it is not. */
function reasonOf(alert: OpenAlert, repeatHours: number, now: Date): AlertEvent | null {
  const { toldAt, toldSeverity, severity } = alert;
  if (toldAt === null || toldSeverity === null) return 'triggered';
  if (!isAsGrave(toldSeverity, severity)) return 'raised';
  const isDue = repeatHours > 0 && now.getTime() - toldAt.getTime() >= repeatHours * HOUR_MS;
  return isDue ? 'repeated' : null;
}

async function tell(
  tx: Tx,
  kind: AlertKind,
  open: readonly OpenAlert[],
  { rules, channels, now }: TellingRules,
): Promise<void> {
  const made: Telling[] = [];
  const told: OpenAlert[] = [];
  for (const alert of open) {
    const owner = alert.organisationId;
    const settings = rules.settings(owner);
    const { mutedUntil, channels: chosen } = rules.rule(owner, kind);
    const event = reasonOf(alert, settings.repeatHours, now);
    if (event === null || (mutedUntil !== null && mutedUntil > now)) continue;
    const breaks = alert.severity === 'urgent' && settings.urgentBreaksQuiet;
    // What fires on when the quiet hours are over is told then.
    if (!breaks && quietUntil(settings, now) !== null) continue;
    const through = channels.filter(
      (channel) =>
        channel.organisationId === owner &&
        isAsGrave(alert.severity, channel.leastSeverity) &&
        (chosen === null || chosen.includes(channel.id)) &&
        !(channel.kind === 'mail' && kind.isMailedElsewhere),
    );
    if (through.length === 0) continue;
    told.push(alert);
    made.push(...through.map(({ id }) => ({ alertId: alert.id, channelId: id, event, dueAt: now })));
  }
  await write(tx, made);
  if (told.length > 0)
    await tx.query('UPDATE alert SET told_at = $2, told_severity = severity WHERE id = ANY ($1::bigint[])', [
      told.map(({ id }) => id),
      now,
    ]);
}

/** Those who heard that it fires hear that it is over; people, not in their quiet hours. */
async function tellOver(tx: Tx, over: readonly OpenAlert[], { rules, now }: TellingRules): Promise<void> {
  if (over.length === 0) return;
  const heard = await readRows<{ alertId: string; channelId: number; channelKind: Channel['kind'] }>(
    tx,
    `SELECT DISTINCT d.alert_id, d.channel_id, c.kind AS channel_kind
       FROM alert_delivery d JOIN alert_channel c ON c.id = d.channel_id
      WHERE d.alert_id = ANY ($1::bigint[]) AND c.enabled ORDER BY 1, 2`,
    [over.map(({ id }) => id)],
  );
  const byId = new Map(over.map((alert) => [alert.id, alert]));
  const made = heard.map(({ alertId, channelId, channelKind }): Telling => {
    const { organisationId, severity } = byId.get(alertId)!;
    const settings = rules.settings(organisationId);
    const isForPeople = channelKind !== 'webhook' && channelKind !== 'pagerduty';
    const breaks = severity === 'urgent' && settings.urgentBreaksQuiet;
    const quiet = isForPeople && !breaks ? quietUntil(settings, now) : null;
    return { alertId, channelId, event: 'resolved', dueAt: quiet ?? now };
  });
  await write(tx, made);
}

export async function write(tx: Tx, made: readonly Telling[]): Promise<void> {
  if (made.length === 0) return;
  await tx.query(
    `INSERT INTO alert_delivery (alert_id, channel_id, event, due_at)
     SELECT * FROM unnest($1::bigint[], $2::integer[], $3::text[], $4::timestamptz[])`,
    [
      made.map(({ alertId }) => alertId),
      made.map(({ channelId }) => channelId),
      made.map(({ event }) => event),
      made.map(({ dueAt }) => dueAt),
    ],
  );
}
