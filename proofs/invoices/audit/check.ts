export interface CheckLine {
  readonly what: string;
  readonly holds: boolean;
  readonly found: string;
}

const MOST_SHOWN = 3;

/** One JSON line. */
export function check(what: string, checked: number, wrong: readonly string[]): void {
  const found =
    wrong.length === 0
      ? `${checked} of ${checked}`
      : `${wrong.length} of ${checked} differ: ${wrong.slice(0, MOST_SHOWN).join('; ')}`;
  const line: CheckLine = { what, holds: wrong.length === 0 && checked > 0, found };
  process.stdout.write(`${JSON.stringify(line)}\n`);
}
