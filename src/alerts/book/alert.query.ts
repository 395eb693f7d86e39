import { Injectable } from '@nestjs/common';
import { ActivityLog, changesOf } from '../../audit';
import { fault, type Scope } from '../../kernel';
import { Database, Keyset, type Page, type PageRequest, readRows, type TableRow } from '../../platform';
import type { AlertOwner, Severity } from '../catalogue/kinds';
import type { AlertEvent, ChannelKind } from '../channels/channel';
import type { AlertFacts } from '../looks/detector';
import { insertDeliveries } from './alert.store';

export const alertStates = ['firing', 'acknowledged', 'resolved'] as const;
export type AlertState = (typeof alertStates)[number];

export type AlertView = TableRow<
  'alert',
  | 'id'
  | 'organisation_id'
  | 'department_id'
  | 'kind'
  | 'subject'
  | 'since'
  | 'told_at'
  | 'acknowledged_at'
  | 'resolved_at'
> & {
  readonly severity: Severity;
  readonly facts: AlertFacts;
  readonly state: AlertState;
  readonly acknowledgedBy: string | null;
  readonly organisationName: string | null;
};

export interface AlertFilter {
  /** Defaults to unresolved alerts. */
  readonly state?: AlertState | 'all' | undefined;
  readonly kind?: string | undefined;
  readonly severity?: Severity | undefined;
}

export type DeliveryView = TableRow<
  'alert_delivery',
  'id, created_at, due_at, attempts, last_error, done_at'
> & {
  readonly event: AlertEvent;
  readonly outcome: 'delivered' | 'failed' | 'dropped' | null;
  readonly channel: string;
  readonly channelKind: ChannelKind;
};

const COLUMNS = `a.id, a.organisation_id, a.department_id, a.kind, a.subject, a.severity, a.facts, a.state, a.since, a.told_at,
  a.acknowledged_at, a.resolved_at, u.display_name AS acknowledged_by, o.name AS organisation_name`;
const FROM = `alert a LEFT JOIN user_account u ON u.id = a.acknowledged_by
  LEFT JOIN organisation o ON o.id = a.organisation_id`;

const newestFirst = new Keyset(
  [
    { sql: 'a.since', kind: 'instant' },
    { sql: 'a.id', kind: 'integer' },
  ],
  'descending',
);

const MAX_DELIVERIES = 100;

/** Alerts of a scope belong to one owner; the platform's own alerts belong to no organisation. */
export function ownerOf(scope: Scope): AlertOwner {
  if (scope.kind === 'platform') return null;
  if (scope.kind === 'user') throw fault('permission_denied');
  return scope.organisationId;
}

/**
 * Condition for a single alert: links in messages work independently of the organisation chosen in the administration's
 * view.
 */
const reachCondition = (scope: Scope): { sql: string; values: unknown[] } =>
  scope.kind === 'platform' ? { sql: 'true', values: [] } : scopeCondition(scope);

function scopeCondition(scope: Scope): { sql: string; values: unknown[] } {
  const owner = ownerOf(scope);
  if (owner === null) return { sql: 'a.organisation_id IS NULL', values: [] };
  if (scope.kind !== 'department') return { sql: 'a.organisation_id = $1', values: [owner] };
  return { sql: 'a.organisation_id = $1 AND a.department_id = $2', values: [owner, scope.departmentId] };
}

@Injectable()
export class AlertQuery {
  constructor(
    private readonly database: Database,
    private readonly activity: ActivityLog,
  ) {}

  async page(scope: Scope, filter: AlertFilter, page: PageRequest): Promise<Page<AlertView>> {
    const { sql, values } = scopeCondition(scope);
    const conditions = [sql];
    const { state, kind, severity } = filter;
    if (state === undefined) conditions.push('a.resolved_at IS NULL');
    const equal = { state: state === 'all' ? undefined : state, kind, severity };
    for (const [name, value] of Object.entries(equal))
      if (value !== undefined) conditions.push(`a.${name} = $${values.push(value)}`);
    const keyset = newestFirst.clause(page, values.length + 2);
    const rows = await this.database.rows<AlertView>(
      `SELECT ${COLUMNS}, ${newestFirst.positions} FROM ${FROM}
        WHERE ${conditions.join(' AND ')} AND ${keyset.where}
        ORDER BY ${keyset.orderBy} LIMIT $${values.length + 1}`,
      [...values, keyset.limit, ...keyset.parameters],
    );
    return newestFirst.page(rows, page);
  }

  async open(scope: Scope): Promise<ReadonlyMap<Severity, number>> {
    const { sql, values } = scopeCondition(scope);
    const rows = await this.database.query<{ severity: Severity; count: number }>(
      `SELECT a.severity, count(*)::integer AS count FROM alert a WHERE ${sql} AND a.resolved_at IS NULL
        GROUP BY a.severity`,
      values,
    );
    return new Map(rows.map(({ severity, count }) => [severity, count]));
  }

  async get(scope: Scope, id: number): Promise<AlertView> {
    const { sql, values } = reachCondition(scope);
    const [row] = await this.database.rows<AlertView>(
      `SELECT ${COLUMNS} FROM ${FROM} WHERE ${sql} AND a.id = $${values.length + 1}`,
      [...values, id],
    );
    if (row === undefined)
      throw fault('not_found', { message: 'There is no such alert.', details: { reason: 'gone' } });
    return row;
  }

  /** Newest first. */
  deliveries(id: string): Promise<DeliveryView[]> {
    return this.database.rows<DeliveryView>(
      `SELECT d.id, d.event, d.created_at, d.due_at, d.attempts, d.outcome, d.last_error, d.done_at, c.name AS channel,
              c.kind AS channel_kind
         FROM alert_delivery d JOIN alert_channel c ON c.id = d.channel_id
        WHERE d.alert_id = $1 ORDER BY d.id DESC LIMIT ${MAX_DELIVERIES}`,
      [id],
    );
  }

  /** Stops notifications until the alert is resolved, and notifies channels that support acknowledgement. */
  async acknowledge(scope: Scope, id: number, by: number, reason?: string): Promise<void> {
    const alert = await this.get(scope, id);
    await this.database.transaction(async (tx) => {
      const [changed] = await readRows<{ id: string }>(
        tx,
        `UPDATE alert SET acknowledged_at = now(), acknowledged_by = $2 WHERE id = $1 AND state = 'firing' RETURNING id`,
        [id, by],
      );
      if (changed === undefined) return this.activity.reportNoChange();
      const notifiedChannels = await readRows<{ channelId: number; dueAt: Date }>(
        tx,
        `SELECT DISTINCT d.channel_id, now() AS due_at FROM alert_delivery d JOIN alert_channel c ON c.id = d.channel_id
          WHERE d.alert_id = $1 AND c.enabled AND c.kind IN ('webhook', 'pagerduty')`,
        [id],
      );
      await insertDeliveries(
        tx,
        notifiedChannels.map((row) => ({ ...row, alertId: alert.id, event: 'acknowledged' as const })),
      );
      await this.activity.write(tx, {
        action: 'alert.acknowledged',
        object: { type: 'alert', id: alert.id, label: alert.kind },
        concerns: { organisationId: alert.organisationId, departmentId: alert.departmentId },
        changes: changesOf({ state: 'firing' }, { state: 'acknowledged' }),
        ...(reason === undefined ? {} : { reason }),
      });
    });
  }
}
