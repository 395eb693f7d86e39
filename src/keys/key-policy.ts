import { type Actor, type Fault, fault, canGrant } from '../kernel';
import { keyFields } from './key-fields';
import type { KeyChanges, KeyDecision, ManagedKey } from './managed-key';

/** An administrator's scope covers the key; an owner has the key. */
type KeyRole = 'owner' | 'administrator';

export type ActingUser = Pick<Actor, 'userId' | 'role'> & { readonly as: KeyRole };

export type KeyAction =
  'change' | 'limit' | 'lock' | 'pause' | 'raise' | 'restore' | 'resume' | 'revoke' | 'rotate';

type KeyDecisions = Pick<ManagedKey, 'pause' | 'limitsLock' | 'revocation' | 'userId'>;
type KeyRule = (key: KeyDecisions, actor: ActingUser) => string | null;

const always: KeyRule = () => null;
const administratorsOnly = 'Only an administrator may do this.';

const isOwn = (decision: KeyDecision | null, { userId }: ActingUser): boolean =>
  decision !== null && decision.userId === userId;

/**
 * Returns whether a decision binds the user: it binds the key's owner, and administrators with a lower role than its
 * author.
 */
function binds(decision: KeyDecision | null, actor: ActingUser): boolean {
  if (decision === null || isOwn(decision, actor)) return false;
  return actor.as === 'owner' || (decision.role !== null && !canGrant(actor.role, decision.role));
}

const unlessLocked: KeyRule = ({ limitsLock }, actor) => {
  if (!binds(limitsLock, actor)) return null;
  return actor.as === 'owner'
    ? 'An administrator set the limits of this key: ask them to change it.'
    : 'An administrator with a role above yours set the limits of this key: ask them to change it.';
};
const unlessPaused: KeyRule = ({ pause }, actor) => {
  if (!binds(pause, actor)) return null;
  return actor.as === 'owner'
    ? 'An administrator paused this key: ask them to resume it.'
    : 'An administrator with a role above yours paused this key: ask them to resume it.';
};

const unlessRevoked: KeyRule = ({ revocation }, actor) => {
  if (!binds(revocation, actor)) return null;
  return actor.as === 'owner'
    ? 'An administrator revoked this key: ask them to restore it.'
    : 'An administrator with a role above yours revoked this key: ask them to restore it.';
};

/** Null allows the action; a text is the reason for refusing it. The scope of the user is checked elsewhere, before. */
const policy: Readonly<Record<KeyAction, Readonly<Record<KeyRole, KeyRule>>>> = {
  change: { owner: always, administrator: always },
  limit: { owner: unlessLocked, administrator: unlessLocked },
  lock: {
    owner: ({ limitsLock }, actor) => (isOwn(limitsLock, actor) ? null : administratorsOnly),
    administrator: unlessLocked,
  },
  pause: { owner: always, administrator: always },
  raise: { owner: () => administratorsOnly, administrator: unlessLocked },
  restore: { owner: unlessRevoked, administrator: unlessRevoked },
  resume: { owner: unlessPaused, administrator: unlessPaused },
  revoke: { owner: always, administrator: always },
  // The response carries a secret that spends in the name of the key's owner.
  rotate: {
    owner: always,
    administrator: ({ userId }, actor) =>
      userId === null || userId === actor.userId
        ? null
        : 'Only the owner of this key may rotate it; revoke it instead.',
  },
};

/** An administrator acts on their own key as its owner, except the platform owner, who has no superior. */
export function actingUserOn(
  { userId, role }: Pick<Actor, 'userId' | 'role'>,
  key: Pick<ManagedKey, 'userId'>,
  inAdminView: boolean,
): ActingUser {
  const isOwner = !inAdminView || (key.userId === userId && role !== 'platform_owner');
  return { userId, role, as: isOwner ? 'owner' : 'administrator' };
}

export const canActOnKey = (action: KeyAction, actor: ActingUser, key: KeyDecisions): boolean =>
  policy[action][actor.as](key, actor) === null;

export function requireKeyAction(action: KeyAction, actor: ActingUser, key: KeyDecisions): void {
  const reason = policy[action][actor.as](key, actor);
  if (reason !== null) throw permissionDenied(reason);
}

/** Requires the right to every action that a change consists of; unchanged fields need none. */
export function requireKeyChanges(changes: KeyChanges, actor: ActingUser, key: ManagedKey): void {
  requireKeyAction('change', actor, key);
  if (changesLimits(changes, key)) requireKeyAction('limit', actor, key);
  if (changes.limitsLocked !== undefined && changes.limitsLocked !== (key.limitsLock !== null))
    requireKeyAction('lock', actor, key);
  if (changes.status === 'active' && key.status === 'disabled') requireKeyAction('resume', actor, key);
  if (changes.status === 'disabled') requireKeyAction('pause', actor, key);
}

const permissionDenied = (message: string): Fault => fault('permission_denied', { message });

const fieldsWithoutLimits = new Set<string>(['name', 'answerModel', 'continueStreams', 'metadata']);

function changesLimits(changes: KeyChanges, key: ManagedKey): boolean {
  const { budget } = key;
  const differs = <T>(requested: T | undefined, current: T): boolean =>
    requested !== undefined && requested !== current;
  return (
    Object.keys(keyFields.changedValues('body', key, changes)).some(
      (name) => !fieldsWithoutLimits.has(name),
    ) ||
    differs(changes.budgetLimit, budget?.limit ?? null) ||
    differs(changes.budgetPeriod, budget?.period ?? changes.budgetPeriod) ||
    (changes.modelBudgets !== undefined && !sameBudgets(changes.modelBudgets, key.modelBudgets))
  );
}

const sameBudgets = (
  requested: NonNullable<KeyChanges['modelBudgets']>,
  current: ManagedKey['modelBudgets'],
): boolean =>
  requested.length === current.length &&
  requested.every((one) =>
    current.some(
      ({ model, state }) => model === one.model && state.limit === one.limit && state.period === one.period,
    ),
  );
