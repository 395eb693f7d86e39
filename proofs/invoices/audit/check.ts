export interface CheckLine {
  readonly what: string;
  readonly holds: boolean;
  readonly found: string;
}

const MAX_SHOWN = 3;

/** Prints one check as a JSON line. */
export function check(what: string, checked: number, failures: readonly string[]): void {
  const summary =
    failures.length === 0
      ? `${checked} of ${checked}`
      : `${failures.length} of ${checked} differ: ${failures.slice(0, MAX_SHOWN).join('; ')}`;
  const line: CheckLine = { what, holds: failures.length === 0 && checked > 0, found: summary };
  process.stdout.write(`${JSON.stringify(line)}\n`);
}
