/** They go from the least to the most powerful; the position is the rank. */
export const roles = [
  'user',
  'department_admin',
  'org_admin',
  'org_owner',
  'platform_admin',
  'platform_owner',
] as const;

export type Role = (typeof roles)[number];

export const isRole = (value: unknown): value is Role => roles.includes(value as Role);

// A role that is not in the ladder ranks below everyone: unknown never means more.
const rank = (role: Role): number => roles.indexOf(role);

export const atLeast = (role: Role, minimum: Role): boolean => isRole(minimum) && rank(role) >= rank(minimum);

export const isAdministrator = (role: Role): boolean => atLeast(role, 'department_admin');

/** Only administrators grant roles, and never one above their own. */
export const mayGrant = (actor: Role, target: Role): boolean =>
  isAdministrator(actor) && atLeast(actor, target);
