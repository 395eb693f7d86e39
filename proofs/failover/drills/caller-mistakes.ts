import { everyWay, layout, wholes } from '../catalogue';
import type { Drill, Play } from '../drill';
import { expectOnce, seenText, SOON_MS } from '../expectation';
import { freshPrompt } from '../scene';
import { eventsBeforeText } from './broken-streams';

const ordinary = /^(chat|messages|responses)/;
const servedByPrimary = { ending: 'whole', by: 'a', failover: false, withinMs: SOON_MS } as const;

/** About ten thousand tokens, which a model of eight thousand cannot read. */
const longPrompt = (): string => `${'word '.repeat(8_000)}${freshPrompt()}`;

/** A second lane of the same model could not read it either; a larger model can, where the catalogue names one. */
export const contextLength: Drill = {
  name: '12 context length',
  scenes: {
    ...everyWay(2, { kind: '8k' }),
    'overflow, chat stream': layout('chat', true, 2, { kind: '8k', overflow: 'roomy, chat' }),
    'overflow, responses stream': layout('responses', true, 2, { kind: '8k', overflow: 'roomy, chat' }),
    'overflow, messages whole': layout('messages', false, 2, { kind: '8k', overflow: 'roomy, messages' }),
    'roomy, chat': layout('chat', true, 1),
    'roomy, messages': layout('messages', true, 1),
  },
  run: async (context) => {
    await context.inScenes(ordinary, async (scene, sheet) => {
      const refused = { ending: 'refused', status: [400], codes: ['context_length_exceeded'] } as const;
      const once = { ...refused, withinMs: SOON_MS, calls: { a: 1, b: 0 } };
      await expectOnce(sheet, '', scene, once, { prompt: longPrompt() });
      await expectOnce(sheet, 'then a short one', scene, { ...servedByPrimary, calls: { a: 2, b: 0 } });
    });
    await context.inScenes(/^overflow/, async (scene, sheet) => {
      const roomy = context.scene(scene.layout.overflow!);
      const prompt = longPrompt();
      const reference = await scene.reference({ prompt });
      const answer = await scene.ask({ prompt });
      const { a, b } = await scene.counts();
      const isRoomy = answer.headers['x-svc-supplier'] === roomy.provider('a');
      sheet.add(
        '',
        'whole by the larger model; a1 b0',
        `${seenText(scene, answer, reference)}${isRoomy ? ', the larger model' : ''}; a${a} b${b}`,
        answer.ending === 'whole' && answer.text === reference && isRoomy && a === 1 && b === 0,
      );
    });
  },
};

/** Refused content would be refused again; and no lane is ill because of it. */
export const contentFilter: Drill = {
  name: '13 content filter',
  scenes: {
    ...everyWay(2),
    'or any other 400': layout('chat', true, 2),
    'or 413': layout('messages', false, 2),
    'but 422': layout('responses', false, 2),
  },
  run: async (context) => {
    await context.inScenes(/^or /, async (scene, sheet) => {
      const status = Number(/\d+$/.exec(scene.name)?.[0]);
      await scene.fault('a', { kind: 'status', status });
      await expectOnce(sheet, '', scene, {
        ending: 'refused',
        status: status === 413 ? [413] : [400],
        codes: [status === 413 ? 'request_too_large' : 'invalid_request'],
        withinMs: SOON_MS,
        calls: { a: 1, b: 0 },
      });
    });
    // Services check bodies by rules of their own: another may take what this one does not.
    await context.inScenes(/^but /, async (scene, sheet) => {
      await scene.fault('a', { kind: 'status', status: 422 });
      const served = { ending: 'whole', by: 'b', failover: true, withinMs: SOON_MS } as const;
      await expectOnce(sheet, '', scene, { ...served, calls: { a: 1, b: 1 } });
    });
    await context.inScenes(ordinary, async (scene, sheet) => {
      const asked = { prompt: 'Something forbidden [[filter]]' };
      const refused = { ending: 'refused', status: [400], withinMs: SOON_MS } as const;
      await expectOnce(sheet, '', scene, { ...refused, calls: { a: 1, b: 0 } }, asked);
      for (let again = 0; again < 5; again += 1) await scene.ask(asked);
      await expectOnce(sheet, 'six times, then else', scene, { ...servedByPrimary, calls: { a: 7, b: 0 } });
    });
  },
};

const refusesPrefill = {
  kind: 'status',
  status: 400,
  body: {
    type: 'error',
    error: {
      type: 'invalid_request_error',
      message:
        'This model does not support assistant message prefill. The conversation must end with a user message.',
    },
  },
};

/** The caller began the answer itself, and the backup cannot go on from there. */
export const prefill: Drill = {
  name: '14 a fallback refuses prefill',
  scenes: {
    ...wholes(3),
    'messages stream': layout('messages', true, 3),
    'nobody left': layout('messages', false, 2),
    'in mid-stream, messages': layout('messages', true, 2),
    'in mid-stream, chat': layout('chat', true, 2),
  },
  run: async (context) => {
    await context.inScenes(ordinary, beginAnswer);
    await context.inScenes(/^nobody/, beginAnswer);
    await context.inScenes(/^in mid/, async (scene, sheet) => {
      await scene.fault('a', { kind: 'cut', after: eventsBeforeText(scene) + 40 });
      await scene.fault('b', refusesPrefill);
      await expectOnce(sheet, '', scene, {
        ending: 'error',
        words: 40,
        withinMs: SOON_MS,
        calls: { a: 1, b: [0, 1] },
      });
    });
  },
};

/** Only the backup refuses the request: another lane is asked, and if none is left, it is not the caller's fault. */
const beginAnswer: Play = async (scene, sheet) => {
  await scene.fault('a', { kind: 'status', status: 503 });
  await scene.fault('b', refusesPrefill);
  const isServed = scene.places.length === 3;
  const expectation = isServed
    ? ({ ending: 'whole', by: 'c', failover: true, calls: { a: 1, b: 1, c: 1 } } as const)
    : ({ ending: 'refused', status: [502, 503], calls: { a: 1, b: 1 } } as const);
  await expectOnce(sheet, '', scene, { ...expectation, withinMs: SOON_MS }, { prefill: 'The answer is' });
};
