import { allLayouts, layout, nonStreamingLayouts } from '../catalogue';
import type { FailoverDrill } from '../drill';
import { expectOnce } from '../expectation';

const everyScene = /./;
const shortLimit = { kind: 'status', status: 429, headers: { 'retry-after': '1' } };
const internalError = { kind: 'status', status: 500 };

/** Provider with `retries`: a short rate limit and an internal error only cost the caller time. */
export const sameLane: FailoverDrill = {
  name: '18 the same lane again',
  scenes: allLayouts(1, { retries: 1 }),
  run: (context) =>
    context.inScenes(everyScene, async (scene, report) => {
      await scene.fault('a', shortLimit, 1);
      const served = { ending: 'whole', by: 'a', failover: false } as const;
      await expectOnce(report, '429 with Retry-After 1, then 200', scene, {
        ...served,
        atLeastMs: 1_000,
        withinMs: 2_500,
        calls: { a: 2 },
      });
      await scene.fault('a', internalError, 1);
      await expectOnce(report, '500, then 200', scene, { ...served, withinMs: 1_500, calls: { a: 4 } });
      await scene.fault('a', internalError, 2);
      await expectOnce(report, 'two 500', scene, { ending: 'refused', status: [503], calls: { a: 6 } });
    }),
};

const ROUNDS = 6;

/** Failures that requests may cause: the backup serves the affected key; a rejected request counts against no lane. */
export const callersFaults: FailoverDrill = {
  name: '19 faults that a caller can cause',
  scenes: {
    '404': layout('chat', false, 2),
    'no JSON': layout('chat', false, 2),
    '422': layout('chat', false, 1),
  },
  run: (context) =>
    Promise.all([
      context.inScenes(/^404|^no/, async (scene, report) => {
        const isMissing = scene.name === '404';
        await scene.fault('a', isMissing ? { kind: 'status', status: 404 } : { kind: 'non-json' });
        for (let round = 1; round <= ROUNDS; round += 1)
          await expectOnce(report, `round ${round}`, scene, { ending: 'whole', by: 'b', failover: true });
      }),
      context.inScenes(/^422/, async (scene, report) => {
        const removeFault = await scene.fault('a', { kind: 'status', status: 422 });
        for (let round = 1; round <= ROUNDS; round += 1)
          await expectOnce(report, `round ${round}`, scene, { ending: 'refused', status: [400] });
        await removeFault();
        await expectOnce(report, 'a good one', scene, { ending: 'whole', by: 'a', failover: false });
      }),
    ]).then(() => undefined),
};

/** A sole lane whose circuit breaker was open: a single probe decides for ten concurrent requests. */
export const probeAwaited: FailoverDrill = {
  name: '20 ten callers before a lane that rested',
  scenes: nonStreamingLayouts(1),
  run: (context) =>
    context.inScenes(everyScene, async (scene, report) => {
      const removeFault = await scene.fault('a', { kind: 'status', status: 503 });
      for (let call = 0; call < 5; call += 1) await scene.send();
      await removeFault();
      await scene.fault('a', { kind: 'delay', ms: 300 }, 1);
      const answers = await Promise.all(Array.from({ length: 10 }, () => scene.send()));
      const servedCount = answers.filter(({ ending }) => ending === 'whole').length;
      report.add('ten at once', 'whole: 10', `whole: ${servedCount}`, servedCount === 10);
    }),
};

/** The session stays with the backup for a moment, and a header reports it. */
export const standIn: FailoverDrill = {
  name: '21 a session on the lane that stood in',
  scenes: nonStreamingLayouts(2),
  run: (context) =>
    context.inScenes(everyScene, async (scene, report) => {
      await scene.fault('a', { kind: 'status', status: 503 }, 1);
      const options = { session: `stays-${scene.model}` };
      for (const turn of ['first turn', 'next turn'])
        await expectOnce(report, turn, scene, { ending: 'whole', by: 'b', failover: true }, options);
    }),
};
