import { type Actor, atLeast, fault, canGrant, type UserRole } from '../../kernel';

interface ActRule {
  readonly minimum: UserRole;
}

/**
 * Policy of account changes, one row per field. Pages disable forbidden changes; routes and services refuse them by the
 * same table.
 */
export const userActs = {
  view: { minimum: 'department_admin' },
  invite: { minimum: 'department_admin' },
  role: { minimum: 'org_admin' },
  status: { minimum: 'org_admin' },
  department: { minimum: 'org_admin' },
  'credit-limit': { minimum: 'org_admin' },
  'billing-config': { minimum: 'org_admin' },
  'budget-raise': { minimum: 'org_admin' },
  'second-factor-reset': { minimum: 'org_admin' },
  'hard-delete': { minimum: 'org_owner' },
  organisation: { minimum: 'platform_admin' },
  'billing-exempt': { minimum: 'platform_admin' },
  'monthly-budget': { minimum: 'platform_admin' },
  'invoice-payment': { minimum: 'platform_admin' },
  'invoice-payment-undo': { minimum: 'platform_admin' },
} as const satisfies Record<string, ActRule>;

export type UserAct = keyof typeof userActs;

export const objectActs = {
  organisations: 'platform_admin',
  markups: 'platform_admin',
  departments: 'org_admin',
  projects: 'department_admin',
  promotions: 'platform_admin',
} as const satisfies Record<string, UserRole>;

interface PolicyTarget {
  readonly id: number;
  readonly role: UserRole;
}

/**
 * Returns why the actor is not allowed to do this to the account; null if allowed. Users cannot change their own
 * account here.
 */
export function refusalReason(
  actor: Pick<Actor, 'userId' | 'role'>,
  act: UserAct,
  target: PolicyTarget,
): string | null {
  const { minimum } = userActs[act];
  if (!atLeast(actor.role, minimum)) return minimum;
  if (act === 'view') return null;
  if (target.id === actor.userId) return 'self';
  return canGrant(actor.role, target.role) ? null : target.role;
}

export function assertAllowed(
  actor: Pick<Actor, 'userId' | 'role'>,
  act: UserAct,
  target: PolicyTarget,
): void {
  const refusal = refusalReason(actor, act, target);
  if (refusal === null) return;
  throw fault('permission_denied', {
    ...(refusal === 'self'
      ? {
          message: 'No one changes their own account in the administration.',
          details: { reason: 'own-account' },
        }
      : { message: `This needs the role ${refusal}.`, details: { reason: 'role', role: refusal } }),
  });
}
