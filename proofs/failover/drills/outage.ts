import { setTimeout as delay } from 'node:timers/promises';
import type { Answer } from '../caller';
import { layout } from '../catalogue';
import type { Drill } from '../drill';
import { retryAfterOf, seenText, SLACK_MS } from '../expectation';
import type { Testbed } from '../testbed';
import type { Sheet } from '../sheet';
import type { Scene } from '../scene';

const PER_SECOND = 200;
const SECONDS = 10;
const REQUESTS = PER_SECOND * SECONDS;
const ATTEMPTS_PER_REQUEST = 1.1;
const QUICK_MS = 50;
const MOST_SILENCE_MS = 10_000;

interface Timed {
  readonly atMs: number;
  readonly answer: Answer;
}

/** No lane is left. The first few requests find out; the others are refused at once, without a call to a supplier. */
export const totalOutage: Drill = {
  name: '17 total outage at 200/s',
  scenes: {
    'suppliers refuse': layout('chat', false, 3),
    'suppliers are silent': layout('messages', true, 3),
  },
  run: async (context) => {
    await context.inScenes(/refuse$/, async (scene, sheet) => {
      await scene.faultEverywhere({ kind: 'status', status: 503 });
      await endure(context.testbed, scene, sheet, 1_000);
    });
    // At the product's own limits that would be twenty thousand callers waiting at the same time.
    if (context.testbed.limits.firstByteMs > MOST_SILENCE_MS) return;
    await context.inScenes(/silent$/, async (scene, sheet) => {
      await scene.faultEverywhere({ kind: 'hang' });
      const { firstTokenMs, firstByteMs } = scene.limits;
      // One lane after the other is found silent, the last by its first byte.
      await endure(context.testbed, scene, sheet, 2 * firstTokenMs + firstByteMs + SLACK_MS);
    });
  },
};

async function endure(testbed: Testbed, scene: Scene, sheet: Sheet, opensWithinMs: number): Promise<void> {
  const startedAt = Date.now();
  const noise = testbed.sampleLatency();
  const served = await sendAtPace(scene, Math.max(SECONDS, Math.ceil((opensWithinMs * 2) / 1_000)));
  const calls = (await Promise.all(scene.places.map((place) => scene.calls(place)))).flat();
  sheet.add(
    'attempts at the suppliers',
    `≤ ${ATTEMPTS_PER_REQUEST} × ${served.length} requests`,
    `${calls.length}`,
    served.length >= REQUESTS && calls.length <= ATTEMPTS_PER_REQUEST * served.length,
  );
  const noiseMs = shareOf(await noise(), 0.99);
  const longestMs = opensWithinMs + scene.limits.firstByteMs;
  const wrong = served.filter(
    ({ answer: { ending, status, code, ms } }) =>
      ending !== 'refused' || status < 502 || code === '' || ms > longestMs,
  );
  sheet.add(
    'every answer',
    `a clean 502, 503 or 504 within ${longestMs} ms`,
    wrong[0] === undefined ? 'so' : `${wrong.length} not so: ${seenText(scene, wrong[0].answer)}`,
    wrong.length === 0,
  );
  const later = served.filter(({ atMs }) => atMs >= startedAt + opensWithinMs);
  // The caller of a probe finds out for the others, and has to wait for that.
  const probes = calls.filter(({ atMs }) => atMs >= startedAt + opensWithinMs).length;
  const byTime = later.toSorted((one, other) => one.answer.ms - other.answer.ms);
  const rest = byTime.slice(0, later.length - probes);
  const refusals = rest.filter(({ answer }) => answer.status === 503 && retryAfterOf(answer) >= 1).length;
  const times = rest.map(({ answer }) => answer.ms);
  const [p50, p99] = [shareOf(times, 0.5), shareOf(times, 0.99)];
  sheet.add(
    'once the breakers are open',
    `all 503 with Retry-After; p99 < ${QUICK_MS} ms or that of /health`,
    `${refusals} of ${rest.length}; p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms (/health ${noiseMs.toFixed(1)} ms)`,
    rest.length > 0 && refusals === rest.length && p99 < Math.max(QUICK_MS, noiseMs),
  );
  const slowest = byTime.at(-1)?.answer.ms ?? Infinity;
  const limit = scene.limits.firstByteMs + SLACK_MS;
  sheet.add(
    `the ${probes} probes meanwhile`,
    `≤ 1 a lane and second; none takes > ${limit} ms`,
    `the slowest ${Math.round(slowest)} ms`,
    slowest <= limit && probes <= (scene.places.length * (byTime.length + PER_SECOND)) / PER_SECOND,
  );
}

/** So many of the sorted times are at most this long. */
const shareOf = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Infinity;

/** Sends requests at a fixed pace, whether or not earlier ones are answered. */
async function sendAtPace(scene: Scene, seconds: number): Promise<Timed[]> {
  const startedAt = performance.now();
  const asked: Promise<Timed>[] = [];
  for (let index = 0; index < PER_SECOND * seconds; index += 1) {
    const early = (index * 1_000) / PER_SECOND - (performance.now() - startedAt);
    if (early > 1) await delay(early);
    const atMs = Date.now();
    asked.push(scene.ask().then((answer) => ({ atMs, answer })));
  }
  return Promise.all(asked);
}
