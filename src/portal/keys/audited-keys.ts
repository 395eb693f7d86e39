import { Injectable } from '@nestjs/common';
import { type ActionName, ActivityLog, type Changes, changesOf, type ActivitySubject } from '../../audit';
import { BudgetRaises } from '../../billing';
import { PayerService, refuseSuperior } from '../../identity';
import { type Actor, fault, formatUsd, type Nano, type Scope } from '../../kernel';
import {
  type ActingUser,
  type IssuedKey,
  type KeyChanges,
  keyActionOf,
  KeyDirectory,
  loggedKeyFields,
  KeyRegister,
  KeysService,
  type ManagedKey,
  type NewKey,
  requireKeyAction,
  requireKeyChanges,
  type RotatedKey,
} from '../../keys';
import { Database, type Tx } from '../../platform';

/** Owners act in their own view on their own keys, administrators within their scope. */
export interface ScopedKeyActor {
  readonly scope: Scope;
  readonly acting: ActingUser;
}

/** Changes keys together with their activity entries. Changes are effective on this node when a method returns. */
@Injectable()
export class AuditedKeys {
  constructor(
    private readonly database: Database,
    private readonly keys: KeysService,
    private readonly register: KeyRegister,
    private readonly directory: KeyDirectory,
    private readonly payers: PayerService,
    private readonly activity: ActivityLog,
    private readonly raises: BudgetRaises,
  ) {}

  async create(
    scope: Scope,
    actor: Pick<Actor, 'userId' | 'role'>,
    form: Omit<NewKey, 'kind'>,
  ): Promise<IssuedKey> {
    const concerns = await this.payers.standingOf(form);
    return this.database.transaction(async (tx) => {
      if (scope.kind === 'user') await requireNoLockedKey(tx, scope.userId);
      const issued = await this.keys.issue(scope, tx, { ...form, kind: 'client' });
      await refuseSuperior(tx, actor, form.userId, 'user_id');
      const createdKey = await this.register.get({ kind: 'key', keyId: issued.id }, issued.publicId, tx);
      await this.write(tx, 'key.created', createdKey, concerns, {
        changes: changesOf(null, loggedKeyFields(createdKey)),
      });
      return issued;
    });
  }

  async change(
    { scope, acting }: ScopedKeyActor,
    key: ManagedKey,
    changes: KeyChanges,
    reason?: string,
  ): Promise<ManagedKey> {
    const administrator = acting.as === 'administrator' ? { userId: acting.userId, reason } : null;
    return this.recordChange(scope, key, reason, (tx, before) => {
      requireKeyChanges(changes, acting, before);
      return this.keys.change(scope, tx, key.publicId, changes, administrator);
    });
  }

  /** Raises the budget until an instant, at which the raise ends automatically. */
  async raise(
    { scope, acting }: ScopedKeyActor,
    key: ManagedKey,
    raise: { readonly amount: Nano; readonly endsAt: Date },
    reason: string,
  ): Promise<void> {
    const concerns = await this.payers.standingOf(key);
    await this.database.transaction(async (tx) => {
      const lockedKey = await this.lockKey(scope, key, tx);
      requireKeyAction('raise', acting, lockedKey);
      await this.raises.raise(tx, budgetScope(key), { ...raise, reason, by: acting.userId });
      const changes = changesOf(null, { raised_usd: formatUsd(raise.amount), until: raise.endsAt });
      await this.write(tx, 'key.budget-raised', key, concerns, { changes, reason });
    });
  }

  /** Does nothing if the raise has already ended. */
  async endRaise(
    { scope, acting }: ScopedKeyActor,
    key: ManagedKey,
    id: number,
    reason?: string,
  ): Promise<void> {
    const concerns = await this.payers.standingOf(key);
    await this.database.transaction(async (tx) => {
      const lockedKey = await this.lockKey(scope, key, tx);
      requireKeyAction('raise', acting, lockedKey);
      if (await this.raises.end(tx, budgetScope(key), id))
        await this.write(tx, 'key.budget-raise-ended', key, concerns, {
          changes: changesOf(null, { raise: id }),
          reason,
        });
      else this.activity.reportNoChange();
    });
  }

  async revoke(
    { scope, acting }: ScopedKeyActor,
    key: ManagedKey,
    isFinal: boolean,
    reason?: string,
  ): Promise<ManagedKey> {
    const by = { userId: acting.userId, isFinal };
    return this.recordChange(scope, key, reason, (tx) => this.keys.revoke(scope, tx, key.publicId, by));
  }

  async restore({ scope, acting }: ScopedKeyActor, key: ManagedKey, reason?: string): Promise<ManagedKey> {
    return this.recordChange(
      scope,
      key,
      reason,
      (tx, before) => {
        requireKeyAction('restore', acting, before);
        return this.keys.restore(scope, tx, key.publicId);
      },
      (tx) => this.keys.lockOwner(tx, key),
    );
  }

  async rotate(
    { scope, acting }: ScopedKeyActor,
    key: ManagedKey,
    graceSeconds: number,
    reason?: string,
  ): Promise<RotatedKey> {
    const concerns = await this.payers.standingOf(key);
    const rotated = await this.database.transaction(async (tx) => {
      requireKeyAction('rotate', acting, await this.lockKey(scope, key, tx));
      const newSecret = await this.keys.rotate(scope, tx, key.publicId, graceSeconds);
      const changes = changesOf(null, { previous_valid_until: newSecret.previousUntil });
      await this.write(tx, 'key.rotated', key, concerns, { changes, reason });
      return newSecret;
    });
    this.directory.forget({ what: 'key', id: key.id });
    return rotated;
  }

  private async recordChange(
    scope: Scope,
    key: ManagedKey,
    reason: string | undefined,
    change: (tx: Tx, before: ManagedKey) => Promise<void>,
    // A restore locks the owner first, in the same order as changes that end keys together with their owner.
    lockFirst: (tx: Tx) => Promise<void> = () => Promise.resolve(),
  ): Promise<ManagedKey> {
    const concerns = await this.payers.standingOf(key);
    const updatedKey = await this.database.transaction(async (tx) => {
      await lockFirst(tx);
      const before = await this.lockKey(scope, key, tx);
      await change(tx, before);
      const after = await this.register.get(scope, key.publicId, tx);
      const changes = changesOf(loggedKeyFields(before), loggedKeyFields(after));
      if (Object.keys(changes).length === 0) this.activity.reportNoChange();
      else await this.write(tx, keyActionOf(before, after), after, concerns, { changes, reason });
      return after;
    });
    this.directory.forget({ what: 'key', id: key.id });
    return updatedKey;
  }

  /** Locks a key until the end of the transaction and returns its current state. */
  private async lockKey(scope: Scope, key: ManagedKey, tx: Tx): Promise<ManagedKey> {
    await tx.query('SELECT FROM api_key WHERE id = $1 FOR NO KEY UPDATE', [key.id]);
    return this.register.get(scope, key.publicId, tx);
  }

  private write(
    tx: Tx,
    action: ActionName,
    { id, name }: ManagedKey,
    concerns: ActivitySubject,
    { changes, reason }: { readonly changes: Changes; readonly reason?: string | undefined },
  ): Promise<void> {
    const { userId, organisationId, departmentId } = concerns;
    return this.activity.write(tx, {
      action,
      object: { type: 'key', id, label: name },
      concerns: { userId, organisationId, departmentId },
      changes,
      ...(reason === undefined ? {} : { reason }),
    });
  }
}

/** Prevents evading locked limits by creating a second key, even after revoking the locked one. */
async function requireNoLockedKey(tx: Tx, userId: number): Promise<void> {
  const locked = await tx.query<object[]>(
    `SELECT FROM api_key WHERE user_id = $1 AND limits_locked_at IS NOT NULL
        AND limits_locked_by IS DISTINCT FROM user_id AND (status <> 'revoked' OR revoked_by = user_id) LIMIT 1`,
    [userId],
  );
  if (locked.length > 0)
    throw fault('permission_denied', {
      message: 'An administrator set the limits of a key of yours: ask them for another key.',
    });
}

const budgetScope = ({ id }: ManagedKey) => ({ kind: 'key', id }) as const;
