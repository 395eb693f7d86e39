import { setTimeout as delay } from 'node:timers/promises';
import type { ObservedResponse } from '../caller';
import { layout, type SupplierId } from '../catalogue';
import type { FailoverDrill, PlayScene } from '../drill';
import { observedText, wordsIn } from '../expectation';
import { type Scene, ANSWER_WORDS } from '../scene';

const CALLER_COUNT = 10;
const PAUSE_MS = 100;
const BACK_WITHIN_MS = 30_000;
const PROBE_INTERVAL_MS = 5_000;
const LAST_LANE_INTERVAL_MS = 1_000;
/** Timers and clocks of two processes differ slightly. */
const TOLERANCE_MS = 100;
/** Delay of a probe's response, so that other requests arrive meanwhile. */
const PROBE_RESPONSE_MS = 300;
/** Time until the circuit breaker of a failed lane is open. */
const OPENED_WITHIN_MS = 1_500;

interface RecoveryResponse {
  readonly answer: ObservedResponse;
  readonly atMs: number;
  readonly inSession: boolean;
}

/** Ten callers send requests continuously during and after an outage, half of them in a session each. */
export const recovery: FailoverDrill = {
  name: '15 primary down, then healthy',
  scenes: { 'with a backup': layout('chat', false, 2), 'the only lane': layout('chat', false, 1) },
  run: async (context) => {
    await Promise.all([
      context.inScenes(/^with a backup/, recoverBesideBackup),
      context.inScenes(/^the only lane/, recoverAlone),
    ]);
  },
};

const recoverBesideBackup: PlayScene = async (scene, report) => {
  const outage = await endure(scene, scene.limits.downMs);
  const { served, upAt: wellAt } = outage;
  const failures = served.filter(({ answer }) => !isWhole(answer));
  const example = failures[0] === undefined ? '' : `, others ${observedText(scene, failures[0].answer)}`;
  report.add(
    `down for ${scene.limits.downMs / 1_000} s`,
    'every request served whole',
    `${served.length - failures.length} of ${served.length}${example}`,
    failures.length === 0,
  );
  const { probes, gap } = await probesIn(scene, outage);
  report.add(
    'probes while it was down',
    '≤ 1 in 5 s, and some',
    `${probes}${probes > 1 ? `, ${gap} ms apart or more` : ''}`,
    probes >= 1 && gap >= PROBE_INTERVAL_MS - TOLERANCE_MS,
  );
  for (const inSession of [false, true]) {
    const recoveredAt = firstServedAt(scene, served, 'a', wellAt, inSession) - wellAt;
    report.add(
      inSession ? 'sessions are back' : 'back on the primary',
      `≤ ${BACK_WITHIN_MS / 1_000} s`,
      `${(recoveredAt / 1_000).toFixed(1)} s`,
      recoveredAt <= BACK_WITHIN_MS,
    );
  }
};

/** The circuit breaker of a sole lane never blocks it: the lane is tried once per second and recovers as quickly. */
const recoverAlone: PlayScene = async (scene, report) => {
  const outage = await endure(scene, Math.min(scene.limits.downMs, 12_000));
  const { served, downAt, upAt: wellAt } = outage;
  const { probes, gap } = await probesIn(scene, outage);
  report.add(
    'probes while it was down',
    '≤ 1 in 1 s, and never none',
    `${probes}, ${gap} ms apart or more`,
    probes >= 5 && gap >= LAST_LANE_INTERVAL_MS - TOLERANCE_MS,
  );
  const recoveredAt = firstServedAt(scene, served, 'a', wellAt, false) - wellAt;
  report.add('served again', '≤ 2 s', `${(recoveredAt / 1_000).toFixed(1)} s`, recoveredAt <= 2_000);
  const failures = served.filter(({ answer, atMs }) => atMs > downAt && atMs < wellAt && !isWhole(answer));
  const unexpectedFailures = failures.filter(
    ({ answer }) => answer.status !== 503 || !(Number(answer.headers['retry-after']) >= 1),
  );
  const example =
    unexpectedFailures[0] === undefined
      ? ''
      : `, ${unexpectedFailures.length} not so: ${observedText(scene, unexpectedFailures[0].answer)}`;
  report.add(
    'refusals meanwhile',
    '503 with Retry-After',
    `${failures.length} refusals${example}`,
    failures.length > 0 && unexpectedFailures.length === 0,
  );
};

interface RecoveryOutage {
  readonly served: readonly RecoveryResponse[];
  readonly downAt: number;
  readonly upAt: number;
}

async function endure(scene: Scene, downMs: number): Promise<RecoveryOutage> {
  const served: RecoveryResponse[] = [];
  const stop = sendRepeatedly(scene, served);
  await delay(1_000);
  const faultRemovers = [await scene.fault('a', { kind: 'delay', ms: PROBE_RESPONSE_MS })];
  faultRemovers.push(await scene.fault('a', { kind: 'status', status: 503 }));
  const downAt = Date.now();
  await delay(downMs);
  for (const removeFault of faultRemovers.reverse()) await removeFault();
  const upAt = Date.now();
  const isBack = (): boolean =>
    [true, false].every((inSession) => Number.isFinite(firstServedAt(scene, served, 'a', upAt, inSession)));
  while (!isBack() && Date.now() - upAt < BACK_WITHIN_MS) await delay(PAUSE_MS);
  await stop();
  return { served, downAt, upAt };
}

function sendRepeatedly(scene: Scene, served: RecoveryResponse[]): () => Promise<void> {
  let isOver = false;
  const callers = Array.from({ length: CALLER_COUNT }, async (_, index) => {
    const inSession = index % 2 === 1;
    await delay((index * PAUSE_MS) / CALLER_COUNT);
    while (!isOver) {
      const atMs = Date.now();
      const answer = await scene.send(inSession ? { session: `session-${index}` } : {});
      served.push({ answer, atMs, inSession });
      await delay(PAUSE_MS);
    }
  });
  return async () => {
    isOver = true;
    await Promise.all(callers);
  };
}

const isWhole = ({ ending, text }: ObservedResponse): boolean =>
  ending === 'whole' && wordsIn(text) === ANSWER_WORDS;

/** Time of the first request after the instant that this lane served. */
const firstServedAt = (
  scene: Scene,
  served: readonly RecoveryResponse[],
  supplierId: SupplierId,
  since: number,
  inSession: boolean,
): number =>
  served.find(
    ({ answer, atMs, inSession: isInSession }) =>
      atMs >= since &&
      isInSession === inSession &&
      isWhole(answer) &&
      scene.supplierOf(answer) === supplierId,
  )?.atMs ?? Infinity;

/** Returns the number of probes after the circuit breaker opened, and the shortest interval between two of them. */
async function probesIn(
  scene: Scene,
  { downAt, upAt: wellAt }: RecoveryOutage,
): Promise<{ probes: number; gap: number }> {
  const times = (await scene.calls('a'))
    .map(({ atMs }) => atMs)
    .filter((atMs) => atMs >= downAt + OPENED_WITHIN_MS && atMs < wellAt);
  const gaps = times.slice(1).map((atMs, index) => atMs - times[index]!);
  return { probes: times.length, gap: Math.min(...gaps) };
}
