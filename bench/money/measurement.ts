/** A row of the report. */
export interface Measurement {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  readonly wanted?: string;
  readonly held?: boolean;
}

/** Counts every statement sent to the server, including BEGIN and COMMIT. */
export class StatementCount {
  count = 0;
  logQuery = (): void => void (this.count += 1);
  logQueryError = (): void => undefined;
  logQuerySlow = (): void => undefined;
  logSchemaBuild = (): void => undefined;
  logMigration = (): void => undefined;
  log = (): void => undefined;
}
