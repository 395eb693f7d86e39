/** Exit code of a misconfigured process (EX_CONFIG of sysexits). */
export const EXIT_CONFIGURATION = 78;

export interface SettingIssue {
  readonly name: string;
  readonly problem: string;
}

/** Reports every issue at once, so that several mistakes need only one start to find. */
export class SettingsError extends Error {
  constructor(readonly issues: readonly SettingIssue[]) {
    super(
      [
        `The configuration has ${issues.length === 1 ? 'a fault' : `${issues.length} faults`}:`,
        ...issues.map(({ name, problem }) => `  ${name}: ${problem}`),
        'docs/configuration.md describes every variable.',
      ].join('\n'),
    );
    this.name = 'SettingsError';
  }
}
