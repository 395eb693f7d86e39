import { setTimeout as delay } from 'node:timers/promises';
import type { ObservedResponse } from '../caller';
import { allLayouts, layout } from '../catalogue';
import type { FailoverDrill, PlayScene } from '../drill';
import { expectOnce, retryAfterOf, observedText, NO_WAIT_MS, wordsIn } from '../expectation';
import { type Scene, ANSWER_WORDS } from '../scene';

const tooMany = (seconds: number) => ({
  kind: 'status',
  status: 429,
  headers: { 'retry-after': String(seconds) },
});
const ordinary = /(stream|whole)$/;

/** A supplier that sends Retry-After is skipped for exactly that time. */
export const oneLimit: FailoverDrill = {
  name: '1 one 429 with Retry-After',
  scenes: allLayouts(2),
  run: (context) =>
    context.inScenes(ordinary, async (scene, report) => {
      await scene.fault('a', tooMany(2), 1);
      const served = { ending: 'whole', by: 'b', failover: true, withinMs: NO_WAIT_MS } as const;
      await expectOnce(report, '', scene, { ...served, calls: { a: 1, b: 1 } });
      await expectOnce(report, 'again at once', scene, { ...served, calls: { a: 1, b: 2 } });
      await delay(2_200);
      await expectOnce(report, 'again after it', scene, {
        ending: 'whole',
        by: 'a',
        failover: false,
        withinMs: NO_WAIT_MS,
        calls: { a: 2, b: 2 },
      });
    }),
};

export const persistentLimits: FailoverDrill = {
  name: '2 persistent 429',
  scenes: {
    ...allLayouts(3),
    '30 requests in 3 s': layout('chat', false, 3),
    'no time named': layout('chat', false, 3),
    'six in a row, alone': layout('chat', false, 1),
    'six in a row, with a backup': layout('chat', false, 2),
    'six at once, with a backup': layout('chat', false, 2),
  },
  run: async (context) => {
    await context.inScenes(ordinary, retryAfterDelay);
    await Promise.all([
      context.inScenes(/^30/, retryImmediately),
      context.inScenes(/^no time/, async (scene, report) => {
        await scene.faultEverywhere({ kind: 'status', status: 429 });
        await expectOnce(report, '', scene, { ...refused, retryAfter: [1, 60] });
      }),
      context.inScenes(/^six in a row/, sendSixInSequence),
      context.inScenes(/^six at once/, sendSixConcurrently),
    ]);
  },
};

const refused = {
  ending: 'refused',
  status: [429],
  withinMs: NO_WAIT_MS,
  calls: { a: [0, 1], b: [0, 1], c: [0, 1] },
} as const;

const retryAfterDelay: PlayScene = async (scene, report) => {
  const removeFault = await scene.faultEverywhere(tooMany(3));
  const first = await expectOnce(report, '', scene, { ...refused, retryAfter: [1, 3] });
  await removeFault();
  await delay((retryAfterOf(first) || 3) * 1_000 + 200);
  await expectOnce(report, 'again when told', scene, { ending: 'whole', withinMs: NO_WAIT_MS });
};

/** A caller that ignores `Retry-After`: every response repeats it, and suppliers get only one request. */
const retryImmediately: PlayScene = async (scene, report) => {
  await scene.faultEverywhere(tooMany(5));
  const answers: ObservedResponse[] = [];
  for (let requestIndex = 0; requestIndex < 30; requestIndex += 1) {
    answers.push(await scene.send());
    await delay(100);
  }
  const { a, b, c } = await scene.counts();
  const mismatches = answers.filter((answer) => answer.status !== 429 || !(retryAfterOf(answer) >= 1));
  report.add(
    '',
    '429 with Retry-After each time; ≤ 4 attempts',
    `${exampleOf(scene, answers, mismatches)}; ${a + b + c} attempts`,
    mismatches.length === 0 && a + b + c <= 4,
  );
};

/**
 * Rate limits do not affect health: however often a supplier asks for one second, it is skipped for only one second.
 */
const sendSixInSequence: PlayScene = async (scene, report) => {
  const removeFault = await scene.fault('a', tooMany(1));
  let longest = 0;
  for (let requestIndex = 0; requestIndex < 6; requestIndex += 1) {
    const answer = await scene.send();
    if (answer.ending === 'refused') longest = Math.max(longest, retryAfterOf(answer) || Infinity);
    await delay(1_150);
  }
  await removeFault();
  await expectOnce(report, 'then well', scene, {
    ending: 'whole',
    by: 'a',
    withinMs: NO_WAIT_MS,
    calls: { a: 7 },
  });
  report.add('the longest Retry-After told', '≤ 2 s', `${longest} s`, longest <= 2);
};

/** Requests in flight before the limit do not matter: no further one is sent until the time the supplier named. */
const sendSixConcurrently: PlayScene = async (scene, report) => {
  await scene.fault('a', tooMany(8));
  // All six are in flight before the first response.
  await scene.fault('a', { kind: 'delay', ms: 300 });
  await Promise.all(Array.from({ length: 6 }, () => scene.send()));
  const before = (await scene.counts()).a;
  for (let waitedMs = 0; waitedMs < 7_000; waitedMs += 250) {
    await scene.send();
    await delay(250);
  }
  const { a } = await scene.counts();
  report.add('in the next 7 of 8 s', 'not asked again', `${before} calls, then ${a - before}`, a === before);
};

/** Failures that do not depend on the request, including rejections of our own credential. */
const failures = [401, 402, 403, 404, 408, 502, 504, 529];

export const oneFailure: FailoverDrill = {
  name: '3 one 500',
  scenes: {
    ...allLayouts(2),
    ...Object.fromEntries(failures.map((status) => [`or ${status}`, layout('chat', status % 2 === 0, 2)])),
    'or 401, and no other lane': layout('messages', false, 1),
  },
  run: async (context) => {
    await context.inScenes(ordinary, async (scene, report) => {
      await scene.fault('a', { kind: 'status', status: 500 }, 1);
      await expectOnce(report, '', scene, { ...servedByBackup, calls: { a: 1, b: 1 } });
      await expectOnce(report, 'again', scene, {
        ending: 'whole',
        by: 'a',
        failover: false,
        withinMs: NO_WAIT_MS,
        calls: { a: 2, b: 1 },
      });
    });
    await context.inScenes(/^or \d+$/, async (scene, report) => {
      await scene.fault('a', { kind: 'status', status: Number(scene.name.slice(3)) }, 1);
      await expectOnce(report, '', scene, { ...servedByBackup, calls: { a: 1, b: 1 } });
    });
    await context.inScenes(/no other lane/, async (scene, report) => {
      await scene.fault('a', { kind: 'status', status: 401 });
      await expectOnce(report, '', scene, {
        ...failureExpectation,
        codes: ['provider_unavailable'],
        calls: { a: 1 },
      });
    });
  },
};

const servedByBackup = { ending: 'whole', by: 'b', failover: true, withinMs: NO_WAIT_MS } as const;

/** Five attempts fail; then the circuit breaker opens, and callers notice neither. */
export const persistentFailure: FailoverDrill = {
  name: '4 persistent 503',
  scenes: {
    ...allLayouts(2),
    'on all lanes': layout('chat', false, 3),
    'on all lanes, streamed': layout('messages', true, 3),
  },
  run: async (context) => {
    await context.inScenes(ordinary, async (scene, report) => {
      await scene.fault('a', { kind: 'status', status: 503 });
      const answers: ObservedResponse[] = [];
      for (let requestIndex = 0; requestIndex < 10; requestIndex += 1) answers.push(await scene.send());
      const mismatches = answers.filter(
        (answer) =>
          answer.ending !== 'whole' ||
          wordsIn(answer.text) !== ANSWER_WORDS ||
          scene.supplierOf(answer) !== 'b' ||
          answer.headers['x-svc-failover'] !== 'true',
      );
      const { a, b } = await scene.counts();
      report.add(
        'ten requests',
        'whole by b, failover, each time; a5 b10',
        `${exampleOf(scene, answers, mismatches)}; a${a} b${b}`,
        mismatches.length === 0 && a === 5 && b === 10,
      );
    });
    await context.inScenes(/^on all lanes/, async (scene, report) => {
      await scene.faultEverywhere({ kind: 'status', status: 503 });
      await expectOnce(report, '', scene, { ...failureExpectation, calls: { a: 1, b: 1, c: 1 } });
    });
  },
};

const failureExpectation = {
  ending: 'refused',
  status: [502, 503],
  retryAfter: [1, 60],
  withinMs: NO_WAIT_MS,
} as const;

const exampleOf = (
  scene: Scene,
  all: readonly ObservedResponse[],
  mismatches: readonly ObservedResponse[],
): string =>
  mismatches[0] === undefined
    ? `all ${all.length} so`
    : `${mismatches.length} of ${all.length} not so: ${observedText(scene, mismatches[0])}`;

export const reset: FailoverDrill = {
  name: '5 reset before headers',
  scenes: {
    ...allLayouts(2),
    'connection refused, chat stream': layout('chat', true, 2, { isGone: true }),
    'connection refused, messages whole': layout('messages', false, 2, { isGone: true }),
    'no other lane': layout('chat', true, 1),
  },
  run: async (context) => {
    await context.inScenes(ordinary, async (scene, report) => {
      const { isGone = false } = scene.layout;
      if (!isGone) await scene.fault('a', { kind: 'reset' }, 1);
      await expectOnce(report, '', scene, { ...servedByBackup, calls: { a: isGone ? 0 : 1, b: 1 } });
    });
    await context.inScenes(/^no other/, async (scene, report) => {
      await scene.fault('a', { kind: 'reset' }, 1);
      await expectOnce(report, '', scene, { ...failureExpectation, calls: { a: 1 } });
    });
  },
};
