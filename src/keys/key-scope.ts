import { type Ownership, PROJECT_OF_USER } from '../identity';
import { type Fault, fault, type Scope } from '../kernel';
import type { Tx } from '../platform';

export type KeyScope = Scope | { readonly kind: 'key'; readonly keyId: number };

/** Joins the owner of a key as requests are attributed: a project's organisation wins over that of a user. */
export const JOIN_OWNERS = `LEFT JOIN user_account u ON u.id = k.user_id
  LEFT JOIN department d ON d.id = k.department_id
  LEFT JOIN project p ON p.id = k.project_id`;
export const ORGANISATION =
  'coalesce(p.organisation_id, d.organisation_id, k.organisation_id, u.organisation_id)';
export const DEPARTMENT = 'coalesce(d.id, u.department_id)';

/**
 * Condition on a key with its owners joined: revoked by a user within the last day. A key that ended with its owner's
 * membership, or permanently, has no status to return to.
 */
export const RESTORABLE = `k.status = 'revoked' AND k.revoked_from IS NOT NULL
  AND k.revoked_at > now() - interval '1 day' AND (k.expires_at IS NULL OR k.expires_at > now())
  AND (k.user_id IS NULL OR u.status = 'active')`;

export interface KeyCondition {
  readonly sql: string;
  readonly parameters: readonly number[];
}

/** Returns the condition on `api_key k` with its owners joined; its parameters are numbered from `first`. */
export function scopeCondition(scope: KeyScope, first: number): KeyCondition {
  const [one, two, three] = [`$${first}::integer`, `$${first + 1}::integer`, `$${first + 2}::integer`];
  switch (scope.kind) {
    case 'platform':
      return { sql: 'true', parameters: [] };
    case 'organisation':
      return { sql: `${ORGANISATION} = ${one}`, parameters: [scope.organisationId] };
    case 'department':
      return {
        sql: `((${ORGANISATION} = ${one} AND ${DEPARTMENT} = ${two}) OR k.user_id = ${three})`,
        parameters: [scope.organisationId, scope.departmentId, scope.userId],
      };
    case 'user':
      return { sql: `k.user_id = ${one}`, parameters: [scope.userId] };
    case 'key':
      return { sql: `k.id = ${one}`, parameters: [scope.keyId] };
  }
}

/**
 * Blocks moves of the user and the end of the project until the transaction ends, so that what they revoke includes
 * this key.
 */
export async function lockOwner(
  tx: Tx,
  { userId, projectId }: Pick<Ownership, 'userId' | 'projectId'>,
): Promise<void> {
  if (userId !== null) await tx.query('SELECT FROM user_account WHERE id = $1 FOR KEY SHARE', [userId]);
  if (projectId === null) return;
  const [project] = await tx.query<{ is_archived: boolean }[]>(
    'SELECT archived_at IS NOT NULL AS is_archived FROM project WHERE id = $1 FOR KEY SHARE',
    [projectId],
  );
  if (project?.is_archived === true) {
    throw fault('conflict', {
      param: 'project_id',
      message: 'This project is archived.',
      details: { reason: 'archived' },
    });
  }
}

/** Requires every part of the ownership to be within the scope: a foreign part could make another payer pay. */
export async function requireOwnerInScope(scope: Scope, tx: Tx, owner: Ownership): Promise<void> {
  if (scope.kind === 'platform') return;
  const { sql, parameters } = ownershipCondition(scope);
  const rows = await tx.query<unknown[]>(
    `SELECT 1 FROM (SELECT $1::integer AS user_id, $2::integer AS organisation_id, $3::integer AS department_id,
            $4::integer AS project_id) k ${JOIN_OWNERS} WHERE ${sql}`,
    [owner.userId, owner.organisationId, owner.departmentId, owner.projectId, ...parameters],
  );
  if (rows.length === 0) throw foreignOwnerFault();
}

function ownershipCondition(scope: Exclude<Scope, { kind: 'platform' }>): KeyCondition {
  switch (scope.kind) {
    case 'organisation':
      return {
        sql: `num_nonnulls(k.user_id, k.organisation_id, k.department_id, k.project_id) > 0
          AND (k.user_id IS NULL OR u.organisation_id = $5)
          AND (k.organisation_id IS NULL OR k.organisation_id = $5)
          AND (k.department_id IS NULL OR d.organisation_id = $5)
          AND (k.project_id IS NULL OR p.organisation_id = $5)`,
        parameters: [scope.organisationId],
      };
    case 'department':
      return {
        sql: `(k.department_id = $6 OR (k.department_id IS NULL AND (u.department_id = $6 OR k.user_id = $7)))
          AND (k.user_id IS NULL OR k.user_id = $7 OR (u.organisation_id = $5 AND u.department_id = $6))
          AND (k.organisation_id IS NULL OR k.organisation_id = $5)
          AND (k.project_id IS NULL OR p.organisation_id = $5)`,
        parameters: [scope.organisationId, scope.departmentId, scope.userId],
      };
    case 'user':
      return {
        sql: `k.user_id = $5
          AND (k.organisation_id IS NULL OR k.organisation_id = u.organisation_id)
          AND (k.department_id IS NULL OR k.department_id = u.department_id)
          AND (k.project_id IS NULL OR (${PROJECT_OF_USER} AND EXISTS (
            SELECT FROM project_member m WHERE m.project_id = k.project_id AND m.user_id = $5)))`,
        parameters: [scope.userId],
      };
  }
}

const foreignOwnerFault = (): Fault =>
  fault('permission_denied', { message: 'You may not make keys for this owner.' });
