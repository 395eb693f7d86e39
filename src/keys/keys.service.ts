import { Injectable } from '@nestjs/common';
import { type BudgetScope, Limits } from '../billing';
import { refuseUnknownRegions } from '../catalogue';
import { type Ownership, UserAccount } from '../identity';
import { fault, platformScope, type Scope } from '../kernel';
import { readRows, type TableRow, Settings, type Tx } from '../platform';
import { ApiKey } from './api-key.entity';
import { keyFields } from './key-fields';
import { keyNotFound } from './key-register';
import {
  lockOwner,
  type KeyScope,
  JOIN_OWNERS,
  requireOwnerInScope,
  RESTORABLE,
  scopeCondition,
} from './key-scope';
import { generateKey } from './key-text';
import type { IssuedKey, KeyChanges, NewKey, RotatedKey } from './managed-key';
import { setModelBudgets } from './model-budgets';
import { hashNewKey } from './pepper';

/** Creates, changes and revokes keys. Every change is announced when its transaction commits. */
@Injectable()
export class KeysService {
  constructor(
    private readonly settings: Settings,
    private readonly limits: Limits,
  ) {}

  async issue(scope: Scope, tx: Tx, key: NewKey): Promise<IssuedKey> {
    await lockOwner(tx, key);
    await requireOwnerInScope(scope, tx, key);
    await refuseUnknownRegions(tx, 'allowed_regions', key.allowedRegions ?? []);
    const { publicId, text } = generateKey();
    const row = tx.getRepository(ApiKey).create({
      publicId,
      secretHash: await hashNewKey(tx, this.settings, text),
      ...keyFields.pick(key),
      kind: key.kind,
      userId: key.userId,
      organisationId: key.organisationId,
      departmentId: key.departmentId,
      projectId: key.projectId,
      createdBy: key.createdBy,
      creationToken: key.creationToken ?? null,
      fileName: key.fileName ?? null,
    });
    await tx.getRepository(ApiKey).insert(row).catch(refuseConflict);
    if (key.budget) await this.limits.set(tx, budgetOf(row), key.budget);
    if (key.modelBudgets?.length) await setModelBudgets(tx, this.limits, row.id, key.modelBudgets);
    return { id: row.id, publicId, text, createdAt: row.createdAt };
  }

  /** Returns the owner of a key created for no particular account: the operator. */
  async defaultOwner(tx: Tx): Promise<Ownership> {
    const owner = await tx
      .getRepository(UserAccount)
      .findOne({ where: { role: 'platform_owner', status: 'active' }, order: { id: 'ASC' } });
    if (owner === null) {
      throw fault('missing_fields', {
        param: 'user_id',
        message: 'Say whose the key is: user_id, project_id, department_id or organisation_id.',
      });
    }
    return { userId: owner.id, organisationId: owner.organisationId, departmentId: null, projectId: null };
  }

  /** `administrator` is set if the user acts as one; a pause then records them. */
  async change(
    scope: KeyScope,
    tx: Tx,
    publicId: string,
    changes: KeyChanges,
    administrator: Administrator | null = null,
  ): Promise<void> {
    const key = await lock(scope, tx, publicId);
    if (key.status === 'revoked') throw revokedFault();
    const { budgetLimit, budgetPeriod, modelBudgets, limitsLocked, ...fieldChanges } = changes;
    const fields = {
      ...fieldChanges,
      ...pauseColumns(key, changes, administrator),
      ...lockColumns(key, limitsLocked, administrator),
    };
    const newRegions = changes.allowedRegions?.filter((region) => !key.allowedRegions?.includes(region));
    await refuseUnknownRegions(tx, 'allowed_regions', newRegions ?? []);
    if (Object.keys(fields).length > 0) await tx.getRepository(ApiKey).update({ id: key.id }, fields);
    if (modelBudgets !== undefined) await setModelBudgets(tx, this.limits, key.id, modelBudgets);
    if (budgetLimit === null) await this.limits.remove(tx, budgetOf(key));
    else if (budgetLimit !== undefined || budgetPeriod !== undefined)
      await this.changeBudget(tx, budgetOf(key), changes);
  }

  /**
   * Revokes a key on every node within a second; idempotent. A key revoked by a user can be restored within a day,
   * unless the user ends it permanently, then or later.
   */
  async revoke(
    scope: KeyScope,
    tx: Tx,
    publicId: string,
    by: { readonly userId: number; readonly isFinal: boolean } | null = null,
  ): Promise<void> {
    const key = await lock(scope, tx, publicId);
    const isFinal = by?.isFinal ?? true;
    if (key.status === 'revoked') {
      if (isFinal && key.revokedFrom !== null)
        await tx.getRepository(ApiKey).update({ id: key.id }, { revokedFrom: null });
      return;
    }
    await tx.query(
      `UPDATE api_key SET status = 'revoked', revoked_at = now(), previous_hash = NULL, previous_until = NULL,
              revoked_by = $2, revoked_from = CASE WHEN $3 THEN NULL ELSE status END
        WHERE id = $1`,
      [key.id, by?.userId ?? null, isFinal],
    );
  }

  /**
   * Restores a key with the secret that it had; a rotated secret stays invalid. The caller must hold the lock on the
   * owner; idempotent.
   */
  async restore(scope: KeyScope, tx: Tx, publicId: string): Promise<void> {
    const key = await lock(scope, tx, publicId);
    if (key.status !== 'revoked') return;
    const [, restored] = await tx.query<[unknown, number]>(
      `UPDATE api_key SET status = revoked_from, revoked_at = NULL, revoked_by = NULL, revoked_from = NULL
        WHERE id IN (SELECT k.id FROM api_key k ${JOIN_OWNERS} WHERE k.id = $1 AND ${RESTORABLE})`,
      [key.id],
    );
    if (restored === 0)
      throw fault('conflict', {
        message: 'This key can no longer be restored. Make a new one.',
        details: { reason: 'not-restorable' },
      });
  }

  /** Blocks everything that would end the key with its owner until the transaction ends. */
  lockOwner(tx: Tx, owner: Pick<Ownership, 'userId' | 'projectId'>): Promise<void> {
    return lockOwner(tx, owner);
  }

  /** Creates a new secret under the same id. The previous secret stays valid for the grace period; older ones end. */
  async rotate(scope: KeyScope, tx: Tx, publicId: string, graceSeconds = 0): Promise<RotatedKey> {
    return this.replaceSecret(tx, await lock(scope, tx, publicId), graceSeconds);
  }

  /** Rotates the root key, or the named one of several. If none exists, a new one is created. */
  async rotateRoot(tx: Tx, options: { publicId?: string; graceSeconds?: number } = {}): Promise<IssuedKey> {
    const roots = await tx.getRepository(ApiKey).find({
      where: { kind: 'root', status: 'active', ...(options.publicId && { publicId: options.publicId }) },
      order: { id: 'ASC' },
      lock: { mode: 'for_no_key_update' },
    });
    const [root, another] = roots;
    if (another !== undefined) {
      const ids = roots.map(({ publicId }) => publicId).join(', ');
      throw fault('conflict', { message: `There are several root keys; name one of them: ${ids}.` });
    }
    if (root !== undefined) return this.replaceSecret(tx, root, options.graceSeconds ?? 0);
    if (options.publicId !== undefined) throw keyNotFound();
    const unowned = { userId: null, organisationId: null, departmentId: null, projectId: null };
    return this.issue(platformScope, tx, {
      ...unowned,
      kind: 'root',
      name: 'Root admin key',
      createdBy: 'rotation',
    });
  }

  private async replaceSecret(tx: Tx, key: ApiKey, graceSeconds: number): Promise<RotatedKey> {
    if (key.status === 'revoked') throw revokedFault();
    const { text } = generateKey(key.publicId);
    const [renewed] = await readRows<TableRow<'api_key', 'previous_until'>>(
      tx,
      `UPDATE api_key SET secret_hash = $2,
         previous_hash = CASE WHEN $3::integer > 0 THEN secret_hash END,
         previous_until = CASE WHEN $3::integer > 0 THEN now() + make_interval(secs => $3::integer) END
        WHERE id = $1 RETURNING previous_until`,
      [key.id, await hashNewKey(tx, this.settings, text), graceSeconds],
    );
    const { id, publicId, name, createdAt } = key;
    return { id, publicId, name, text, createdAt, previousUntil: renewed?.previousUntil ?? null };
  }

  private async changeBudget(
    tx: Tx,
    scope: BudgetScope,
    { budgetLimit, budgetPeriod }: KeyChanges,
  ): Promise<void> {
    const current = await this.limits.state(scope, tx);
    const limit = budgetLimit ?? current?.limit;
    if (limit === undefined) {
      throw fault('invalid_request', {
        param: 'budget_limit',
        message: 'This key has no budget; set budget_limit together with budget_period.',
      });
    }
    await this.limits.set(tx, scope, { limit, period: budgetPeriod ?? current?.period ?? 'monthly' });
  }
}

export interface Administrator {
  readonly userId: number;
  readonly reason?: string | undefined;
}

type AdministratorColumns = Partial<
  Pick<ApiKey, 'pausedBy' | 'pausedAt' | 'pauseReason' | 'limitsLockedBy' | 'limitsLockedAt'>
>;

/** Keeps the author and reason of an administrator's pause until the key is resumed. */
function pauseColumns(
  key: ApiKey,
  { status }: KeyChanges,
  administrator: Administrator | null,
): AdministratorColumns {
  if (status === 'active') return { pausedBy: null, pausedAt: null, pauseReason: null };
  if (status !== 'disabled' || administrator === null || key.pausedAt !== null) return {};
  const { userId, reason = null } = administrator;
  return { pausedBy: userId, pausedAt: new Date(), pauseReason: reason };
}

function lockColumns(
  key: ApiKey,
  isLocked: boolean | undefined,
  administrator: Administrator | null,
): AdministratorColumns {
  if (isLocked === undefined || isLocked === (key.limitsLockedAt !== null)) return {};
  if (!isLocked) return { limitsLockedBy: null, limitsLockedAt: null };
  return { limitsLockedBy: administrator?.userId ?? null, limitsLockedAt: new Date() };
}

const budgetOf = ({ id }: { id: number }): BudgetScope => ({ kind: 'key', id });

const revokedFault = () => fault('conflict', { message: 'This key is revoked.' });

/** Locks a key, so that its changes are serialised. Throws `not_found` outside the scope. */
async function lock(scope: KeyScope, tx: Tx, publicId: string): Promise<ApiKey> {
  const { sql, parameters } = scopeCondition(scope, 2);
  const [row] = await tx.query<TableRow<'api_key', 'id'>[]>(
    `SELECT k.id FROM api_key k ${JOIN_OWNERS} WHERE k.public_id = $1 AND k.kind <> 'root' AND ${sql}
        FOR NO KEY UPDATE OF k`,
    [publicId, ...parameters],
  );
  if (row === undefined) throw keyNotFound();
  return tx.getRepository(ApiKey).findOneByOrFail({ id: row.id });
}

/** Foreign keys are named after what they refer to. */
function refuseConflict(error: unknown): never {
  const { constraint = '' } = (error as { driverError?: { constraint?: string } }).driverError ?? {};
  if (constraint === 'api_key_creation_token')
    throw fault('conflict', { message: 'This form was sent before, and its key was made.' });
  const owner = /^api_key_(user|organisation|department|project)_fkey$/.exec(constraint)?.[1];
  if (owner === undefined) throw error;
  throw fault('invalid_request', { param: `${owner}_id`, message: `There is no ${owner} with this id.` });
}
