import { idsOf, isServed, type Seen, tally } from './load';
import type { Stage } from './stage';

/** What every outage owes: answers that say what is wrong and when to come back, and books that add up. */
export function checkAnswers(
  { report }: Stage,
  name: string,
  seen: readonly Seen[],
  codes: readonly string[],
): void {
  const others = seen.filter((each) => !isServed(each) && !codes.includes(each.code));
  const expected = codes.length === 0 ? 'all served' : `served, or 503 ${codes.join(', ')}`;
  report.check(`${name}: answers`, expected, tally(seen), others.length === 0);
  const refused = seen.filter(({ status }) => status === 503);
  const silent = refused.filter(({ retryAfter }) => !/^[1-9]\d*$/.test(retryAfter ?? ''));
  if (codes.length > 0)
    report.check(`${name}: refusals without Retry-After`, '0', `${silent.length}`, silent.length === 0);
}

/** Answers what was lost, for the table. */
export async function checkBooks(
  { house: { books }, report }: Stage,
  name: string,
  acknowledged: readonly Seen[],
): Promise<string> {
  const lost = await books.lost(idsOf(acknowledged));
  const of = `${lost} of ${acknowledged.length.toLocaleString('en')}`;
  report.check(
    `${name}: acknowledged calls without exactly one charge`,
    '0',
    of,
    lost === 0 && acknowledged.length > 0,
  );
  const twice = await books.chargedTwice();
  report.check(`${name}: calls charged twice`, '0', `${twice}`, twice === 0);
  const drift = await books.drift();
  report.check(`${name}: the books`, '0 wrong', `${drift} wrong`, drift === 0);
  return of;
}
