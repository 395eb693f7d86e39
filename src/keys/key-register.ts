import { Injectable } from '@nestjs/common';
import { Limits, type LimitState } from '../billing';
import { type Fault, fault, type Scope } from '../kernel';
import { Database, Keyset, type Page, readRows, type TableRow, type Tx } from '../platform';
import { keyFields, type KeyValues } from './key-fields';
import {
  DEPARTMENT,
  type KeyScope,
  ORGANISATION,
  JOIN_OWNERS,
  RESTORABLE,
  scopeCondition,
} from './key-scope';
import type { KeyDecision, KeyFilter, KeyOwners, ManagedKey, DisplayStatus } from './managed-key';
import { type ModelBudget, modelBudgetsOf } from './model-budgets';

type DecisionAuthor = Pick<KeyDecision, 'userId' | 'role' | 'by'>;

const COLUMNS =
  'k.id, k.public_id, k.kind, k.user_id, k.organisation_id, k.department_id, k.project_id, k.paused_at, k.pause_reason, k.limits_locked_at, k.created_at, k.created_by, k.revoked_at, k.file_name';

type RegisterRow = TableRow<'api_key', typeof COLUMNS> &
  KeyValues & {
    readonly status: DisplayStatus;
    readonly pausedBy: DecisionAuthor | null;
    readonly limitsLockedBy: DecisionAuthor | null;
    readonly revokedBy: DecisionAuthor | null;
    readonly restorableUntil: Date | null;
    readonly previousUntil: Date | null;
  };

/** Maximum number of keys checked, because budgets are computed one by one. */
const MAX_CHECKED = 1_000;
const EXPIRING = `SELECT k.id FROM api_key k WHERE k.status = 'active'
  AND k.expires_at BETWEEN now() - interval '7 days' AND now() + interval '7 days'`;
const newestFirst = new Keyset([{ sql: 'k.id', kind: 'integer' }], 'descending');

const DISPLAY_STATUS = `CASE WHEN k.status = 'active' AND k.expires_at <= now() THEN 'expired' ELSE k.status END`;
const authorOf = (column: string): string =>
  `(SELECT jsonb_build_object('userId', a.id, 'role', a.role, 'by', a.display_name) FROM user_account a
     WHERE a.id = k.${column}) AS ${column}`;
/** Excludes root keys, which manage the others. */
const SELECT_MANAGED = `SELECT ${COLUMNS}, ${keyFields.selection('k')}, ${DISPLAY_STATUS} AS status,
  ${authorOf('paused_by')}, ${authorOf('limits_locked_by')}, ${authorOf('revoked_by')},
  CASE WHEN ${RESTORABLE} THEN k.revoked_at + interval '1 day' END AS restorable_until,
  CASE WHEN k.previous_until > now() THEN k.previous_until END AS previous_until, ${newestFirst.positions}
  FROM api_key k ${JOIN_OWNERS} WHERE k.kind <> 'root'`;

@Injectable()
export class KeyRegister {
  constructor(
    private readonly database: Database,
    private readonly limits: Limits,
  ) {}

  /** Finds a key by public id or number; throws `not_found` outside the scope. */
  async get(scope: KeyScope, id: string | number, tx?: Tx): Promise<ManagedKey> {
    const { sql, parameters } = scopeCondition(scope, 2);
    const column = typeof id === 'number' ? 'k.id' : 'k.public_id';
    const rows = await this.query(`${SELECT_MANAGED} AND ${column} = $1 AND ${sql}`, [id, ...parameters], tx);
    const [key] = await this.withBudgets(rows, tx);
    if (key === undefined) throw keyNotFound();
    return key;
  }

  /** Returns the number of a key that a page shows; older links contain its public id. */
  async resolveId(scope: KeyScope, id: number | string): Promise<number> {
    return typeof id === 'number' ? id : (await this.get(scope, id)).id;
  }

  async list(scope: KeyScope, filter: KeyFilter): Promise<Page<ManagedKey>> {
    const { kind = null, status = null, name = null, projectId = null, userId = null } = filter;
    const { organisationId = null } = filter;
    const within = scopeCondition(scope, 8);
    const page = newestFirst.clause(filter, 8 + within.parameters.length);
    const rows = await this.query(
      `${SELECT_MANAGED} AND ($1::text IS NULL OR ${DISPLAY_STATUS} = $1)
         AND ($2::text IS NULL OR strpos(lower(k.name), lower($2)) > 0)
         AND ($3::integer IS NULL OR k.project_id = $3) AND ($4::integer IS NULL OR k.user_id = $4)
         AND ($6::text IS NULL OR k.kind = $6) AND ($7::integer IS NULL OR ${ORGANISATION} = $7)
         AND ${within.sql} AND ${page.where} ORDER BY ${page.orderBy} LIMIT $5`,
      [
        status,
        name,
        projectId,
        userId,
        page.limit,
        kind,
        organisationId,
        ...within.parameters,
        ...page.parameters,
      ],
    );
    const result = newestFirst.page(rows, filter);
    return { ...result, rows: await this.withBudgets(result.rows) };
  }

  /** Counts active client keys of an organisation, as the list with these filters shows them. */
  async countActive(organisationId: number): Promise<number> {
    const [row] = await this.database.query<{ count: number }>(
      `SELECT count(*)::integer FROM api_key k ${JOIN_OWNERS}
        WHERE k.kind = 'client' AND ${DISPLAY_STATUS} = 'active' AND ${ORGANISATION} = $1`,
      [organisationId],
    );
    return row?.count ?? 0;
  }

  async ownersOf({ id }: Pick<ManagedKey, 'id'>): Promise<KeyOwners> {
    const name = (table: string, sql: string): string =>
      `(SELECT jsonb_build_object('id', ${table}.id, 'name', ${table}.name) FROM ${table} WHERE ${table}.id = ${sql})`;
    const [row] = await this.database.query<KeyOwners>(
      `SELECT ${name('organisation', ORGANISATION)} AS organisation, ${name('department', DEPARTMENT)} AS department,
              ${name('project', 'p.id')} AS project,
              CASE WHEN u.id IS NOT NULL THEN jsonb_build_object('id', u.id, 'organisationId', u.organisation_id,
                'name', coalesce(nullif(u.display_name, ''), u.email)) END AS "user"
         FROM api_key k ${JOIN_OWNERS} WHERE k.id = $1`,
      [id],
    );
    if (row === undefined) throw keyNotFound();
    return row;
  }

  async listFileKeys(publicIds: readonly string[], tx: Tx): Promise<ManagedKey[]> {
    const rows = await this.query(
      `${SELECT_MANAGED} AND k.kind = 'client' AND (k.file_name IS NOT NULL OR k.public_id = ANY ($1::text[])) ORDER BY k.id`,
      [publicIds],
      tx,
    );
    return this.withBudgets(rows, tx);
  }

  async findByCreationToken(creationToken: string): Promise<Pick<ManagedKey, 'id' | 'userId'> | null> {
    const [row] = await this.database.rows<TableRow<'api_key', 'id, user_id'>>(
      'SELECT id, user_id FROM api_key WHERE creation_token = $1',
      [creationToken],
    );
    return row ?? null;
  }

  /** Returns the last use of each key by id; unused keys are left out. */
  async lastUsed(keys: readonly Pick<ManagedKey, 'id'>[]): Promise<ReadonlyMap<number, Date>> {
    const rows = await this.database.rows<
      TableRow<'api_key', 'id'> & TableRow<'request_record', 'created_at'>
    >(
      `SELECT k.id, r.created_at FROM unnest($1::integer[]) AS k (id)
        CROSS JOIN LATERAL (SELECT created_at FROM request_record WHERE key_id = k.id
          ORDER BY created_at DESC, request_id DESC LIMIT 1) AS r`,
      [keys.map(({ id }) => id)],
    );
    return new Map(rows.map(({ id, createdAt }) => [id, createdAt]));
  }

  /** Returns active keys that have used most of their budget or expire soon: the worst first, at most `limit`. */
  listAtRisk(scope: Scope, limit: number): Promise<ManagedKey[]> {
    const within = scopeCondition(scope, 2);
    return this.listActive(
      scope,
      limit,
      `SELECT r.owner_id FROM spending_rule r CROSS JOIN LATERAL spending_state('key', r.owner_id) s
        WHERE r.kind = 'key' AND r.limit_nano IS NOT NULL AND s.spent::numeric * 5 >= s.limit_nano::numeric * 4
          AND r.owner_id IN (SELECT k.id FROM api_key k ${JOIN_OWNERS} WHERE k.status = 'active' AND ${within.sql}
            ORDER BY k.id DESC LIMIT ${MAX_CHECKED})
       UNION ALL ${EXPIRING}`,
    );
  }

  /** Returns active keys that expire within a week, or expired in the last one. */
  listExpiring(scope: Scope, limit: number): Promise<ManagedKey[]> {
    return this.listActive(scope, limit, EXPIRING);
  }

  private async listActive(scope: Scope, limit: number, ids: string): Promise<ManagedKey[]> {
    const within = scopeCondition(scope, 2);
    const rows = await this.query(
      `${SELECT_MANAGED} AND k.status = 'active' AND k.kind = 'client' AND ${within.sql} AND k.id IN (${ids})
       ORDER BY k.expires_at <= now() DESC NULLS LAST, k.id DESC LIMIT $1`,
      [limit, ...within.parameters],
    );
    return this.withBudgets(rows);
  }

  private query(sql: string, parameters: unknown[], tx?: Tx): Promise<RegisterRow[]> {
    return readRows<RegisterRow>(tx ?? this.database, sql, parameters);
  }

  private async withBudgets(rows: readonly RegisterRow[], tx?: Tx): Promise<ManagedKey[]> {
    const ids = rows.map(({ id }) => id);
    const budgets = await this.limits.states(
      ids.map((id) => ({ kind: 'key', id })),
      tx,
    );
    const ofModels = await modelBudgetsOf(this.database, this.limits, ids, tx);
    return rows.map((row, index) => managedKey(row, budgets[index] ?? null, ofModels.get(row.id) ?? []));
  }
}

export const keyNotFound = (): Fault =>
  fault('not_found', { param: 'key_id', message: 'There is no key with this id.' });

function managedKey(
  row: RegisterRow,
  budget: LimitState | null,
  modelBudgets: readonly ModelBudget[],
): ManagedKey {
  const { pausedAt, pausedBy, pauseReason, limitsLockedAt, limitsLockedBy, revokedBy, ...key } = row;
  return {
    ...key,
    revocation: revokedBy === null ? null : decisionOf(key.revokedAt, revokedBy, null),
    budget,
    modelBudgets,
    pause: decisionOf(pausedAt, pausedBy, pauseReason),
    limitsLock: decisionOf(limitsLockedAt, limitsLockedBy, null),
  };
}

const decisionOf = (
  at: Date | null,
  author: DecisionAuthor | null,
  reason: string | null,
): KeyDecision | null =>
  at === null ? null : { ...(author ?? { userId: null, role: null, by: null }), at, reason };
