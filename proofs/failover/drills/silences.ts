import { setTimeout as delay } from 'node:timers/promises';
import { everyWay, layout, mixed, streams } from '../catalogue';
import type { Drill, Play } from '../drill';
import { expectOnce, seenText, SLACK_MS, wordsIn } from '../expectation';
import { WORDS } from '../scene';

const ordinary = /^(chat|messages|responses)/;
const CROWD = 20;

export const noAnswer: Drill = {
  name: '6 no answer at all',
  scenes: {
    ...everyWay(2),
    'alone, stream': layout('chat', true, 1),
    'alone, whole': layout('messages', false, 1),
    'on all lanes, stream': layout('responses', true, 3),
    'on all lanes, whole': layout('chat', false, 3),
    'twenty at once': layout('chat', true, 2),
  },
  run: async (context) => {
    await Promise.all([
      context.inScenes(ordinary, failOver),
      context.inScenes(/^alone|^on all/, timeOut),
      context.inScenes(/^twenty/, async (scene, sheet) => {
        await scene.fault('a', { kind: 'hang' });
        await serveCrowd(scene, sheet);
      }),
    ]);
  },
};

/** Only a stream shows whether something is coming; a whole answer may take as long as its first byte may. */
const failOver: Play = async (scene, sheet) => {
  const { firstTokenMs, firstByteMs } = scene.limits;
  const limit = scene.layout.stream ? firstTokenMs : firstByteMs;
  await scene.fault('a', { kind: 'hang' });
  await expectOnce(sheet, '', scene, {
    ending: 'whole',
    by: 'b',
    failover: true,
    atLeastMs: limit - 50,
    withinMs: limit + SLACK_MS,
    calls: { a: 1, b: 1 },
  });
  await delay(250);
  const [call] = await scene.calls('a');
  const closed = call?.closed ?? 'still open';
  sheet.add('the silent call', 'closed by the gateway', closed, closed === 'client-closed');
};

const timeOut: Play = async (scene, sheet) => {
  const { firstTokenMs, firstByteMs } = scene.limits;
  const lanes = scene.places.length;
  await scene.faultEverywhere({ kind: 'hang' });
  const waiting = (lanes - 1) * (scene.layout.stream ? firstTokenMs : firstByteMs) + firstByteMs;
  await expectOnce(sheet, '', scene, {
    ending: 'refused',
    status: [504],
    codes: ['upstream_timeout'],
    withinMs: waiting + lanes * SLACK_MS,
    calls: Object.fromEntries(scene.places.map((place) => [place, [0, 1]] as const)),
  });
};

/** The supplier sends its first event at once and then pauses for twice the longest wait. */
export const lateFirstToken: Drill = {
  name: '7 first token after 20 s',
  scenes: {
    ...streams(2),
    'chat stream from messages lanes': mixed('chat', true, 'messages-style', 'messages-style'),
    'messages stream from chat lanes': mixed('messages', true, 'openai-style', 'openai-style'),
    'no other lane, waited for': layout('chat', true, 1),
    'on all lanes, the last waited for': layout('messages', true, 2),
    'twenty at once': layout('chat', true, 2),
  },
  run: async (context) => {
    const { firstTokenMs } = context.testbed.limits;
    const late = { kind: 'slow-first-token', ms: 2 * firstTokenMs };
    await Promise.all([
      context.inScenes(ordinary, async (scene, sheet) => {
        await scene.fault('a', late);
        await expectOnce(sheet, '', scene, {
          ending: 'whole',
          by: 'b',
          failover: true,
          atLeastMs: firstTokenMs - 50,
          withinMs: firstTokenMs + SLACK_MS,
          calls: { a: 1, b: 1 },
        });
      }),
      context.inScenes(/waited for$/, async (scene, sheet) => {
        await scene.faultEverywhere(late);
        // With no lane left, a late answer is better than none.
        const last = scene.places.length - 1;
        await expectOnce(sheet, '', scene, {
          ending: 'whole',
          by: scene.places[last]!,
          withinMs: (last + 2) * firstTokenMs + SLACK_MS,
        });
      }),
      context.inScenes(/^twenty/, async (scene, sheet) => {
        await scene.fault('a', late);
        await serveCrowd(scene, sheet);
      }),
    ]);
  },
};

/** However many it meets at the same moment, a healthy backup serves all of them. */
const serveCrowd: Play = async (scene, sheet) => {
  const answers = await Promise.all(Array.from({ length: CROWD }, () => scene.ask()));
  const served = answers.filter(({ ending, text }) => ending === 'whole' && wordsIn(text) === WORDS);
  const lost = answers.find((answer) => !served.includes(answer));
  sheet.add(
    '',
    `all ${CROWD} whole`,
    `${served.length} whole${lost === undefined ? '' : `, others ${seenText(scene, lost)}`}`,
    served.length === CROWD,
  );
};

/** Words have come, then nothing more for longer than the idle limit. */
export const stall: Drill = {
  name: '9 stall in mid-stream',
  scenes: {
    ...everyWay(2),
    'no other lane': layout('messages', true, 1),
    'a short pause': layout('chat', true, 2),
  },
  run: async (context) => {
    const { idleMs } = context.testbed.limits;
    const stalled = (scene: { readonly layout: { readonly stream: boolean } }, ms: number) => ({
      kind: 'stall',
      ms,
      ...(scene.layout.stream ? { after: 30 } : {}),
    });
    const inTime = { withinMs: idleMs + SLACK_MS };
    await Promise.all([
      context.inScenes(ordinary, async (scene, sheet) => {
        await scene.fault('a', stalled(scene, idleMs * 1.5));
        await expectOnce(sheet, '', scene, { ending: 'whole', ...inTime, calls: { a: 1, b: 1 } });
      }),
      context.inScenes(/^no other/, async (scene, sheet) => {
        await scene.fault('a', stalled(scene, idleMs * 1.5));
        await expectOnce(sheet, '', scene, { ending: 'error', ...inTime, calls: { a: 1 } });
      }),
      context.inScenes(/^a short/, async (scene, sheet) => {
        await scene.fault('a', stalled(scene, idleMs / 2));
        await expectOnce(sheet, '', scene, {
          ending: 'whole',
          by: 'a',
          failover: false,
          calls: { a: 1, b: 0 },
        });
      }),
    ]);
  },
};
