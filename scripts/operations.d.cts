export interface OperationsReport {
  readonly total: number;
  readonly implemented: readonly string[];
  readonly pending: readonly string[];
}

export function compareOperations(
  routes: readonly (readonly [method: string, path: string])[],
): OperationsReport;
