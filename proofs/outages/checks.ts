import { setTimeout as delay } from 'node:timers/promises';
import type { GatewayProcess } from './testbed';
import { idsOf, isServed, type ObservedCall, tally } from './load';
import { seconds } from './report';
import type { OutageDrillContext } from './drill';

const HOLDS_RELEASED_MS = 5_000;

/** In every outage, error responses must state the problem and when to retry, and the books must be correct. */
export function checkAnswers(
  { report }: OutageDrillContext,
  name: string,
  seen: readonly ObservedCall[],
  codes: readonly string[],
): void {
  const unexpected = seen.filter((each) => !isServed(each) && !codes.includes(each.code));
  const expected = codes.length === 0 ? 'all served' : `served, or 503 ${codes.join(', ')}`;
  report.check(`${name}: answers`, expected, tally(seen), seen.length > 0 && unexpected.length === 0);
  const refused = seen.filter(({ status }) => status === 503);
  const withoutRetryAfter = refused.filter(({ retryAfter }) => !/^[1-9]\d*$/.test(retryAfter ?? ''));
  if (codes.length > 0)
    report.check(
      `${name}: refusals without Retry-After`,
      '0',
      `${withoutRetryAfter.length}`,
      withoutRetryAfter.length === 0,
    );
}

/** Returns the number of lost requests, for the table. */
export async function checkBooks(
  { testbed, report }: OutageDrillContext,
  name: string,
  acknowledged: readonly ObservedCall[],
  books = testbed.books,
): Promise<string> {
  const lost = await books.countLost(idsOf(acknowledged));
  const summary = `${lost} of ${acknowledged.length.toLocaleString('en')}`;
  report.check(
    `${name}: acknowledged calls without exactly one charge`,
    '0',
    summary,
    lost === 0 && acknowledged.length > 0,
  );
  const chargedTwice = await books.countChargedTwice();
  report.check(`${name}: calls charged twice`, '0', `${chargedTwice}`, chargedTwice === 0);
  const drift = await books.countDrift();
  report.check(`${name}: the books`, '0 wrong', `${drift} wrong`, drift === 0);
  return summary;
}

/** After the last request, all holds are released within a short time. Returns that time, for the table. */
export async function checkHolds(
  { report }: OutageDrillContext,
  name: string,
  node: GatewayProcess,
): Promise<string> {
  const since = performance.now();
  const heldAmount = (): Promise<number> => node.gauge('gateway_wallet_holds_usd');
  const isLate = (): boolean => performance.now() - since > HOLDS_RELEASED_MS;
  while ((await heldAmount()) !== 0 && !isLate()) await delay(50);
  const summary = isLate() ? 'some' : `none after ${seconds(performance.now() - since)}`;
  report.check(
    `${name}: money still held`,
    `none after ${seconds(HOLDS_RELEASED_MS)}`,
    summary,
    summary !== 'some',
  );
  return summary;
}

/** There must be no uncaught exception and no unhandled rejection. */
export function checkUncaughtErrors(
  { report }: OutageDrillContext,
  name: string,
  { program }: GatewayProcess,
): void {
  const { length } = program.text.match(/reached the top|nobody was waiting/g) ?? [];
  report.check(`${name}: failures that nobody caught`, '0', `${length}`, length === 0 && !program.over);
}
