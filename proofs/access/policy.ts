import type { UserRole } from '../../src/kernel';

/**
 * Access policy of the specification, deliberately independent of the code; routes are compared with it. A route
 * without an entry inherits that of the longest parent path.
 */

export type Minimum = 'anyone' | 'session' | UserRole;

/** Possible relations of an object's owner to the caller. */
export const relations = ['own', 'department', 'organisation', 'foreign'] as const;
export type Relation = (typeof relations)[number];

/** Minimum roles by path prefix, optionally preceded by a method; the longest match wins. */
const minimumRoles: Readonly<Record<string, Minimum>> = {
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
  // Example extension that the proofs load.
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

/** Exact paths; paths below have their own entry. */
const exactPaths: Readonly<Record<string, Minimum>> = {
  'GET /dashboard/admin': 'department_admin',
  'GET /dashboard/admin/models': 'org_admin',
};

export function minimumOf(method: string, path: string): Minimum {
  const own = exactPaths[`${method} ${path}`];
  if (own !== undefined) return own;
  const segments = path.split('/').filter((part) => part !== '');
  for (let length = segments.length; length >= 0; length -= 1) {
    const parentPath = `/${segments.slice(0, length).join('/')}`;
    const minimum = minimumRoles[`${method} ${parentPath}`] ?? minimumRoles[parentPath];
    if (minimum !== undefined) return minimum;
  }
  return 'anyone';
}

/** Kinds of objects that ids in paths and forms identify, with their owner. */
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

const ownOnly: readonly Relation[] = ['own'];
const withinDepartment: readonly Relation[] = ['own', 'department'];
const withinOrganisation: readonly Relation[] = ['own', 'department', 'organisation'];

/** Relations that each role can reach in the administration. */
const reach: Readonly<Record<UserRole, readonly Relation[]>> = {
  user: ownOnly,
  department_admin: withinDepartment,
  org_admin: withinOrganisation,
  org_owner: withinOrganisation,
  platform_admin: relations,
  platform_owner: relations,
};

/** Users cannot change their own account in the administration. */
export const isOwnAccountChange = (relation: Relation, method: string, path: string): boolean =>
  relation === 'own' && method !== 'GET' && path.startsWith('/dashboard/admin/users/{user_id}');

/** Paths that reject a foreign or absent id as not permitted. */
export const rejectsForeignIds = (path: string): boolean =>
  ['/dashboard/admin/users/invite', '/dashboard/keys/new'].includes(path);

/** Administrators can also create keys for users within their reach. */
const administrationPaths = [
  '/dashboard/admin',
  '/api/admin',
  '/dashboard/qualitative/settings',
  '/dashboard/keys/new',
];

/** Tells whether the role is expected to reach another user's object through this route. */
export function isReachable(role: UserRole, relation: Relation, path: string, id: IdName): boolean {
  // All departments share the organisation.
  if (id === 'org_id') return relation !== 'foreign' || role.startsWith('platform_');
  const isAdministration = administrationPaths.some((beginning) => path.startsWith(beginning));
  if (!isAdministration) return relation === 'own';
  // Department administrators see only the projects that they own or are a member of.
  if (role === 'department_admin' && id === 'project_id') return relation === 'own';
  return reach[role].includes(relation);
}
