import { Injectable } from '@nestjs/common';
import { type ActionName, type ActivityActor, ActivityLog, type Changes, changesOf } from '../audit';
import { PayerService } from '../identity';
import { formatUsd, platformScope } from '../kernel';
import type { Tx } from '../platform';
import { keyFields } from './key-fields';
import { presentKey } from './key-presenter';
import { KeyRegister } from './key-register';
import type { IssuedKey, ManagedKey, RotatedKey } from './managed-key';

/** Writes audit log entries for everything that the operator does with the root key or at the command line. */
@Injectable()
export class KeyActivity {
  constructor(
    private readonly register: KeyRegister,
    private readonly payers: PayerService,
    private readonly activity: ActivityLog,
  ) {}

  async recordCreated(tx: Tx, { publicId }: IssuedKey, actor?: ActivityActor): Promise<void> {
    const key = await this.register.get(platformScope, publicId, tx);
    await this.write(tx, 'key.created', key, changesOf(null, loggedKeyFields(key)), actor);
  }

  /** Runs a change and records what it changed; without an effect no entry is written. */
  async recordChange(
    tx: Tx,
    publicId: string,
    change: () => Promise<void>,
    actor?: ActivityActor,
  ): Promise<ManagedKey> {
    await tx.query('SELECT FROM api_key WHERE public_id = $1 FOR NO KEY UPDATE', [publicId]);
    const before = await this.register.get(platformScope, publicId, tx);
    await change();
    const after = await this.register.get(platformScope, publicId, tx);
    const changes = changesOf(loggedKeyFields(before), loggedKeyFields(after));
    if (Object.keys(changes).length > 0)
      await this.write(tx, keyActionOf(before, after), after, changes, actor);
    return after;
  }

  async recordRotated(tx: Tx, { publicId, previousUntil }: RotatedKey, actor?: ActivityActor): Promise<void> {
    const key = await this.register.get(platformScope, publicId, tx);
    await this.write(tx, 'key.rotated', key, changesOf(null, { previous_valid_until: previousUntil }), actor);
  }

  private async write(
    tx: Tx,
    action: ActionName,
    key: ManagedKey,
    changes: Changes,
    actor: ActivityActor | undefined,
  ): Promise<void> {
    const { userId, organisationId, departmentId } = await this.payers.standingOf(key, tx);
    await this.activity.write(tx, {
      action,
      object: { type: 'key', id: key.id, label: key.name },
      concerns: { userId, organisationId, departmentId },
      changes,
      ...(actor === undefined ? {} : { actor }),
    });
  }
}

const loggedFields = new Set([
  ...keyFields.on('record').map(({ name }) => name),
  'status',
  'budget_limit',
  'budget_period',
  'paused_by_administrator',
  'limits_locked',
]);

/** Returns the fields of a key that the audit log records. The spending of a budget is not a change of the key. */
export const loggedKeyFields = (key: ManagedKey) => ({
  ...Object.fromEntries(Object.entries(presentKey(key)).filter(([name]) => loggedFields.has(name))),
  kept_by_file_as: key.fileName,
  restorable_until: key.restorableUntil?.toISOString() ?? null,
  model_budgets: key.modelBudgets.map(
    ({ model, state }) => `${model} = ${formatUsd(state.limit)} ${state.period}`,
  ),
});

export function keyActionOf(before: ManagedKey, after: ManagedKey): ActionName {
  if (before.status === after.status) return 'key.changed';
  if (after.status === 'revoked') return 'key.revoked';
  if (before.status === 'revoked') return 'key.restored';
  if (after.status === 'disabled') return 'key.disabled';
  return before.status === 'disabled' ? 'key.enabled' : 'key.changed';
}
