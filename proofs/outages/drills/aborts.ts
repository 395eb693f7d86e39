import { setTimeout as delay } from 'node:timers/promises';
import type { RecordedRequest } from '../../../simulator/recorder';
import type { Charge } from '../books';
import { dialects, models } from '../catalogue';
import { checkHolds } from '../checks';
import { callAndDisconnect, callIn, closeConnections, type Left, type When } from '../disconnecting-caller';
import type { Shot } from '../load';
import { milliseconds, percentile, spread } from '../report';
import type { Drill, DrillContext } from '../drill';

const CALLS = 600;
const CALLS_A_SECOND = 80;
/** Slow enough for the gateway to notice that the caller has gone. */
const PACE_MS = 100;
const MOST_PIECES = 25;
const WHOLE_MS = 400;
const CLOSED_MS = 250;
const name = `${CALLS} callers who hang up`;

/** Callers leave in the middle of streams and while whole answers are made: the supplier is left too, and the bill fits. */
export const aborts: Drill = {
  name: 'aborts',
  alerts: ['CallersLeave'],
  async run(context) {
    const { testbed, report } = context;
    const node = testbed.shared;
    const leaving: Promise<Left>[] = [];
    for (let place = 0; place < CALLS; place += 1) {
      leaving.push(callAndDisconnect(node.endpoint(testbed.key), shotOf(place), whenOf(place)));
      await delay(1_000 / CALLS_A_SECOND);
    }
    const left = await Promise.all(leaving);
    const holdsGone = await checkHolds(context, name, node);
    closeConnections();
    const closing = await checkSupplier(context, left);
    const billed = await checkBills(context, left);
    report.row({
      outage: `${name}, three dialects, streamed and whole`,
      answers: `${left.filter(({ tooLate }) => !tooLate).length} left in time`,
      time: `supplier's connection closed after ${spread(closing)}`,
      lost: billed,
      recovery: `money held: ${holdsGone}`,
    });
  },
};

const shotOf = (place: number): Shot => {
  const dialect = dialects[place % dialects.length]!;
  const stream = Math.floor(place / dialects.length) % 2 === 0;
  const directives = stream ? `[[tokens=100]][[pace=${PACE_MS}]]` : `[[tokens=20]][[delay=${2 * WHOLE_MS}]]`;
  return { dialect, model: models[dialect], stream, prompt: directives };
};

/** At every point of an answer, in turn. */
const whenOf = (place: number): When =>
  shotOf(place).stream ? { pieces: 1 + (place % MOST_PIECES) } : { ms: 50 + ((place * 7) % WHOLE_MS) };

async function checkSupplier({ testbed, report }: DrillContext, left: readonly Left[]): Promise<number[]> {
  const requests = await testbed.steady.requests();
  const seen = new Map(requests.map((request) => [callIn(request.rawBody), request]));
  const inTime = left.filter(({ tooLate }) => !tooLate);
  report.check(`${name}: hung up before the end`, `${CALLS}`, `${inTime.length}`, inTime.length === CALLS);
  const open: RecordedRequest[] = [];
  const closing: number[] = [];
  for (const { requestId, leftAt } of inTime) {
    const request = seen.get(requestId);
    if (request === undefined) continue;
    if (request.closed !== 'client-closed' || request.durationMs === null) open.push(request);
    else closing.push(Date.parse(request.receivedAt) + request.durationMs - leftAt);
  }
  report.check(`${name}: answers the supplier made to the end`, '0', `${open.length}`, open.length === 0);
  report.check(
    `${name}: until the supplier's connection was closed, p99`,
    `<= ${milliseconds(CLOSED_MS)}`,
    spread(closing),
    closing.length > 0.9 * CALLS && percentile(closing, 0.99) <= CLOSED_MS,
  );
  return closing;
}

/** Each piece of text is one token. */
async function checkBills(
  { testbed: { books, steady }, report }: DrillContext,
  left: readonly Left[],
): Promise<string> {
  const bills = new Map<string, Charge[]>();
  for (const charge of await books.settledRecords(left.map(({ requestId }) => requestId)))
    bills.set(charge.requestId, [...(bills.get(charge.requestId) ?? []), charge]);
  const streams = left.filter(({ shot, tooLate }) => shot.stream && !tooLate);
  const wholes = left.filter(({ shot, tooLate }) => !shot.stream && !tooLate);
  const once = streams.filter(({ requestId }) => bills.get(requestId)?.length === 1);
  report.check(
    `${name}: streams with exactly one bill`,
    `${streams.length}`,
    `${once.length}`,
    once.length === streams.length,
  );
  const off = once.map(({ requestId, pieces }) => bills.get(requestId)![0]!.outputTokens - pieces);
  const fitting = off.filter((difference) => difference >= 0 && difference <= 1);
  report.check(
    `${name}: streams billed within one chunk of what was delivered`,
    `${off.length}`,
    `${fitting.length}; from ${Math.min(...off)} to ${Math.max(...off)} chunks more`,
    fitting.length === off.length,
  );
  const reached = new Set((await steady.requests()).map((request) => callIn(request.rawBody)));
  const asSent = wholes.filter(({ requestId }) => {
    const [bill, ...more] = bills.get(requestId) ?? [];
    if (bill === undefined || more.length > 0 || bill.outputTokens > 0) return false;
    // A caller who leaves a cold node at once is gone before anything was sent, and owes nothing.
    return reached.has(requestId) ? bill.inputTokens > 0 : bill.costNano === 0n;
  });
  report.check(
    `${name}: whole answers that nobody got, billed once and for what was sent`,
    `${wholes.length}`,
    `${asSent.length}`,
    asSent.length === wholes.length,
  );
  const drift = await books.drift();
  report.check(`${name}: the books`, '0 wrong', `${drift} wrong`, drift === 0);
  return `${streams.length - once.length} of ${streams.length} bills; ${off.length - fitting.length} more than a chunk off`;
}
