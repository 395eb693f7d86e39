import { setTimeout as delay } from 'node:timers/promises';
import type { ObservedResponse } from '../caller';
import { layout } from '../catalogue';
import type { FailoverDrill } from '../drill';
import { retryAfterOf, observedText, SLACK_MS } from '../expectation';
import type { FailoverTestbed } from '../testbed';
import type { SceneReport } from '../scene-report';
import type { Scene } from '../scene';

const PER_SECOND = 200;
const SECONDS = 10;
const REQUEST_COUNT = PER_SECOND * SECONDS;
const ATTEMPTS_PER_REQUEST = 1.1;
const FAST_MS = 50;
const MAX_SILENCE_MS = 10_000;

interface TimedResponse {
  readonly atMs: number;
  readonly answer: ObservedResponse;
}

/** No lane is left. The first few requests detect it; the others are refused immediately, without a supplier call. */
export const totalOutage: FailoverDrill = {
  name: '17 total outage at 200/s',
  scenes: {
    'suppliers refuse': layout('chat', false, 3),
    'suppliers are silent': layout('messages', true, 3),
  },
  run: async (context) => {
    await context.inScenes(/refuse$/, async (scene, report) => {
      await scene.faultEverywhere({ kind: 'status', status: 503 });
      await endure(context.testbed, scene, report, 1_000);
    });
    // At the product's default limits, twenty thousand callers would wait at the same time.
    if (context.testbed.limits.firstByteMs > MAX_SILENCE_MS) return;
    await context.inScenes(/silent$/, async (scene, report) => {
      await scene.faultEverywhere({ kind: 'hang' });
      const { firstTokenMs, firstByteMs } = scene.limits;
      // Lanes are detected as silent one by one, the last after its first-byte timeout.
      await endure(context.testbed, scene, report, 2 * firstTokenMs + firstByteMs + SLACK_MS);
    });
  },
};

async function endure(
  testbed: FailoverTestbed,
  scene: Scene,
  report: SceneReport,
  opensWithinMs: number,
): Promise<void> {
  const startedAt = Date.now();
  const noise = testbed.sampleLatency();
  const responses = await sendAtPace(scene, Math.max(SECONDS, Math.ceil((opensWithinMs * 2) / 1_000)));
  const calls = (await Promise.all(scene.supplierIds.map((supplierId) => scene.calls(supplierId)))).flat();
  report.add(
    'attempts at the suppliers',
    `≤ ${ATTEMPTS_PER_REQUEST} × ${responses.length} requests`,
    `${calls.length}`,
    responses.length >= REQUEST_COUNT && calls.length <= ATTEMPTS_PER_REQUEST * responses.length,
  );
  const noiseMs = shareOf(await noise(), 0.99);
  const longestMs = opensWithinMs + scene.limits.firstByteMs;
  const failures = responses.filter(
    ({ answer: { ending, status, code, ms } }) =>
      ending !== 'refused' || status < 502 || code === '' || ms > longestMs,
  );
  report.add(
    'every answer',
    `a clean 502, 503 or 504 within ${longestMs} ms`,
    failures[0] === undefined
      ? 'so'
      : `${failures.length} not so: ${observedText(scene, failures[0].answer)}`,
    failures.length === 0,
  );
  const later = responses.filter(({ atMs }) => atMs >= startedAt + opensWithinMs);
  // The caller of a probe waits on behalf of the others.
  const probes = calls.filter(({ atMs }) => atMs >= startedAt + opensWithinMs).length;
  const byTime = later.toSorted((left, right) => left.answer.ms - right.answer.ms);
  const fastest = byTime.slice(0, later.length - probes);
  const refusalCount = fastest.filter(
    ({ answer }) => answer.status === 503 && retryAfterOf(answer) >= 1,
  ).length;
  const times = fastest.map(({ answer }) => answer.ms);
  const [p50, p99] = [shareOf(times, 0.5), shareOf(times, 0.99)];
  report.add(
    'once the breakers are open',
    `all 503 with Retry-After; p99 < ${FAST_MS} ms or that of /health`,
    `${refusalCount} of ${fastest.length}; p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms (/health ${noiseMs.toFixed(1)} ms)`,
    fastest.length > 0 && refusalCount === fastest.length && p99 < Math.max(FAST_MS, noiseMs),
  );
  const slowest = byTime.at(-1)?.answer.ms ?? Infinity;
  const limit = scene.limits.firstByteMs + SLACK_MS;
  report.add(
    `the ${probes} probes meanwhile`,
    `≤ 1 a lane and second; none takes > ${limit} ms`,
    `the slowest ${Math.round(slowest)} ms`,
    slowest <= limit && probes <= (scene.supplierIds.length * (byTime.length + PER_SECOND)) / PER_SECOND,
  );
}

/** Value that this share of the sorted times does not exceed. */
const shareOf = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Infinity;

/** Sends requests at a fixed rate, regardless of outstanding responses. */
async function sendAtPace(scene: Scene, seconds: number): Promise<TimedResponse[]> {
  const startedAt = performance.now();
  const pendingResponses: Promise<TimedResponse>[] = [];
  for (let index = 0; index < PER_SECOND * seconds; index += 1) {
    const waitMs = (index * 1_000) / PER_SECOND - (performance.now() - startedAt);
    if (waitMs > 1) await delay(waitMs);
    const atMs = Date.now();
    pendingResponses.push(scene.send().then((answer) => ({ atMs, answer })));
  }
  return Promise.all(pendingResponses);
}
