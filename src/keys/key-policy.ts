import { type Actor, type Fault, fault, mayGrant } from '../kernel';
import { keyFields } from './key-fields';
import type { KeyChanges, KeyDecision, ManagedKey } from './managed-key';

/** An administrator's scope covers the key; an owner has it. */
type KeyRole = 'owner' | 'administrator';

/** The person who acts, and as what. */
export type ActingOnKey = Pick<Actor, 'userId' | 'role'> & { readonly as: KeyRole };

export type KeyAct =
  'change' | 'limit' | 'lock' | 'pause' | 'raise' | 'restore' | 'resume' | 'revoke' | 'rotate';

type Decided = Pick<ManagedKey, 'pause' | 'limitsLock' | 'revocation' | 'userId'>;
type Rule = (key: Decided, acting: ActingOnKey) => string | null;

const always: Rule = () => null;
const administratorsOnly = 'Only an administrator may do this.';

const isOwn = (decision: KeyDecision | null, { userId }: ActingOnKey): boolean =>
  decision !== null && decision.userId === userId;

/** A decision binds its key's owner, and administrators of a lower role than its author has. */
function binds(decision: KeyDecision | null, acting: ActingOnKey): boolean {
  if (decision === null || isOwn(decision, acting)) return false;
  return acting.as === 'owner' || (decision.role !== null && !mayGrant(acting.role, decision.role));
}

const unlessLocked: Rule = ({ limitsLock }, acting) => {
  if (!binds(limitsLock, acting)) return null;
  return acting.as === 'owner'
    ? 'An administrator set the limits of this key: ask them to change it.'
    : 'An administrator with a role above yours set the limits of this key: ask them to change it.';
};
const unlessPaused: Rule = ({ pause }, acting) => {
  if (!binds(pause, acting)) return null;
  return acting.as === 'owner'
    ? 'An administrator paused this key: ask them to resume it.'
    : 'An administrator with a role above yours paused this key: ask them to resume it.';
};

const unlessRevoked: Rule = ({ revocation }, acting) => {
  if (!binds(revocation, acting)) return null;
  return acting.as === 'owner'
    ? 'An administrator revoked this key: ask them to restore it.'
    : 'An administrator with a role above yours revoked this key: ask them to restore it.';
};

/** Null allows the act; a text says why it is refused. The scope of the reader is checked before, elsewhere. */
const policy: Readonly<Record<KeyAct, Readonly<Record<KeyRole, Rule>>>> = {
  change: { owner: always, administrator: always },
  limit: { owner: unlessLocked, administrator: unlessLocked },
  lock: {
    owner: ({ limitsLock }, acting) => (isOwn(limitsLock, acting) ? null : administratorsOnly),
    administrator: unlessLocked,
  },
  pause: { owner: always, administrator: always },
  raise: { owner: () => administratorsOnly, administrator: unlessLocked },
  restore: { owner: unlessRevoked, administrator: unlessRevoked },
  resume: { owner: unlessPaused, administrator: unlessPaused },
  revoke: { owner: always, administrator: always },
  // The answer carries a secret that spends in the name of the key's person.
  rotate: {
    owner: always,
    administrator: ({ userId }, acting) =>
      userId === null || userId === acting.userId
        ? null
        : 'Only the owner of this key may rotate it; revoke it instead.',
  },
};

/** Their own key makes an administrator its owner, except the platform's owner, who has no superior. */
export function actingOnKey(
  { userId, role }: Pick<Actor, 'userId' | 'role'>,
  key: Pick<ManagedKey, 'userId'>,
  inAdminView: boolean,
): ActingOnKey {
  const isOwner = !inAdminView || (key.userId === userId && role !== 'platform_owner');
  return { userId, role, as: isOwner ? 'owner' : 'administrator' };
}

export const mayActOnKey = (act: KeyAct, acting: ActingOnKey, key: Decided): boolean =>
  policy[act][acting.as](key, acting) === null;

export function refuseKeyAct(act: KeyAct, acting: ActingOnKey, key: Decided): void {
  const reason = policy[act][acting.as](key, acting);
  if (reason !== null) throw denied(reason);
}

/** A change is a set of acts. An unchanged field needs no right. */
export function refuseKeyChanges(changes: KeyChanges, acting: ActingOnKey, key: ManagedKey): void {
  refuseKeyAct('change', acting, key);
  if (changesLimits(changes, key)) refuseKeyAct('limit', acting, key);
  if (changes.limitsLocked !== undefined && changes.limitsLocked !== (key.limitsLock !== null))
    refuseKeyAct('lock', acting, key);
  if (changes.status === 'active' && key.status === 'disabled') refuseKeyAct('resume', acting, key);
  if (changes.status === 'disabled') refuseKeyAct('pause', acting, key);
}

const denied = (message: string): Fault => fault('permission_denied', { message });

/** These fields of a key set no limit of it. */
const unlimiting = new Set<string>(['name', 'answerModel', 'continueStreams', 'metadata']);

function changesLimits(changes: KeyChanges, key: ManagedKey): boolean {
  const { budget } = key;
  const differs = <T>(wanted: T | undefined, current: T): boolean =>
    wanted !== undefined && wanted !== current;
  return (
    Object.keys(keyFields.changed('body', key, changes)).some((name) => !unlimiting.has(name)) ||
    differs(changes.budgetLimit, budget?.limit ?? null) ||
    differs(changes.budgetPeriod, budget?.period ?? changes.budgetPeriod) ||
    (changes.modelBudgets !== undefined && !sameBudgets(changes.modelBudgets, key.modelBudgets))
  );
}

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
