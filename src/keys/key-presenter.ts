import type { LimitState } from '../billing';
import { HOUR_MS, toJsonNumber } from '../kernel';
import { keyFields } from './key-fields';
import type { IssuedKey, KeyDecision, ManagedKey, RotatedKey } from './managed-key';

export const presentIssued = (key: IssuedKey, name: string) => ({
  id: key.publicId,
  key: key.text,
  name,
  created: key.createdAt.toISOString(),
});

const portalIds = ({ id, publicId }: Pick<IssuedKey, 'id' | 'publicId'>) => ({
  id,
  key_public_id: publicId,
});

export const presentPortalIssued = (key: IssuedKey, name: string) => ({
  ...presentIssued(key, name),
  ...portalIds(key),
});

export const presentPortalRotated = (key: RotatedKey) => ({
  ...presentRotated(key),
  ...portalIds(key),
});

export const presentPortalKey = (key: ManagedKey) => ({
  ...presentKey(key),
  ...portalIds(key),
  restorable_until: key.restorableUntil?.toISOString() ?? null,
});

export const presentRotated = (key: RotatedKey) => ({
  ...presentIssued(key, key.name),
  previous_valid_until: key.previousUntil?.toISOString() ?? null,
});

/** Fields that a key can read about itself. */
export const presentFields = (key: ManagedKey) => ({
  status: key.status,
  ...keyFields.toJson('answer', key),
  allowed_regions: presentRegions(key),
  ...presentBudget(key.budget),
  model_budgets: presentModelBudgets(key),
  created: key.createdAt.toISOString(),
});

/** Everything about a key except its secret, which is not stored. */
export function presentKey(key: ManagedKey) {
  return {
    id: key.publicId,
    object: 'key',
    ...presentFields(key),
    created_by: key.createdBy,
    paused_by_administrator: presentDecision(key.pause),
    limits_locked: presentDecision(key.limitsLock),
    revoked_at: key.revokedAt?.toISOString() ?? null,
    previous_valid_until: key.previousUntil?.toISOString() ?? null,
    user_id: key.userId,
    organisation_id: key.organisationId,
    department_id: key.departmentId,
    project_id: key.projectId,
  };
}

export const presentBudget = (budget: LimitState | null) => ({
  budget_limit: budget === null ? null : toJsonNumber(budget.limit),
  budget_used: budget === null ? null : toJsonNumber(budget.spent),
  budget_remaining: budget === null ? null : toJsonNumber(budget.remaining),
  budget_period: budget?.period ?? null,
  budget_raised: budget === null || budget.raised === 0n ? null : toJsonNumber(budget.raised),
  budget_raised_until: budget?.raisedUntil?.toISOString() ?? null,
  resets_at: budget === null ? null : resetOf(budget),
  frees_next: presentFreesNext(budget),
});

const presentModelBudgets = ({ modelBudgets }: ManagedKey) =>
  modelBudgets.map(({ model, state }) => ({
    model,
    limit: toJsonNumber(state.limit),
    period: state.period,
    used: toJsonNumber(state.spent),
    remaining: toJsonNumber(state.remaining),
    resets_at: resetOf(state),
    frees_next: presentFreesNext(state),
  }));

const ROLLING_HOURS = 720;

/** Returns when current spending leaves the window; for an empty rolling window, when spending made now would leave. */
function resetOf({ resetsAt, period }: LimitState): string | null {
  if (resetsAt !== null) return resetsAt.toISOString();
  if (period !== 'rolling') return null;
  return new Date((Math.floor(Date.now() / HOUR_MS) + ROLLING_HOURS) * HOUR_MS).toISOString();
}

const presentFreesNext = (state: ManagedKey['budget']) =>
  state === null || state.freesNext === null
    ? null
    : { at: state.freesNext.at.toISOString(), amount: toJsonNumber(state.freesNext.amount) };

const presentDecision = (decision: KeyDecision | null) =>
  decision === null ? null : { by: decision.by, at: decision.at.toISOString(), reason: decision.reason };

/** Returns regions in the form in which they were entered: as a list or as a text. */
const presentRegions = ({ allowedRegions, regionsAsList }: ManagedKey): readonly string[] | string | null =>
  allowedRegions === null || regionsAsList ? allowedRegions : allowedRegions.join(',');
