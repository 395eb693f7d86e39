import { Injectable } from '@nestjs/common';
import type { Scope } from '../../kernel';
import { Database, everyRow, Keyset, type Page, type PageRequest } from '../../platform';
import { SqlParameters } from '../sql-parameters';
import type { ActionName, ObjectType } from './action-names';
import type { ActivityActor } from './activity';
import type { Changes } from './changes';

export interface ActivityEntry {
  readonly id: string;
  readonly occurredAt: Date;
  readonly action: ActionName;
  readonly actor: {
    readonly kind: ActivityActor['kind'];
    readonly userId: number | null;
    readonly keyId: string | null;
    readonly role: string | null;
    readonly organisationId: number | null;
    readonly label: string;
  };
  readonly userId: number | null;
  readonly organisationId: number | null;
  readonly departmentId: number | null;
  readonly object: { readonly type: ObjectType; readonly id: string | null; readonly label: string | null };
  readonly changes: Changes | null;
  readonly reason: string | null;
  readonly address: string | null;
  readonly requestId: string | null;
}

export interface ActivityFilter extends PageRequest {
  readonly from?: Date | null;
  /** Not included. */
  readonly to?: Date | null;
  readonly action?: ActionName | null;
  readonly actorUserId?: number | null;
  /** Any part of the actor's label. */
  readonly actorText?: string | null;
  readonly object?: { readonly type: ObjectType; readonly id?: string | null } | null;
  /** The object's id, or any part of its label. */
  readonly objectText?: string | null;
  /** Any part of the actor's or the object's label. */
  readonly text?: string | null;
}

interface Row extends Readonly<Record<string, unknown>> {
  readonly id: string;
  readonly occurred_at: Date;
  readonly action: ActionName;
  readonly actor_kind: ActivityActor['kind'];
  readonly actor_user_id: number | null;
  readonly actor_key_id: string | null;
  readonly actor_role: string | null;
  readonly actor_organisation_id: number | null;
  readonly actor_label: string;
  readonly user_id: number | null;
  readonly organisation_id: number | null;
  readonly department_id: number | null;
  readonly object_type: ObjectType;
  readonly object_id: string | null;
  readonly object_label: string | null;
  readonly changes: Changes | null;
  readonly reason: string | null;
  readonly host: string | null;
  readonly request_id: string | null;
}

export interface ActivityDay {
  /** The day in the zone asked for, as YYYY-MM-DD. */
  readonly day: string;
  readonly count: number;
}

const ROWS_AT_ONCE = 1_000;
const newestFirst = new Keyset(
  [
    { sql: 'occurred_at', kind: 'instant' },
    { sql: 'id', kind: 'integer' },
  ],
  'descending',
);

/** Reads the activity log, newest first, along its indexes. */
@Injectable()
export class ActivityQuery {
  constructor(private readonly database: Database) {}

  async page(scope: Scope, filter: ActivityFilter): Promise<Page<ActivityEntry>> {
    const parameters = new SqlParameters();
    const where = conditionsOf(filter, parameters);
    const keyset = newestFirst.clause(filter, parameters.values.length + 1);
    parameters.values.push(...keyset.parameters);
    const limit = parameters.add(keyset.limit);
    const parts = branchesOf(scope, parameters).map(
      (branch) => `(SELECT *, host(address) AS host, ${newestFirst.positions} FROM activity
        WHERE ${[branch, ...where, keyset.where].join(' AND ')} ORDER BY ${keyset.orderBy} LIMIT ${limit})`,
    );
    const rows = await this.database.query<Row>(
      `SELECT * FROM (${parts.join(' UNION ALL ')}) AS page ORDER BY ${keyset.orderBy} LIMIT ${limit}`,
      parameters.values,
    );
    const page = newestFirst.page(rows, filter);
    return { ...page, rows: page.rows.map(entryOf) };
  }

  /** The same, in as many pages as it takes. */
  all(scope: Scope, filter: ActivityFilter): AsyncGenerator<ActivityEntry> {
    return everyRow(filter.limit, ROWS_AT_ONCE, (page) => this.page(scope, { ...filter, ...page }));
  }

  /** How many entries each day of the zone has, of the days that have any. */
  async days(
    scope: Scope,
    filter: Omit<ActivityFilter, 'limit' | 'cursor'>,
    timeZone: string,
  ): Promise<ActivityDay[]> {
    const parameters = new SqlParameters();
    const where = conditionsOf({ ...filter, limit: 0 }, parameters);
    const zone = parameters.add(timeZone);
    const parts = branchesOf(scope, parameters).map(
      (branch) => `SELECT occurred_at FROM activity WHERE ${[branch, ...where].join(' AND ')}`,
    );
    return this.database.query<ActivityDay>(
      `SELECT to_char(occurred_at AT TIME ZONE ${zone}, 'YYYY-MM-DD') AS day, count(*)::integer AS count
         FROM (${parts.join(' UNION ALL ')}) AS found GROUP BY 1 ORDER BY 1`,
      parameters.values,
    );
  }
}

/**
 * What a scope may read, as conditions that exclude one another: each is read along an index of its own. A person
 * reads what concerns their account and what they did themselves.
 */
function branchesOf(scope: Scope, parameters: SqlParameters): string[] {
  switch (scope.kind) {
    case 'platform':
      return ['true'];
    case 'organisation':
      return [`organisation_id = ${parameters.add(scope.organisationId)}`];
    case 'department': {
      const department = `(organisation_id = ${parameters.add(scope.organisationId)} AND department_id = ${parameters.add(scope.departmentId)})`;
      const own = ownBranches(scope.userId, parameters);
      return [department, ...own.map((branch) => `${branch} AND ${department} IS NOT TRUE`)];
    }
    case 'user':
      return ownBranches(scope.userId, parameters);
  }
}

function ownBranches(userId: number, parameters: SqlParameters): string[] {
  const user = parameters.add(userId);
  return [`user_id = ${user}`, `(actor_user_id = ${user} AND user_id IS DISTINCT FROM ${user})`];
}

function conditionsOf(filter: ActivityFilter, parameters: SqlParameters): string[] {
  const { from, to, action, actorUserId, actorText, object, objectText, text } = filter;
  const conditions: string[] = [];
  const narrow = (value: unknown, condition: (parameter: string) => string): void => {
    if (value !== null && value !== undefined && value !== '')
      conditions.push(condition(parameters.add(value)));
  };
  narrow(from, (parameter) => `occurred_at >= ${parameter}`);
  narrow(to, (parameter) => `occurred_at < ${parameter}`);
  narrow(action, (parameter) => `action = ${parameter}`);
  narrow(actorUserId, (parameter) => `actor_user_id = ${parameter}`);
  narrow(actorText, (parameter) => `strpos(lower(actor_label), lower(${parameter})) > 0`);
  narrow(object?.type, (parameter) => `object_type = ${parameter}`);
  narrow(object?.id, (parameter) => `object_id = ${parameter}`);
  narrow(
    objectText,
    (parameter) => `(object_id = ${parameter} OR strpos(lower(object_label), lower(${parameter})) > 0)`,
  );
  narrow(
    text,
    (parameter) =>
      `(strpos(lower(actor_label), lower(${parameter})) > 0 OR strpos(lower(object_label), lower(${parameter})) > 0)`,
  );
  return conditions;
}

const entryOf = (row: Row): ActivityEntry => ({
  id: row.id,
  occurredAt: row.occurred_at,
  action: row.action,
  actor: {
    kind: row.actor_kind,
    userId: row.actor_user_id,
    keyId: row.actor_key_id,
    role: row.actor_role,
    organisationId: row.actor_organisation_id,
    label: row.actor_label,
  },
  userId: row.user_id,
  organisationId: row.organisation_id,
  departmentId: row.department_id,
  object: { type: row.object_type, id: row.object_id, label: row.object_label },
  changes: row.changes,
  reason: row.reason,
  address: row.host,
  requestId: row.request_id,
});
