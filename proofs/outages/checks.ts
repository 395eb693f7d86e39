import { setTimeout as delay } from 'node:timers/promises';
import type { GatewayNode } from './testbed';
import { idsOf, isServed, type Seen, tally } from './load';
import { seconds } from './report';
import type { DrillContext } from './drill';

const HOLDS_GONE_MS = 5_000;

/** Every outage owes answers that say what is wrong and when to come back, and books that add up. */
export function checkAnswers(
  { report }: DrillContext,
  name: string,
  seen: readonly Seen[],
  codes: readonly string[],
): void {
  const others = seen.filter((each) => !isServed(each) && !codes.includes(each.code));
  const expected = codes.length === 0 ? 'all served' : `served, or 503 ${codes.join(', ')}`;
  report.check(`${name}: answers`, expected, tally(seen), seen.length > 0 && others.length === 0);
  const refused = seen.filter(({ status }) => status === 503);
  const silent = refused.filter(({ retryAfter }) => !/^[1-9]\d*$/.test(retryAfter ?? ''));
  if (codes.length > 0)
    report.check(`${name}: refusals without Retry-After`, '0', `${silent.length}`, silent.length === 0);
}

/** Returns the losses, for the table. */
export async function checkBooks(
  { testbed, report }: DrillContext,
  name: string,
  acknowledged: readonly Seen[],
  books = testbed.books,
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

/** Once no request runs, all holds end within a short time. Returns that time, for the table. */
export async function checkHolds({ report }: DrillContext, name: string, node: GatewayNode): Promise<string> {
  const since = performance.now();
  const held = (): Promise<number> => node.gauge('gateway_wallet_holds_usd');
  const late = (): boolean => performance.now() - since > HOLDS_GONE_MS;
  while ((await held()) !== 0 && !late()) await delay(50);
  const took = late() ? 'some' : `none after ${seconds(performance.now() - since)}`;
  report.check(`${name}: money still held`, `none after ${seconds(HOLDS_GONE_MS)}`, took, took !== 'some');
  return took;
}

/** Nothing may reach the top of the process, nor a promise be rejected without a handler. */
export function checkSurprises({ report }: DrillContext, name: string, { program }: GatewayNode): void {
  const { length } = program.text.match(/reached the top|nobody was waiting/g) ?? [];
  report.check(`${name}: failures that nobody caught`, '0', `${length}`, length === 0 && !program.over);
}
