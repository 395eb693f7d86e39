import type { Scope } from '../kernel';
import type { SqlParameters } from './sql-parameters';

export type RecordScope = Scope | { readonly kind: 'key'; readonly keyId: number; readonly within?: Scope };

/** SQL condition on a table with the columns of an attribution. */
export function withinRecordScope(scope: RecordScope, parameters: SqlParameters, table: string): string {
  const equals = (column: string, value: number): string =>
    `${table}.${column} = ${parameters.add(value)}::bigint`;
  switch (scope.kind) {
    case 'platform':
      return 'true';
    case 'organisation':
      return equals('organisation_id', scope.organisationId);
    case 'department':
      return `((${equals('organisation_id', scope.organisationId)} AND ${equals('department_id', scope.departmentId)})
        OR ${equals('user_id', scope.userId)})`;
    case 'user':
      return equals('user_id', scope.userId);
    case 'key':
      return scope.within === undefined
        ? equals('key_id', scope.keyId)
        : `(${equals('key_id', scope.keyId)} AND ${withinRecordScope(scope.within, parameters, table)})`;
  }
}
