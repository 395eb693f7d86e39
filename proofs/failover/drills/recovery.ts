import { setTimeout as delay } from 'node:timers/promises';
import type { Answer } from '../caller';
import { layout, type Place } from '../catalogue';
import type { Drill, Play } from '../drill';
import { seenText, wordsIn } from '../expectation';
import { type Scene, WORDS } from '../scene';

const CALLERS = 10;
const PAUSE_MS = 100;
const BACK_WITHIN_MS = 30_000;
const PROBE_EVERY_MS = 5_000;
const LAST_LANE_EVERY_MS = 1_000;
/** Timers and clocks of two processes are not exact. */
const TOLERANCE_MS = 100;
/** A probe waits this long for its answer, so that others come by meanwhile. */
const ILL_ANSWER_MS = 300;
/** Until then a lane that went down has been given up. */
const GIVEN_UP_MS = 1_500;

interface Served {
  readonly answer: Answer;
  readonly atMs: number;
  readonly inSession: boolean;
}

/** Ten callers ask again and again, half of them in a session each, through an outage and after it. */
export const recovery: Drill = {
  name: '15 primary down, then healthy',
  scenes: { 'with a backup': layout('chat', false, 2), 'the only lane': layout('chat', false, 1) },
  run: async (context) => {
    await Promise.all([
      context.inScenes(/^with a backup/, recoverBesideBackup),
      context.inScenes(/^the only lane/, recoverAlone),
    ]);
  },
};

const recoverBesideBackup: Play = async (scene, sheet) => {
  const outage = await endure(scene, scene.limits.downMs);
  const { served, wellAt } = outage;
  const wrong = served.filter(({ answer }) => !isWhole(answer));
  const example = wrong[0] === undefined ? '' : `, others ${seenText(scene, wrong[0].answer)}`;
  sheet.add(
    `down for ${scene.limits.downMs / 1_000} s`,
    'every request served whole',
    `${served.length - wrong.length} of ${served.length}${example}`,
    wrong.length === 0,
  );
  const { probes, gap } = await probesIn(scene, outage);
  sheet.add(
    'probes while it was down',
    '≤ 1 in 5 s, and some',
    `${probes}${probes > 1 ? `, ${gap} ms apart or more` : ''}`,
    probes >= 1 && gap >= PROBE_EVERY_MS - TOLERANCE_MS,
  );
  for (const inSession of [false, true]) {
    const back = backAt(scene, served, 'a', wellAt, inSession) - wellAt;
    sheet.add(
      inSession ? 'sessions are back' : 'back on the primary',
      `≤ ${BACK_WITHIN_MS / 1_000} s`,
      `${(back / 1_000).toFixed(1)} s`,
      back <= BACK_WITHIN_MS,
    );
  }
};

/** Without another lane, a lane is never given up: it is tried once a second, and found well as soon. */
const recoverAlone: Play = async (scene, sheet) => {
  const outage = await endure(scene, Math.min(scene.limits.downMs, 12_000));
  const { served, downAt, wellAt } = outage;
  const { probes, gap } = await probesIn(scene, outage);
  sheet.add(
    'probes while it was down',
    '≤ 1 in 1 s, and never none',
    `${probes}, ${gap} ms apart or more`,
    probes >= 5 && gap >= LAST_LANE_EVERY_MS - TOLERANCE_MS,
  );
  const back = backAt(scene, served, 'a', wellAt, false) - wellAt;
  sheet.add('served again', '≤ 2 s', `${(back / 1_000).toFixed(1)} s`, back <= 2_000);
  const lost = served.filter(({ answer, atMs }) => atMs > downAt && atMs < wellAt && !isWhole(answer));
  const unclean = lost.filter(
    ({ answer }) => answer.status !== 503 || !(Number(answer.headers['retry-after']) >= 1),
  );
  const example =
    unclean[0] === undefined ? '' : `, ${unclean.length} not so: ${seenText(scene, unclean[0].answer)}`;
  sheet.add(
    'refusals meanwhile',
    '503 with Retry-After',
    `${lost.length} refusals${example}`,
    lost.length > 0 && unclean.length === 0,
  );
};

interface Outage {
  readonly served: readonly Served[];
  readonly downAt: number;
  readonly wellAt: number;
}

async function endure(scene: Scene, downMs: number): Promise<Outage> {
  const served: Served[] = [];
  const stop = askRepeatedly(scene, served);
  await delay(1_000);
  const lifts = [await scene.fault('a', { kind: 'delay', ms: ILL_ANSWER_MS })];
  lifts.push(await scene.fault('a', { kind: 'status', status: 503 }));
  const downAt = Date.now();
  await delay(downMs);
  for (const lift of lifts.reverse()) await lift();
  const wellAt = Date.now();
  const isBack = (): boolean =>
    [true, false].every((inSession) => Number.isFinite(backAt(scene, served, 'a', wellAt, inSession)));
  while (!isBack() && Date.now() - wellAt < BACK_WITHIN_MS) await delay(PAUSE_MS);
  await stop();
  return { served, downAt, wellAt };
}

function askRepeatedly(scene: Scene, served: Served[]): () => Promise<void> {
  let isOver = false;
  const callers = Array.from({ length: CALLERS }, async (_, index) => {
    const inSession = index % 2 === 1;
    await delay((index * PAUSE_MS) / CALLERS);
    while (!isOver) {
      const atMs = Date.now();
      const answer = await scene.ask(inSession ? { session: `session-${index}` } : {});
      served.push({ answer, atMs, inSession });
      await delay(PAUSE_MS);
    }
  });
  return async () => {
    isOver = true;
    await Promise.all(callers);
  };
}

const isWhole = ({ ending, text }: Answer): boolean => ending === 'whole' && wordsIn(text) === WORDS;

/** This lane answered the first request that was made after the instant. */
const backAt = (
  scene: Scene,
  served: readonly Served[],
  place: Place,
  since: number,
  inSession: boolean,
): number =>
  served.find(
    ({ answer, atMs, inSession: own }) =>
      atMs >= since && own === inSession && isWhole(answer) && scene.placeOf(answer) === place,
  )?.atMs ?? Infinity;

/** The lane was tried so often once it had been given up, with this shortest time between two tries. */
async function probesIn(scene: Scene, { downAt, wellAt }: Outage): Promise<{ probes: number; gap: number }> {
  const times = (await scene.calls('a'))
    .map(({ atMs }) => atMs)
    .filter((atMs) => atMs >= downAt + GIVEN_UP_MS && atMs < wellAt);
  const gaps = times.slice(1).map((atMs, index) => atMs - times[index]!);
  return { probes: times.length, gap: Math.min(...gaps) };
}
