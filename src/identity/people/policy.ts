import { type Actor, atLeast, fault, mayGrant, type Role } from '../../kernel';

interface ActRule {
  readonly minimum: Role;
}

/**
 * The policy of account changes, one row a field. Pages disable forbidden changes; routes and services refuse them by
 * the same table.
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

/** The same for other objects. */
export const placeActs = {
  organisations: 'platform_admin',
  markups: 'platform_admin',
  departments: 'org_admin',
  projects: 'department_admin',
  promotions: 'platform_admin',
} as const satisfies Record<string, Role>;

interface Target {
  readonly id: number;
  readonly role: Role;
}

/**
 * The actor may not do this to the account for this reason; null when they may. People do not change their
 * own account here.
 */
export function refusalOf(
  actor: Pick<Actor, 'userId' | 'role'>,
  act: UserAct,
  target: Target,
): string | null {
  const { minimum } = userActs[act];
  if (!atLeast(actor.role, minimum)) return minimum;
  if (act === 'view') return null;
  if (target.id === actor.userId) return 'self';
  return mayGrant(actor.role, target.role) ? null : target.role;
}

export function assertMay(actor: Pick<Actor, 'userId' | 'role'>, act: UserAct, target: Target): void {
  const refusal = refusalOf(actor, act, target);
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
