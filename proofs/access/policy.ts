import type { UserRole } from '../../src/kernel';

/**
 * The access policy of the specification. It is written independently of the code on purpose: routes are compared
 * with it. A route without a line follows the longest path above it.
 */

export type Minimum = 'anyone' | 'session' | UserRole;

/** An owner stands in one of these relations to the caller. */
export const relations = ['own', 'department', 'organisation', 'foreign'] as const;
export type Relation = (typeof relations)[number];

/** By the beginning of the path; with a verb in front for that verb alone. The longest one counts. */
const minima: Readonly<Record<string, Minimum>> = {
  '/': 'anyone',
  '/account': 'session',
  '/account/email': 'anyone',
  '/api/billing': 'session',
  '/api/billing/processor/webhook': 'anyone',
  '/api/chat': 'session',
  '/api/conversations': 'session',
  '/api/legal': 'session',
  '/api/webchat-key': 'session',
  '/api/admin': 'platform_admin',
  '/api/admin/conversations': 'org_admin',
  '/admin': 'platform_admin',
  'POST /invite': 'session',
  // The extension that the proofs load.
  '/x/cost-centres': 'org_admin',
  '/dashboard': 'session',
  '/dashboard/set-admin-org': 'platform_admin',
  '/dashboard/set-admin-domain': 'platform_admin',
  '/dashboard/toggle-admin-mode': 'department_admin',
  '/dashboard/setup': 'platform_admin',
  '/dashboard/settings/telemetry/organisation': 'org_owner',
  '/dashboard/qualitative/settings': 'org_admin',
  '/dashboard/admin': 'platform_admin',
  'GET /dashboard/admin': 'platform_admin',
  '/dashboard/admin/alerts': 'department_admin',
  '/dashboard/admin/alerts/channels': 'org_admin',
  '/dashboard/admin/alerts/rules': 'org_admin',
  '/dashboard/admin/alerts/settings': 'org_admin',
  '/dashboard/admin/api/dashboard': 'department_admin',
  '/dashboard/admin/api/departments': 'org_admin',
  '/dashboard/admin/api/key-rate-limit-state': 'department_admin',
  '/dashboard/admin/api/model-policy': 'org_admin',
  '/dashboard/admin/api/usage': 'department_admin',
  '/dashboard/admin/audit': 'org_admin',
  '/dashboard/admin/autorouter/api-key': 'department_admin',
  '/dashboard/admin/autorouter/org': 'org_admin',
  '/dashboard/admin/conversations': 'org_admin',
  '/dashboard/admin/departments': 'org_admin',
  '/dashboard/admin/models': 'platform_admin',
  'GET /dashboard/admin/models': 'platform_admin',
  '/dashboard/admin/models/access': 'org_admin',
  '/dashboard/admin/models/domain-toggle': 'org_admin',
  '/dashboard/admin/projects': 'department_admin',
  '/dashboard/admin/quarantine': 'platform_owner',
  '/dashboard/admin/users': 'department_admin',
  '/dashboard/admin/users/{user_id}/billing-config': 'org_admin',
  '/dashboard/admin/users/{user_id}/billing-exempt': 'platform_admin',
  '/dashboard/admin/users/{user_id}/budget-raise': 'org_admin',
  '/dashboard/admin/users/{user_id}/credit-limit': 'org_admin',
  '/dashboard/admin/users/{user_id}/department': 'org_admin',
  '/dashboard/admin/users/{user_id}/hard-delete': 'org_owner',
  '/dashboard/admin/users/{user_id}/invoice-payment': 'platform_admin',
  '/dashboard/admin/users/{user_id}/invoice-payment-undo': 'platform_admin',
  '/dashboard/admin/users/{user_id}/invoice-payments': 'platform_admin',
  '/dashboard/admin/users/{user_id}/monthly-budget': 'platform_admin',
  '/dashboard/admin/users/{user_id}/org': 'platform_admin',
  '/dashboard/admin/users/{user_id}/role': 'org_admin',
  '/dashboard/admin/users/{user_id}/second-factor-reset': 'org_admin',
  '/dashboard/admin/users/{user_id}/status': 'org_admin',
};

/** These paths alone: what is below them has its own line. */
const exact: Readonly<Record<string, Minimum>> = {
  'GET /dashboard/admin': 'department_admin',
  'GET /dashboard/admin/models': 'org_admin',
};

export function minimumOf(method: string, path: string): Minimum {
  const own = exact[`${method} ${path}`];
  if (own !== undefined) return own;
  const segments = path.split('/').filter((part) => part !== '');
  for (let length = segments.length; length >= 0; length -= 1) {
    const above = `/${segments.slice(0, length).join('/')}`;
    const found = minima[`${method} ${above}`] ?? minima[above];
    if (found !== undefined) return found;
  }
  return 'anyone';
}

/** An id in an address or a form names a thing of this kind, with its owner. */
export const kindsOfIds = {
  user_id: 'user',
  key_id: 'key',
  org_id: 'organisation',
  dept_id: 'department',
  project_id: 'project',
  conv_id: 'conversation',
  invite_id: 'invite',
} as const;
export type IdName = keyof typeof kindsOfIds;
export const idNames = Object.keys(kindsOfIds) as IdName[];

const mine: readonly Relation[] = ['own'];
const ofDepartment: readonly Relation[] = ['own', 'department'];
const ofOrganisation: readonly Relation[] = ['own', 'department', 'organisation'];

/** A role reaches the things of these relations in the administration. */
const reach: Readonly<Record<UserRole, readonly Relation[]>> = {
  user: mine,
  department_admin: ofDepartment,
  org_admin: ofOrganisation,
  org_owner: ofOrganisation,
  platform_admin: relations,
  platform_owner: relations,
};

/** In the administration, people cannot change their own account. */
export const isOfOneself = (relation: Relation, method: string, path: string): boolean =>
  relation === 'own' && method !== 'GET' && path.startsWith('/dashboard/admin/users/{user_id}');

/** These addresses refuse a foreign id, and one that nothing has, as not permitted. */
export const refusesStrangers = (path: string): boolean =>
  ['/dashboard/admin/users/invite', '/dashboard/keys/new'].includes(path);

/** Administrators also make keys for the people whom they reach. */
const administration = [
  '/dashboard/admin',
  '/api/admin',
  '/dashboard/qualitative/settings',
  '/dashboard/keys/new',
];

/** The matrix expects that the role reaches another person's object through this route. */
export function reaches(role: UserRole, relation: Relation, path: string, id: IdName): boolean {
  // People of every department share the same organisation.
  if (id === 'org_id') return relation !== 'foreign' || role.startsWith('platform_');
  const isAdministration = administration.some((beginning) => path.startsWith(beginning));
  if (!isAdministration) return relation === 'own';
  // A department's administrator sees the projects that they made or belong to.
  if (role === 'department_admin' && id === 'project_id') return relation === 'own';
  return reach[role].includes(relation);
}
