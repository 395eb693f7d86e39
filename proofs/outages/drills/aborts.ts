import { setTimeout as delay } from 'node:timers/promises';
import type { RecordedRequest } from '../../../simulator/recorder';
import type { Charge } from '../books';
import { dialects, models } from '../catalogue';
import { checkHolds } from '../checks';
import {
  callAndDisconnect,
  requestIdIn,
  closeConnections,
  type DisconnectedCall,
  type DisconnectAfter,
} from '../disconnecting-caller';
import type { Shot } from '../load';
import { milliseconds, percentile, spread } from '../report';
import type { OutageDrill, OutageDrillContext } from '../drill';

const CALL_COUNT = 600;
const CALLS_PER_SECOND = 80;
/** Slow enough for the gateway to detect the disconnect. */
const TOKEN_INTERVAL_MS = 100;
const MAX_PIECES = 25;
const NON_STREAMING_MS = 400;
const CLOSED_WITHIN_MS = 250;
const name = `${CALL_COUNT} callers who hang up`;

/**
 * Callers disconnect during streams and non-streaming responses: the gateway closes the supplier's connection, and the
 * charge is correct.
 */
export const aborts: OutageDrill = {
  name: 'aborts',
  alerts: ['CallersLeave'],
  async run(context) {
    const { testbed, report } = context;
    const node = testbed.shared;
    const pendingCalls: Promise<DisconnectedCall>[] = [];
    for (let index = 0; index < CALL_COUNT; index += 1) {
      pendingCalls.push(callAndDisconnect(node.endpoint(testbed.key), shotOf(index), disconnectAfter(index)));
      await delay(1_000 / CALLS_PER_SECOND);
    }
    const disconnectedCalls = await Promise.all(pendingCalls);
    const holdsGone = await checkHolds(context, name, node);
    closeConnections();
    const closing = await checkSupplier(context, disconnectedCalls);
    const billed = await checkBills(context, disconnectedCalls);
    report.row({
      outage: `${name}, three dialects, streamed and whole`,
      answers: `${disconnectedCalls.filter(({ isTooLate: tooLate }) => !tooLate).length} left in time`,
      time: `supplier's connection closed after ${spread(closing)}`,
      lost: billed,
      recovery: `money held: ${holdsGone}`,
    });
  },
};

const shotOf = (index: number): Shot => {
  const dialect = dialects[index % dialects.length]!;
  const stream = Math.floor(index / dialects.length) % 2 === 0;
  const directives = stream
    ? `[[tokens=100]][[pace=${TOKEN_INTERVAL_MS}]]`
    : `[[tokens=20]][[delay=${2 * NON_STREAMING_MS}]]`;
  return { dialect, model: models[dialect], stream, prompt: directives };
};

/** Covers every point of a response in turn. */
const disconnectAfter = (index: number): DisconnectAfter =>
  shotOf(index).stream ? { pieces: 1 + (index % MAX_PIECES) } : { ms: 50 + ((index * 7) % NON_STREAMING_MS) };

async function checkSupplier(
  { testbed, report }: OutageDrillContext,
  disconnectedCalls: readonly DisconnectedCall[],
): Promise<number[]> {
  const requests = await testbed.steady.requests();
  const requestsById = new Map(requests.map((request) => [requestIdIn(request.rawBody), request]));
  const disconnectedInTime = disconnectedCalls.filter(({ isTooLate: tooLate }) => !tooLate);
  report.check(
    `${name}: hung up before the end`,
    `${CALL_COUNT}`,
    `${disconnectedInTime.length}`,
    disconnectedInTime.length === CALL_COUNT,
  );
  const open: RecordedRequest[] = [];
  const closingTimes: number[] = [];
  for (const { requestId, disconnectedAt: leftAt } of disconnectedInTime) {
    const request = requestsById.get(requestId);
    if (request === undefined) continue;
    if (request.closed !== 'client-closed' || request.durationMs === null) open.push(request);
    else closingTimes.push(Date.parse(request.receivedAt) + request.durationMs - leftAt);
  }
  report.check(`${name}: answers the supplier made to the end`, '0', `${open.length}`, open.length === 0);
  report.check(
    `${name}: until the supplier's connection was closed, p99`,
    `<= ${milliseconds(CLOSED_WITHIN_MS)}`,
    spread(closingTimes),
    closingTimes.length > 0.9 * CALL_COUNT && percentile(closingTimes, 0.99) <= CLOSED_WITHIN_MS,
  );
  return closingTimes;
}

/** Each piece of text is one token. */
async function checkBills(
  { testbed: { books, steady }, report }: OutageDrillContext,
  disconnectedCalls: readonly DisconnectedCall[],
): Promise<string> {
  const bills = new Map<string, Charge[]>();
  for (const charge of await books.settledRecords(disconnectedCalls.map(({ requestId }) => requestId)))
    bills.set(charge.requestId, [...(bills.get(charge.requestId) ?? []), charge]);
  const streams = disconnectedCalls.filter(({ shot, isTooLate: tooLate }) => shot.stream && !tooLate);
  const nonStreaming = disconnectedCalls.filter(({ shot, isTooLate: tooLate }) => !shot.stream && !tooLate);
  const chargedOnce = streams.filter(({ requestId }) => bills.get(requestId)?.length === 1);
  report.check(
    `${name}: streams with exactly one bill`,
    `${streams.length}`,
    `${chargedOnce.length}`,
    chargedOnce.length === streams.length,
  );
  const differences = chargedOnce.map(
    ({ requestId, pieces }) => bills.get(requestId)![0]!.outputTokens - pieces,
  );
  const correctCount = differences.filter((difference) => difference >= 0 && difference <= 1);
  report.check(
    `${name}: streams billed within one chunk of what was delivered`,
    `${differences.length}`,
    `${correctCount.length}; from ${Math.min(...differences)} to ${Math.max(...differences)} chunks more`,
    correctCount.length === differences.length,
  );
  const reachedIds = new Set((await steady.requests()).map((request) => requestIdIn(request.rawBody)));
  const correctlyCharged = nonStreaming.filter(({ requestId }) => {
    const [bill, ...more] = bills.get(requestId) ?? [];
    if (bill === undefined || more.length > 0 || bill.outputTokens > 0) return false;
    // A caller that leaves a cold node immediately is gone before anything was sent, and pays nothing.
    return reachedIds.has(requestId) ? bill.inputTokens > 0 : bill.costNano === 0n;
  });
  report.check(
    `${name}: whole answers that nobody got, billed once and for what was sent`,
    `${nonStreaming.length}`,
    `${correctlyCharged.length}`,
    correctlyCharged.length === nonStreaming.length,
  );
  const drift = await books.countDrift();
  report.check(`${name}: the books`, '0 wrong', `${drift} wrong`, drift === 0);
  return `${streams.length - chargedOnce.length} of ${streams.length} bills; ${differences.length - correctCount.length} more than a chunk off`;
}
