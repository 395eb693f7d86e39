import type { Scope } from '../kernel';
import type { SqlParameters } from './sql-parameters';

/** A scope means the requests that an actor may see, or those of one key that `within` may see. */
export type RecordScope = Scope | { readonly kind: 'key'; readonly keyId: number; readonly within?: Scope };

/** The condition on a table that has the columns of an attribution. */
export function withinRecordScope(scope: RecordScope, parameters: SqlParameters, table: string): string {
  const is = (column: string, value: number): string =>
    `${table}.${column} = ${parameters.add(value)}::bigint`;
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
    case 'key':
      return scope.within === undefined
        ? is('key_id', scope.keyId)
        : `(${is('key_id', scope.keyId)} AND ${withinRecordScope(scope.within, parameters, table)})`;
  }
}
