import { Injectable } from '@nestjs/common';
import { type ActionName, ActivityLog, type Changes, changesOf, type Concerned } from '../../audit';
import { PayerService } from '../../identity';
import type { Scope } from '../../kernel';
import {
  type IssuedKey,
  type KeyChanges,
  KeyDirectory,
  KeyRegister,
  KeysService,
  type ManagedKey,
  type NewKey,
  presentKey,
  type RotatedKey,
} from '../../keys';
import { Database, type Tx } from '../../platform';

/** Changes of keys with their entries in the activity log. When one returns, this node already goes by it. */
@Injectable()
export class RecordedKeys {
  constructor(
    private readonly database: Database,
    private readonly keys: KeysService,
    private readonly register: KeyRegister,
    private readonly directory: KeyDirectory,
    private readonly payers: PayerService,
    private readonly activity: ActivityLog,
  ) {}

  async create(scope: Scope, form: Omit<NewKey, 'kind'>): Promise<IssuedKey> {
    const concerns = await this.payers.standingOf(form);
    return this.database.transaction(async (tx) => {
      const issued = await this.keys.issue(scope, tx, { ...form, kind: 'client' });
      const made = await this.register.get({ kind: 'key', keyId: issued.id }, issued.publicId, tx);
      await this.write(tx, 'key.created', made, concerns, { changes: changesOf(null, factsOf(made)) });
      return issued;
    });
  }

  async change(scope: Scope, key: ManagedKey, changes: KeyChanges, reason?: string): Promise<ManagedKey> {
    return this.changed(scope, key, reason, (tx) => this.keys.change(scope, tx, key.publicId, changes));
  }

  async revoke(scope: Scope, key: ManagedKey, reason?: string): Promise<ManagedKey> {
    return this.changed(scope, key, reason, (tx) => this.keys.revoke(scope, tx, key.publicId));
  }

  async rotate(scope: Scope, key: ManagedKey, graceSeconds: number, reason?: string): Promise<RotatedKey> {
    const concerns = await this.payers.standingOf(key);
    const rotated = await this.database.transaction(async (tx) => {
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
    change: (tx: Tx) => Promise<void>,
  ): Promise<ManagedKey> {
    const concerns = await this.payers.standingOf(key);
    const changed = await this.database.transaction(async (tx) => {
      const before = await this.register.get(scope, key.publicId, tx);
      await change(tx);
      const after = await this.register.get(scope, key.publicId, tx);
      const changes = changesOf(factsOf(before), factsOf(after));
      if (Object.keys(changes).length === 0) this.activity.nothingChanged();
      else await this.write(tx, actionOf(before, after), after, concerns, { changes, reason });
      return after;
    });
    this.directory.forget({ what: 'key', id: key.id });
    return changed;
  }

  private write(
    tx: Tx,
    action: ActionName,
    { publicId, name }: ManagedKey,
    concerns: Concerned,
    { changes, reason }: { readonly changes: Changes; readonly reason?: string | undefined },
  ): Promise<void> {
    const { userId, organisationId, departmentId } = concerns;
    return this.activity.write(tx, {
      action,
      object: { type: 'key', id: publicId, label: name },
      concerns: { userId, organisationId, departmentId },
      changes,
      ...(reason === undefined ? {} : { reason }),
    });
  }
}

const isFact = new Set([
  'name',
  'status',
  'budget_limit',
  'budget_period',
  'allowed_models',
  'allowed_regions',
  'rate_limit_rpm',
  'metadata',
  'expires_at',
]);

const factsOf = (key: ManagedKey): object =>
  Object.fromEntries(Object.entries(presentKey(key)).filter(([name]) => isFact.has(name)));

function actionOf(before: ManagedKey, after: ManagedKey): ActionName {
  if (before.status === after.status) return 'key.changed';
  if (after.status === 'revoked') return 'key.revoked';
  if (after.status === 'disabled') return 'key.disabled';
  return before.status === 'disabled' ? 'key.enabled' : 'key.changed';
}
