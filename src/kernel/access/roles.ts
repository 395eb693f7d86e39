/** Ordered from least to most powerful; the index is the rank. */
export const roles = [
  'user',
  'department_admin',
  'org_admin',
  'org_owner',
  'platform_admin',
  'platform_owner',
] as const;

export type UserRole = (typeof roles)[number];

export const isRole = (value: unknown): value is UserRole => roles.includes(value as UserRole);

// A role outside the ladder ranks below every other.
const rank = (role: UserRole): number => roles.indexOf(role);

export const atLeast = (role: UserRole, minimum: UserRole): boolean =>
  isRole(minimum) && rank(role) >= rank(minimum);

export const isAdministrator = (role: UserRole): boolean => atLeast(role, 'department_admin');

/** Only administrators grant roles, and never one above their own. */
export const canGrant = (actor: UserRole, target: UserRole): boolean =>
  isAdministrator(actor) && atLeast(actor, target);
