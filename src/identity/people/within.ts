import type { Scope } from '../../kernel';
import { PROJECT_OF_PERSON } from '../own-projects.service';

export interface Condition {
  readonly sql: string;
  readonly parameters: readonly number[];
}

/** Accounts `u` that lie within a scope; its parameters are numbered from `first`. */
export function usersWithin(scope: Scope, first: number): Condition {
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

/** Below an organisation's administrators, projects `p` are those that one has made or belongs to. */
export function projectsWithin(scope: Scope, first: number): Condition {
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
          AND EXISTS (SELECT FROM user_account u WHERE u.id = ${one} AND ${PROJECT_OF_PERSON})`,
        parameters: [scope.userId],
      };
  }
}

/** The alias of organisations is `o`. */
export function organisationsWithin(scope: Scope, first: number): Condition {
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

/** The alias of departments is `d`. */
export function departmentsWithin(scope: Scope, first: number): Condition {
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
