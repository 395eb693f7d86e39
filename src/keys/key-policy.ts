import { type Fault, fault } from '../kernel';
import type { KeyChanges, ManagedKey } from './managed-key';

/** The actor: an owner in their own view, or an administrator whose scope covers the key. */
export type KeyRole = 'owner' | 'administrator';

export type KeyAct = 'change' | 'limit' | 'lock' | 'pause' | 'raise' | 'resume' | 'revoke' | 'rotate';

type Rule = (key: Pick<ManagedKey, 'pause' | 'limitsLock'>) => string | null;

const always: Rule = () => null;
const administratorsOnly: Rule = () => 'Only an administrator may do this.';

/** Null allows the act; a text says why it is refused. The scope of the reader is checked before, elsewhere. */
const policy: Readonly<Record<KeyAct, Readonly<Record<KeyRole, Rule>>>> = {
  change: { owner: always, administrator: always },
  limit: {
    owner: ({ limitsLock }) =>
      limitsLock === null ? null : 'An administrator set the limits of this key: ask them to change it.',
    administrator: always,
  },
  lock: { owner: administratorsOnly, administrator: always },
  pause: { owner: always, administrator: always },
  raise: { owner: administratorsOnly, administrator: always },
  resume: {
    owner: ({ pause }) =>
      pause === null ? null : 'An administrator paused this key: ask them to resume it.',
    administrator: always,
  },
  revoke: { owner: always, administrator: always },
  rotate: { owner: always, administrator: always },
};

export function refuseKeyAct(act: KeyAct, role: KeyRole, key: ManagedKey): void {
  const reason = policy[act][role](key);
  if (reason !== null) throw denied(reason);
}

/** A change is a set of acts. An unchanged field needs no right. */
export function refuseKeyChanges(changes: KeyChanges, role: KeyRole, key: ManagedKey): void {
  refuseKeyAct('change', role, key);
  if (changesLimits(changes, key)) refuseKeyAct('limit', role, key);
  if (changes.limitsLocked !== undefined && changes.limitsLocked !== (key.limitsLock !== null))
    refuseKeyAct('lock', role, key);
  if (changes.status === 'active' && key.status === 'disabled') refuseKeyAct('resume', role, key);
  if (changes.status === 'disabled') refuseKeyAct('pause', role, key);
}

const denied = (message: string): Fault => fault('permission_denied', { message });

function changesLimits(changes: KeyChanges, key: ManagedKey): boolean {
  const { budget } = key;
  const differs = <T>(wanted: T | undefined, current: T): boolean =>
    wanted !== undefined && wanted !== current;
  return (
    differs(changes.budgetLimit, budget?.limit ?? null) ||
    differs(changes.budgetPeriod, budget?.period ?? changes.budgetPeriod) ||
    differs(changes.rateLimitRpm, key.rateLimitRpm) ||
    differs(changes.rateLimitTpm, key.rateLimitTpm) ||
    differs(changes.maxParallel, key.maxParallel) ||
    differs(listed(changes.allowedModels), listed(key.allowedModels)) ||
    differs(listed(changes.allowedRegions), listed(key.allowedRegions)) ||
    differs(changes.expiresAt?.getTime(), key.expiresAt?.getTime()) ||
    (changes.expiresAt === null && key.expiresAt !== null) ||
    (changes.modelBudgets !== undefined && !sameBudgets(changes.modelBudgets, key.modelBudgets))
  );
}

const listed = (names: readonly string[] | null | undefined): string | null | undefined =>
  names === null || names === undefined ? names : [...names].sort().join(' ');

const sameBudgets = (
  wanted: NonNullable<KeyChanges['modelBudgets']>,
  current: ManagedKey['modelBudgets'],
): boolean =>
  wanted.length === current.length &&
  wanted.every((one) =>
    current.some(
      ({ model, state }) => model === one.model && state.limit === one.limit && state.period === one.period,
    ),
  );
