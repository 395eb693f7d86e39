import type { Scope } from '../../kernel';
import { PROJECT_OF_USER } from '../own-projects.query';

export interface ScopeCondition {
  readonly sql: string;
  readonly parameters: readonly number[];
}

/** Accounts `u` within a scope; its parameters are numbered from `first`. */
export function usersWithin(scope: Scope, first: number): ScopeCondition {
  const [one, two, three] = [`$${first}::integer`, `$${first + 1}::integer`, `$${first + 2}::integer`];
  switch (scope.kind) {
    case 'platform':
      return { sql: 'true', parameters: [] };
    case 'organisation':
      return { sql: `u.organisation_id = ${one}`, parameters: [scope.organisationId] };
    case 'department':
      return {
        sql: `((u.organisation_id = ${one} AND u.department_id = ${two}) OR u.id = ${three})`,
        parameters: [scope.organisationId, scope.departmentId, scope.userId],
      };
    case 'user':
      return { sql: `u.id = ${one}`, parameters: [scope.userId] };
  }
}

/** Below an organisation's administrators, users see only projects `p` that they created or belong to. */
export function projectsWithin(scope: Scope, first: number): ScopeCondition {
  const one = `$${first}::integer`;
  switch (scope.kind) {
    case 'platform':
      return { sql: 'true', parameters: [] };
    case 'organisation':
      return { sql: `p.organisation_id = ${one}`, parameters: [scope.organisationId] };
    case 'department':
    case 'user':
      return {
        sql: `(p.created_by = ${one} OR EXISTS (
          SELECT FROM project_member m WHERE m.project_id = p.id AND m.user_id = ${one}))
          AND EXISTS (SELECT FROM user_account u WHERE u.id = ${one} AND ${PROJECT_OF_USER})`,
        parameters: [scope.userId],
      };
  }
}

/** Organisations have the alias `o`. */
export function organisationsWithin(scope: Scope, first: number): ScopeCondition {
  switch (scope.kind) {
    case 'platform':
      return { sql: 'true', parameters: [] };
    case 'organisation':
    case 'department':
      return { sql: `o.id = $${first}::integer`, parameters: [scope.organisationId] };
    case 'user':
      return { sql: 'false', parameters: [] };
  }
}

/** Departments have the alias `d`. */
export function departmentsWithin(scope: Scope, first: number): ScopeCondition {
  switch (scope.kind) {
    case 'platform':
      return { sql: 'true', parameters: [] };
    case 'organisation':
      return { sql: `d.organisation_id = $${first}::integer`, parameters: [scope.organisationId] };
    case 'department':
      return { sql: `d.id = $${first}::integer`, parameters: [scope.departmentId] };
    case 'user':
      return { sql: 'false', parameters: [] };
  }
}
