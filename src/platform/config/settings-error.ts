/** A process that was configured wrongly exits with this code (EX_CONFIG of sysexits). */
export const EXIT_CONFIGURATION = 78;

export interface SettingFault {
  readonly name: string;
  readonly problem: string;
}

/** Carries every fault at once, so that nine mistakes take one start to find and not nine. */
export class SettingsError extends Error {
  constructor(readonly faults: readonly SettingFault[]) {
    super(
      [
        `The configuration has ${faults.length === 1 ? 'a fault' : `${faults.length} faults`}:`,
        ...faults.map(({ name, problem }) => `  ${name}: ${problem}`),
        'docs/configuration.md describes every variable.',
      ].join('\n'),
    );
    this.name = 'SettingsError';
  }
}
