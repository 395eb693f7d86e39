import { setTimeout as delay } from 'node:timers/promises';
import type { Answer } from '../caller';
import { everyWay, layout } from '../catalogue';
import type { Drill, Play } from '../drill';
import { expectOnce, retryAfterOf, seenText, SOON_MS, wordsIn } from '../expectation';
import { type Scene, WORDS } from '../scene';

const tooMany = (seconds: number) => ({
  kind: 'status',
  status: 429,
  headers: { 'retry-after': String(seconds) },
});
const ordinary = /(stream|whole)$/;

/** A supplier that names a time is left alone until then, and not a moment longer. */
export const oneLimit: Drill = {
  name: '1 one 429 with Retry-After',
  scenes: everyWay(2),
  run: (context) =>
    context.inScenes(ordinary, async (scene, sheet) => {
      await scene.fault('a', tooMany(2), 1);
      const served = { ending: 'whole', by: 'b', failover: true, withinMs: SOON_MS } as const;
      await expectOnce(sheet, '', scene, { ...served, calls: { a: 1, b: 1 } });
      await expectOnce(sheet, 'again at once', scene, { ...served, calls: { a: 1, b: 2 } });
      await delay(2_200);
      await expectOnce(sheet, 'again after it', scene, {
        ending: 'whole',
        by: 'a',
        failover: false,
        withinMs: SOON_MS,
        calls: { a: 2, b: 2 },
      });
    }),
};

export const persistentLimits: Drill = {
  name: '2 persistent 429',
  scenes: {
    ...everyWay(3),
    '30 requests in 3 s': layout('chat', false, 3),
    'no time named': layout('chat', false, 3),
    'six in a row, alone': layout('chat', false, 1),
    'six in a row, with a backup': layout('chat', false, 2),
    'six at once, with a backup': layout('chat', false, 2),
  },
  run: async (context) => {
    await context.inScenes(ordinary, askAgainWhenTold);
    await Promise.all([
      context.inScenes(/^30/, retryAtOnce),
      context.inScenes(/^no time/, async (scene, sheet) => {
        await scene.faultEverywhere({ kind: 'status', status: 429 });
        await expectOnce(sheet, '', scene, { ...refused, retryAfter: [1, 60] });
      }),
      context.inScenes(/^six in a row/, askSixTimes),
      context.inScenes(/^six at once/, askSixAtOnce),
    ]);
  },
};

const refused = {
  ending: 'refused',
  status: [429],
  withinMs: SOON_MS,
  calls: { a: [0, 1], b: [0, 1], c: [0, 1] },
} as const;

const askAgainWhenTold: Play = async (scene, sheet) => {
  const lift = await scene.faultEverywhere(tooMany(3));
  const first = await expectOnce(sheet, '', scene, { ...refused, retryAfter: [1, 3] });
  await lift();
  await delay((retryAfterOf(first) || 3) * 1_000 + 200);
  await expectOnce(sheet, 'again when told', scene, { ending: 'whole', withinMs: SOON_MS });
};

/** A caller that ignores `Retry-After`: every answer repeats it, and suppliers get one request. */
const retryAtOnce: Play = async (scene, sheet) => {
  await scene.faultEverywhere(tooMany(5));
  const answers: Answer[] = [];
  for (let asked = 0; asked < 30; asked += 1) {
    answers.push(await scene.ask());
    await delay(100);
  }
  const { a, b, c } = await scene.counts();
  const wrong = answers.filter((answer) => answer.status !== 429 || !(retryAfterOf(answer) >= 1));
  sheet.add(
    '',
    '429 with Retry-After each time; ≤ 4 attempts',
    `${exampleOf(scene, answers, wrong)}; ${a + b + c} attempts`,
    wrong.length === 0 && a + b + c <= 4,
  );
};

/** A limit is no illness: however often a supplier says "in a second", a second is what it is left alone for. */
const askSixTimes: Play = async (scene, sheet) => {
  const lift = await scene.fault('a', tooMany(1));
  let longest = 0;
  for (let asked = 0; asked < 6; asked += 1) {
    const answer = await scene.ask();
    if (answer.ending === 'refused') longest = Math.max(longest, retryAfterOf(answer) || Infinity);
    await delay(1_150);
  }
  await lift();
  await expectOnce(sheet, 'then well', scene, {
    ending: 'whole',
    by: 'a',
    withinMs: SOON_MS,
    calls: { a: 7 },
  });
  sheet.add('the longest Retry-After told', '≤ 2 s', `${longest} s`, longest <= 2);
};

/** However often it was asked before it said so: until the time it named it is not asked again. */
const askSixAtOnce: Play = async (scene, sheet) => {
  await scene.fault('a', tooMany(8));
  // All six are on their way before the first of them hears of it.
  await scene.fault('a', { kind: 'delay', ms: 300 });
  await Promise.all(Array.from({ length: 6 }, () => scene.ask()));
  const before = (await scene.counts()).a;
  for (let waited = 0; waited < 7_000; waited += 250) {
    await scene.ask();
    await delay(250);
  }
  const { a } = await scene.counts();
  sheet.add('in the next 7 of 8 s', 'not asked again', `${before} calls, then ${a - before}`, a === before);
};

/** Refusals that do not depend on the request: doubts about our own credential are among them. */
const failures = [401, 402, 403, 404, 408, 502, 504, 529];

export const oneFailure: Drill = {
  name: '3 one 500',
  scenes: {
    ...everyWay(2),
    ...Object.fromEntries(failures.map((status) => [`or ${status}`, layout('chat', status % 2 === 0, 2)])),
    'or 401, and no other lane': layout('messages', false, 1),
  },
  run: async (context) => {
    await context.inScenes(ordinary, async (scene, sheet) => {
      await scene.fault('a', { kind: 'status', status: 500 }, 1);
      await expectOnce(sheet, '', scene, { ...servedByBackup, calls: { a: 1, b: 1 } });
      await expectOnce(sheet, 'again', scene, {
        ending: 'whole',
        by: 'a',
        failover: false,
        withinMs: SOON_MS,
        calls: { a: 2, b: 1 },
      });
    });
    await context.inScenes(/^or \d+$/, async (scene, sheet) => {
      await scene.fault('a', { kind: 'status', status: Number(scene.name.slice(3)) }, 1);
      await expectOnce(sheet, '', scene, { ...servedByBackup, calls: { a: 1, b: 1 } });
    });
    await context.inScenes(/no other lane/, async (scene, sheet) => {
      await scene.fault('a', { kind: 'status', status: 401 });
      await expectOnce(sheet, '', scene, { ...failed, codes: ['provider_unavailable'], calls: { a: 1 } });
    });
  },
};

const servedByBackup = { ending: 'whole', by: 'b', failover: true, withinMs: SOON_MS } as const;

/** Five times it is tried in vain; then it rests, and callers do not notice either way. */
export const persistentFailure: Drill = {
  name: '4 persistent 503',
  scenes: {
    ...everyWay(2),
    'on all lanes': layout('chat', false, 3),
    'on all lanes, streamed': layout('messages', true, 3),
  },
  run: async (context) => {
    await context.inScenes(ordinary, async (scene, sheet) => {
      await scene.fault('a', { kind: 'status', status: 503 });
      const answers: Answer[] = [];
      for (let asked = 0; asked < 10; asked += 1) answers.push(await scene.ask());
      const wrong = answers.filter(
        (answer) =>
          answer.ending !== 'whole' ||
          wordsIn(answer.text) !== WORDS ||
          scene.placeOf(answer) !== 'b' ||
          answer.headers['x-svc-failover'] !== 'true',
      );
      const { a, b } = await scene.counts();
      sheet.add(
        'ten requests',
        'whole by b, failover, each time; a5 b10',
        `${exampleOf(scene, answers, wrong)}; a${a} b${b}`,
        wrong.length === 0 && a === 5 && b === 10,
      );
    });
    await context.inScenes(/^on all lanes/, async (scene, sheet) => {
      await scene.faultEverywhere({ kind: 'status', status: 503 });
      await expectOnce(sheet, '', scene, { ...failed, calls: { a: 1, b: 1, c: 1 } });
    });
  },
};

const failed = { ending: 'refused', status: [502, 503], retryAfter: [1, 60], withinMs: SOON_MS } as const;

const exampleOf = (scene: Scene, all: readonly Answer[], wrong: readonly Answer[]): string =>
  wrong[0] === undefined
    ? `all ${all.length} so`
    : `${wrong.length} of ${all.length} not so: ${seenText(scene, wrong[0])}`;

export const reset: Drill = {
  name: '5 reset before headers',
  scenes: {
    ...everyWay(2),
    'connection refused, chat stream': layout('chat', true, 2, { gone: true }),
    'connection refused, messages whole': layout('messages', false, 2, { gone: true }),
    'no other lane': layout('chat', true, 1),
  },
  run: async (context) => {
    await context.inScenes(ordinary, async (scene, sheet) => {
      const { gone = false } = scene.layout;
      if (!gone) await scene.fault('a', { kind: 'reset' }, 1);
      await expectOnce(sheet, '', scene, { ...servedByBackup, calls: { a: gone ? 0 : 1, b: 1 } });
    });
    await context.inScenes(/^no other/, async (scene, sheet) => {
      await scene.fault('a', { kind: 'reset' }, 1);
      await expectOnce(sheet, '', scene, { ...failed, calls: { a: 1 } });
    });
  },
};
