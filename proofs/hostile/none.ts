import type { Findings } from '../../test/system/findings';

const SHOWN = 10;
const LONGEST = 600;

/** For what there must be none of, among so many that were looked at: the first few are shown. */
export function none(findings: Findings, what: string, offenders: readonly string[], of: number): void {
  const count = `${offenders.length} of ${of.toLocaleString('en')}`;
  findings.over(`none: ${what}`, of, offenders.length, count);
  for (const offender of offenders.slice(0, SHOWN)) tell(offender);
}

/** A line that is no finding. */
export function tell(text: string): void {
  process.stdout.write(`        ${text.slice(0, LONGEST)}\n`);
}

/** The checks after this title are about another subject. */
export const heading = (text: string): void => void process.stdout.write(`\n${text}\n`);
