import { everyWay, layout, wholes } from '../catalogue';
import type { Drill } from '../drill';
import { expectOnce } from '../expectation';

const everyScene = /./;
const shortLimit = { kind: 'status', status: 429, headers: { 'retry-after': '1' } };
const internalError = { kind: 'status', status: 500 };

/** One provider with `retries`: a short limit and one internal error cost the caller nothing but time. */
export const sameLane: Drill = {
  name: '18 the same lane again',
  scenes: everyWay(1, { retries: 1 }),
  run: (context) =>
    context.inScenes(everyScene, async (scene, sheet) => {
      await scene.fault('a', shortLimit, 1);
      const served = { ending: 'whole', by: 'a', failover: false } as const;
      await expectOnce(sheet, '429 with Retry-After 1, then 200', scene, {
        ...served,
        atLeastMs: 1_000,
        withinMs: 2_500,
        calls: { a: 2 },
      });
      await scene.fault('a', internalError, 1);
      await expectOnce(sheet, '500, then 200', scene, { ...served, withinMs: 1_500, calls: { a: 4 } });
      await scene.fault('a', internalError, 2);
      await expectOnce(sheet, 'two 500', scene, { ending: 'refused', status: [503], calls: { a: 6 } });
    }),
};

const ROUNDS = 6;

/** Failures that requests may cause: their key is served by the backup; a refused request counts for no lane. */
export const callersFaults: Drill = {
  name: '19 faults that a caller can cause',
  scenes: {
    '404': layout('chat', false, 2),
    'no JSON': layout('chat', false, 2),
    '422': layout('chat', false, 1),
  },
  run: (context) =>
    Promise.all([
      context.inScenes(/^404|^no/, async (scene, sheet) => {
        const isMissing = scene.name === '404';
        await scene.fault('a', isMissing ? { kind: 'status', status: 404 } : { kind: 'non-json' });
        for (let round = 1; round <= ROUNDS; round += 1)
          await expectOnce(sheet, `round ${round}`, scene, { ending: 'whole', by: 'b', failover: true });
      }),
      context.inScenes(/^422/, async (scene, sheet) => {
        const lift = await scene.fault('a', { kind: 'status', status: 422 });
        for (let round = 1; round <= ROUNDS; round += 1)
          await expectOnce(sheet, `round ${round}`, scene, { ending: 'refused', status: [400] });
        await lift();
        await expectOnce(sheet, 'a good one', scene, { ending: 'whole', by: 'a', failover: false });
      }),
    ]).then(() => undefined),
};

/** A sole lane that rested: ten at once are served by one probe. */
export const probeAwaited: Drill = {
  name: '20 ten callers before a lane that rested',
  scenes: wholes(1),
  run: (context) =>
    context.inScenes(everyScene, async (scene, sheet) => {
      const lift = await scene.fault('a', { kind: 'status', status: 503 });
      for (let call = 0; call < 5; call += 1) await scene.ask();
      await lift();
      await scene.fault('a', { kind: 'delay', ms: 300 }, 1);
      const answers = await Promise.all(Array.from({ length: 10 }, () => scene.ask()));
      const whole = answers.filter(({ ending }) => ending === 'whole').length;
      sheet.add('ten at once', 'whole: 10', `whole: ${whole}`, whole === 10);
    }),
};

/** The session stays with the stand-in for a moment, and a header says so. */
export const standIn: Drill = {
  name: '21 a session on the lane that stood in',
  scenes: wholes(2),
  run: (context) =>
    context.inScenes(everyScene, async (scene, sheet) => {
      await scene.fault('a', { kind: 'status', status: 503 }, 1);
      const asked = { session: `stays-${scene.model}` };
      for (const turn of ['first turn', 'next turn'])
        await expectOnce(sheet, turn, scene, { ending: 'whole', by: 'b', failover: true }, asked);
    }),
};
