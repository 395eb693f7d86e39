import type { Scope } from '../../kernel';

/** The condition on a table with the columns of an attribution. */
export function withinScope(scope: Scope, values: unknown[], table = 'q'): string {
  const is = (column: string, value: number): string => {
    values.push(value);
    return `${table}.${column} = $${values.length}::bigint`;
  };
  switch (scope.kind) {
    case 'platform':
      return 'true';
    case 'organisation':
      return is('organisation_id', scope.organisationId);
    case 'department':
      return `((${is('organisation_id', scope.organisationId)} AND ${is('department_id', scope.departmentId)})
        OR ${is('user_id', scope.userId)})`;
    case 'user':
      return is('user_id', scope.userId);
  }
}
