import { Injectable } from '@nestjs/common';
import { type ActionName, ActivityLog, type Changes, changesOf, type Concerned } from '../../audit';
import { BudgetRaises } from '../../billing';
import { PayerService, refuseSuperior } from '../../identity';
import { type Actor, fault, formatUsd, type Nano, type Scope } from '../../kernel';
import {
  type ActingOnKey,
  type IssuedKey,
  type KeyChanges,
  keyActionOf,
  KeyDirectory,
  keyFacts,
  KeyRegister,
  KeysService,
  type ManagedKey,
  type NewKey,
  refuseKeyAct,
  refuseKeyChanges,
  type RotatedKey,
} from '../../keys';
import { Database, type Tx } from '../../platform';

/** Owners act in their own view and on their own keys, administrators within their scope. */
export interface KeyActor {
  readonly scope: Scope;
  readonly acting: ActingOnKey;
}

/** Changes of keys are made with their entries in the activity log. When one returns, this node already goes by it. */
@Injectable()
export class RecordedKeys {
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
      if (scope.kind === 'user') await refuseBesideLocked(tx, scope.userId);
      const issued = await this.keys.issue(scope, tx, { ...form, kind: 'client' });
      await refuseSuperior(tx, actor, form.userId, 'user_id');
      const made = await this.register.get({ kind: 'key', keyId: issued.id }, issued.publicId, tx);
      await this.write(tx, 'key.created', made, concerns, { changes: changesOf(null, keyFacts(made)) });
      return issued;
    });
  }

  async change(
    { scope, acting }: KeyActor,
    key: ManagedKey,
    changes: KeyChanges,
    reason?: string,
  ): Promise<ManagedKey> {
    const administrator = acting.as === 'administrator' ? { userId: acting.userId, reason } : null;
    return this.changed(scope, key, reason, (tx, before) => {
      refuseKeyChanges(changes, acting, before);
      return this.keys.change(scope, tx, key.publicId, changes, administrator);
    });
  }

  /** The raise lasts until an instant; it ends by itself. */
  async raise(
    { scope, acting }: KeyActor,
    key: ManagedKey,
    raise: { readonly amount: Nano; readonly endsAt: Date },
    reason: string,
  ): Promise<void> {
    const concerns = await this.payers.standingOf(key);
    await this.database.transaction(async (tx) => {
      const locked = await this.locked(scope, key, tx);
      refuseKeyAct('raise', acting, locked);
      await this.raises.raise(tx, budgetOf(key), { ...raise, reason, by: acting.userId });
      const changes = changesOf(null, { raised_usd: formatUsd(raise.amount), until: raise.endsAt });
      await this.write(tx, 'key.budget-raised', key, concerns, { changes, reason });
    });
  }

  /** One that has ended already stays as it is. */
  async endRaise({ scope, acting }: KeyActor, key: ManagedKey, id: number, reason?: string): Promise<void> {
    const concerns = await this.payers.standingOf(key);
    await this.database.transaction(async (tx) => {
      const locked = await this.locked(scope, key, tx);
      refuseKeyAct('raise', acting, locked);
      if (await this.raises.end(tx, budgetOf(key), id))
        await this.write(tx, 'key.budget-raise-ended', key, concerns, {
          changes: changesOf(null, { raise: id }),
          reason,
        });
      else this.activity.nothingChanged();
    });
  }

  async revoke(
    { scope, acting }: KeyActor,
    key: ManagedKey,
    isFinal: boolean,
    reason?: string,
  ): Promise<ManagedKey> {
    const by = { userId: acting.userId, isFinal };
    return this.changed(scope, key, reason, (tx) => this.keys.revoke(scope, tx, key.publicId, by));
  }

  async restore({ scope, acting }: KeyActor, key: ManagedKey, reason?: string): Promise<ManagedKey> {
    return this.changed(
      scope,
      key,
      reason,
      (tx, before) => {
        refuseKeyAct('restore', acting, before);
        return this.keys.restore(scope, tx, key.publicId);
      },
      (tx) => this.keys.holdOwner(tx, key),
    );
  }

  async rotate(
    { scope, acting }: KeyActor,
    key: ManagedKey,
    graceSeconds: number,
    reason?: string,
  ): Promise<RotatedKey> {
    const concerns = await this.payers.standingOf(key);
    const rotated = await this.database.transaction(async (tx) => {
      refuseKeyAct('rotate', acting, await this.locked(scope, key, tx));
      const fresh = await this.keys.rotate(scope, tx, key.publicId, graceSeconds);
      const changes = changesOf(null, { previous_valid_until: fresh.previousUntil });
      await this.write(tx, 'key.rotated', key, concerns, { changes, reason });
      return fresh;
    });
    this.directory.forget({ what: 'key', id: key.id });
    return rotated;
  }

  private async changed(
    scope: Scope,
    key: ManagedKey,
    reason: string | undefined,
    change: (tx: Tx, before: ManagedKey) => Promise<void>,
    // A change that ends keys with their owner locks the owner first, too.
    first: (tx: Tx) => Promise<void> = () => Promise.resolve(),
  ): Promise<ManagedKey> {
    const concerns = await this.payers.standingOf(key);
    const changed = await this.database.transaction(async (tx) => {
      await first(tx);
      const before = await this.locked(scope, key, tx);
      await change(tx, before);
      const after = await this.register.get(scope, key.publicId, tx);
      const changes = changesOf(keyFacts(before), keyFacts(after));
      if (Object.keys(changes).length === 0) this.activity.nothingChanged();
      else await this.write(tx, keyActionOf(before, after), after, concerns, { changes, reason });
      return after;
    });
    this.directory.forget({ what: 'key', id: key.id });
    return changed;
  }

  /** As it stands, until the transaction ends. */
  private async locked(scope: Scope, key: ManagedKey, tx: Tx): Promise<ManagedKey> {
    await tx.query('SELECT FROM api_key WHERE id = $1 FOR NO KEY UPDATE', [key.id]);
    return this.register.get(scope, key.publicId, tx);
  }

  private write(
    tx: Tx,
    action: ActionName,
    { id, name }: ManagedKey,
    concerns: Concerned,
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

/** Otherwise locked limits would bind one key only: its owner would make another, also after revoking it. */
async function refuseBesideLocked(tx: Tx, userId: number): Promise<void> {
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

const budgetOf = ({ id }: ManagedKey) => ({ kind: 'key', id }) as const;
