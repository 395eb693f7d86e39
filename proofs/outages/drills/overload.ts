import { setTimeout as delay } from 'node:timers/promises';
import { plainShot } from '../catalogue';
import { checkAnswers, checkBooks } from '../checks';
import { call, type Endpoint, isServed, Load, type ObservedCall, tally, times } from '../load';
import { milliseconds, percentile, spread } from '../report';
import type { OutageDrill } from '../drill';

/** Concurrency limit, with a fixed duration per call: a capacity that the machine can easily exceed. */
const CONCURRENCY = 10;
const RESPONSE_MS = 100;
const PEAK_MS = 2_000;
const OVERLOAD_MS = 5_000;
const OVERLOAD_FACTOR = 3;
const MIN_GOODPUT = 0.8;
const REFUSED_WITHIN_MS = 50;
const MAX_TRIES = 3;
const name = `${OVERLOAD_FACTOR} times as many calls as a node carries`;

/** Calls arrive at a fixed rate. The gateway serves those that fit and refuses the others immediately. */
export const overload: OutageDrill = {
  name: 'overload',
  alerts: ['OpenRequestsNearLimit', 'CapacityExceeded'],
  async run(context) {
    const { testbed, report } = context;
    const node = await testbed.startNode('overloaded', {
      environment: { OPEN_REQUESTS_LIMIT: String(CONCURRENCY) },
    });
    const endpoint = node.endpoint(testbed.key);
    await fillCapacity(endpoint, PEAK_MS / 4);
    const baselineCalls = await fillCapacity(endpoint, PEAK_MS);
    const peak = (baselineCalls.filter(isServed).length * 1_000) / PEAK_MS;
    let load = await overloadWith(endpoint, peak);
    // Repeated because of other load on the machine; a real slowness shows every time.
    for (let attempt = 1; attempt < MAX_TRIES && slowestRefusal(load) >= REFUSED_WITHIN_MS; attempt += 1)
      load = await overloadWith(endpoint, peak);

    const goodput = (load.served.length * 1_000) / OVERLOAD_MS;
    report.check(
      `${name}: served a second`,
      `>= ${MIN_GOODPUT * 100} % of ${peak.toFixed(0)}`,
      `${goodput.toFixed(0)} of ${(load.seen.length / (OVERLOAD_MS / 1_000)).toFixed(0)}`,
      goodput >= MIN_GOODPUT * peak,
    );
    checkAnswers(context, name, load.seen, ['capacity_exceeded']);
    const refused = refusedIn(load);
    report.check(
      `${name}: time to refuse, p99`,
      `< ${milliseconds(REFUSED_WITHIN_MS)}`,
      spread(times(refused)),
      refused.length > 0 && slowestRefusal(load) < REFUSED_WITHIN_MS,
    );
    const lost = await checkBooks(context, name, [...baselineCalls.filter(isServed), ...load.served]);
    await node.stop();
    report.row({
      outage: `${name}: ${(OVERLOAD_FACTOR * peak).toFixed(0)}/s`,
      answers: `${tally(load.seen)}; ${goodput.toFixed(0)} a second served, of ${peak.toFixed(0)} at best`,
      time: `served ${spread(times(load.served))}; refused ${spread(times(refused))}`,
      lost,
      recovery: 'none needed',
    });
  },
};

const slowShot = (index: number) => {
  const shot = plainShot('chatty', index);
  return { ...shot, prompt: `${shot.prompt} [[delay=${RESPONSE_MS}]]` };
};

async function overloadWith(endpoint: Endpoint, peak: number): Promise<Load> {
  const load = new Load([endpoint], slowShot).start(OVERLOAD_FACTOR * peak);
  await delay(OVERLOAD_MS);
  await load.stop();
  return load;
}

const refusedIn = (load: Load): ObservedCall[] => load.seen.filter((seen) => !isServed(seen));
const slowestRefusal = (load: Load): number => percentile(times(refusedIn(load)), 0.99);

/** Keeps every slot occupied by a new call. */
async function fillCapacity(endpoint: Endpoint, milliseconds: number): Promise<ObservedCall[]> {
  const until = performance.now() + milliseconds;
  const seen: ObservedCall[] = [];
  const callers = Array.from({ length: CONCURRENCY }, async () => {
    while (performance.now() < until) seen.push(await call(endpoint, slowShot(seen.length)));
  });
  await Promise.all(callers);
  return seen;
}
