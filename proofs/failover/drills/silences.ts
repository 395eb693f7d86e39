import { setTimeout as delay } from 'node:timers/promises';
import { allLayouts, layout, mixed, streamingLayouts } from '../catalogue';
import type { FailoverDrill, PlayScene } from '../drill';
import { expectOnce, observedText, SLACK_MS, wordsIn } from '../expectation';
import { ANSWER_WORDS } from '../scene';

const ordinary = /^(chat|messages|responses)/;
const CONCURRENT_CALLERS = 20;

export const noAnswer: FailoverDrill = {
  name: '6 no answer at all',
  scenes: {
    ...allLayouts(2),
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
      context.inScenes(/^twenty/, async (scene, report) => {
        await scene.fault('a', { kind: 'hang' });
        await serveCrowd(scene, report);
      }),
    ]);
  },
};

/** Only a stream shows progress; a non-streaming response may take as long as its first byte. */
const failOver: PlayScene = async (scene, report) => {
  const { firstTokenMs, firstByteMs } = scene.limits;
  const limit = scene.layout.stream ? firstTokenMs : firstByteMs;
  await scene.fault('a', { kind: 'hang' });
  await expectOnce(report, '', scene, {
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
  report.add('the silent call', 'closed by the gateway', closed, closed === 'client-closed');
};

const timeOut: PlayScene = async (scene, report) => {
  const { firstTokenMs, firstByteMs } = scene.limits;
  const lanes = scene.supplierIds.length;
  await scene.faultEverywhere({ kind: 'hang' });
  const waiting = (lanes - 1) * (scene.layout.stream ? firstTokenMs : firstByteMs) + firstByteMs;
  await expectOnce(report, '', scene, {
    ending: 'refused',
    status: [504],
    codes: ['upstream_timeout'],
    withinMs: waiting + lanes * SLACK_MS,
    calls: Object.fromEntries(scene.supplierIds.map((supplierId) => [supplierId, [0, 1]] as const)),
  });
};

/** The supplier sends its first event immediately and then pauses for twice the first-token timeout. */
export const lateFirstToken: FailoverDrill = {
  name: '7 first token after 20 s',
  scenes: {
    ...streamingLayouts(2),
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
      context.inScenes(ordinary, async (scene, report) => {
        await scene.fault('a', late);
        await expectOnce(report, '', scene, {
          ending: 'whole',
          by: 'b',
          failover: true,
          atLeastMs: firstTokenMs - 50,
          withinMs: firstTokenMs + SLACK_MS,
          calls: { a: 1, b: 1 },
        });
      }),
      context.inScenes(/waited for$/, async (scene, report) => {
        await scene.faultEverywhere(late);
        // With no other lane left, a late response is better than none.
        const lastIndex = scene.supplierIds.length - 1;
        await expectOnce(report, '', scene, {
          ending: 'whole',
          by: scene.supplierIds[lastIndex]!,
          withinMs: (lastIndex + 2) * firstTokenMs + SLACK_MS,
        });
      }),
      context.inScenes(/^twenty/, async (scene, report) => {
        await scene.fault('a', late);
        await serveCrowd(scene, report);
      }),
    ]);
  },
};

/** A healthy backup serves any number of concurrent callers. */
const serveCrowd: PlayScene = async (scene, report) => {
  const answers = await Promise.all(Array.from({ length: CONCURRENT_CALLERS }, () => scene.send()));
  const served = answers.filter(({ ending, text }) => ending === 'whole' && wordsIn(text) === ANSWER_WORDS);
  const failedAnswer = answers.find((answer) => !served.includes(answer));
  report.add(
    '',
    `all ${CONCURRENT_CALLERS} whole`,
    `${served.length} whole${failedAnswer === undefined ? '' : `, others ${observedText(scene, failedAnswer)}`}`,
    served.length === CONCURRENT_CALLERS,
  );
};

/** Words arrive, then nothing for longer than the idle timeout. */
export const stall: FailoverDrill = {
  name: '9 stall in mid-stream',
  scenes: {
    ...allLayouts(2),
    'no other lane': layout('messages', true, 1),
    'a short pause': layout('chat', true, 2),
  },
  run: async (context) => {
    const { idleMs } = context.testbed.limits;
    const stallFault = (scene: { readonly layout: { readonly stream: boolean } }, ms: number) => ({
      kind: 'stall',
      ms,
      ...(scene.layout.stream ? { after: 30 } : {}),
    });
    const inTime = { withinMs: idleMs + SLACK_MS };
    await Promise.all([
      context.inScenes(ordinary, async (scene, report) => {
        await scene.fault('a', stallFault(scene, idleMs * 1.5));
        await expectOnce(report, '', scene, { ending: 'whole', ...inTime, calls: { a: 1, b: 1 } });
      }),
      context.inScenes(/^no other/, async (scene, report) => {
        await scene.fault('a', stallFault(scene, idleMs * 1.5));
        await expectOnce(report, '', scene, { ending: 'error', ...inTime, calls: { a: 1 } });
      }),
      context.inScenes(/^a short/, async (scene, report) => {
        await scene.fault('a', stallFault(scene, idleMs / 2));
        await expectOnce(report, '', scene, {
          ending: 'whole',
          by: 'a',
          failover: false,
          calls: { a: 1, b: 0 },
        });
      }),
    ]);
  },
};
