import type { Findings } from '../../test/system/findings';

const MAX_PRINTED = 10;
const MAX_LINE_LENGTH = 600;

/** Checks that there are no offenders among `of` items, and prints the first few. */
export function expectNone(findings: Findings, what: string, offenders: readonly string[], of: number): void {
  const count = `${offenders.length} of ${of.toLocaleString('en')}`;
  findings.expectNoneWrong(`none: ${what}`, of, offenders.length, count);
  for (const offender of offenders.slice(0, MAX_PRINTED)) print(offender);
}

/** Prints a line that is not a finding. */
export function print(text: string): void {
  process.stdout.write(`        ${text.slice(0, MAX_LINE_LENGTH)}\n`);
}

/** Prints the subject of the following checks. */
export const printHeading = (text: string): void => void process.stdout.write(`\n${text}\n`);
