import { allLayouts, layout, nonStreamingLayouts } from '../catalogue';
import type { FailoverDrill, PlayScene } from '../drill';
import { expectOnce, observedText, NO_WAIT_MS } from '../expectation';
import { freshPrompt } from '../scene';
import { eventsBeforeText } from './broken-streams';

const ordinary = /^(chat|messages|responses)/;
const servedByPrimary = { ending: 'whole', by: 'a', failover: false, withinMs: NO_WAIT_MS } as const;

/** About ten thousand tokens, too long for a context of eight thousand. */
const longPrompt = (): string => `${'word '.repeat(8_000)}${freshPrompt()}`;

/** Another lane of the same model would fail as well; a larger model from the catalogue can serve the request. */
export const contextLength: FailoverDrill = {
  name: '12 context length',
  scenes: {
    ...allLayouts(2, { kind: '8k' }),
    'overflow, chat stream': layout('chat', true, 2, { kind: '8k', overflow: 'roomy, chat' }),
    'overflow, responses stream': layout('responses', true, 2, { kind: '8k', overflow: 'roomy, chat' }),
    'overflow, messages whole': layout('messages', false, 2, { kind: '8k', overflow: 'roomy, messages' }),
    'roomy, chat': layout('chat', true, 1),
    'roomy, messages': layout('messages', true, 1),
  },
  run: async (context) => {
    await context.inScenes(ordinary, async (scene, report) => {
      const refused = { ending: 'refused', status: [400], codes: ['context_length_exceeded'] } as const;
      const once = { ...refused, withinMs: NO_WAIT_MS, calls: { a: 1, b: 0 } };
      await expectOnce(report, '', scene, once, { prompt: longPrompt() });
      await expectOnce(report, 'then a short one', scene, { ...servedByPrimary, calls: { a: 2, b: 0 } });
    });
    await context.inScenes(/^overflow/, async (scene, report) => {
      const largerScene = context.scene(scene.layout.overflow!);
      const prompt = longPrompt();
      const reference = await scene.reference({ prompt });
      const answer = await scene.send({ prompt });
      const { a, b } = await scene.counts();
      const isServedByLarger = answer.headers['x-svc-supplier'] === largerScene.provider('a');
      report.add(
        '',
        'whole by the larger model; a1 b0',
        `${observedText(scene, answer, reference)}${isServedByLarger ? ', the larger model' : ''}; a${a} b${b}`,
        answer.ending === 'whole' && answer.text === reference && isServedByLarger && a === 1 && b === 0,
      );
    });
  },
};

/** Refused content would be refused again, and no lane's health suffers. */
export const contentFilter: FailoverDrill = {
  name: '13 content filter',
  scenes: {
    ...allLayouts(2),
    'or any other 400': layout('chat', true, 2),
    'or 413': layout('messages', false, 2),
    'but 422': layout('responses', false, 2),
  },
  run: async (context) => {
    await context.inScenes(/^or /, async (scene, report) => {
      const status = Number(/\d+$/.exec(scene.name)?.[0]);
      await scene.fault('a', { kind: 'status', status });
      await expectOnce(report, '', scene, {
        ending: 'refused',
        status: status === 413 ? [413] : [400],
        codes: [status === 413 ? 'request_too_large' : 'invalid_request'],
        withinMs: NO_WAIT_MS,
        calls: { a: 1, b: 0 },
      });
    });
    // Suppliers validate bodies differently: another one may accept what this one rejects.
    await context.inScenes(/^but /, async (scene, report) => {
      await scene.fault('a', { kind: 'status', status: 422 });
      const served = { ending: 'whole', by: 'b', failover: true, withinMs: NO_WAIT_MS } as const;
      await expectOnce(report, '', scene, { ...served, calls: { a: 1, b: 1 } });
    });
    await context.inScenes(ordinary, async (scene, report) => {
      const options = { prompt: 'Something forbidden [[filter]]' };
      const refused = { ending: 'refused', status: [400], withinMs: NO_WAIT_MS } as const;
      await expectOnce(report, '', scene, { ...refused, calls: { a: 1, b: 0 } }, options);
      for (let requestIndex = 0; requestIndex < 5; requestIndex += 1) await scene.send(options);
      await expectOnce(report, 'six times, then else', scene, { ...servedByPrimary, calls: { a: 7, b: 0 } });
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

/** The caller started the answer itself, and the backup cannot continue it. */
export const prefill: FailoverDrill = {
  name: '14 a fallback refuses prefill',
  scenes: {
    ...nonStreamingLayouts(3),
    'messages stream': layout('messages', true, 3),
    'nobody left': layout('messages', false, 2),
    'in mid-stream, messages': layout('messages', true, 2),
    'in mid-stream, chat': layout('chat', true, 2),
  },
  run: async (context) => {
    await context.inScenes(ordinary, playPrefill);
    await context.inScenes(/^nobody/, playPrefill);
    await context.inScenes(/^in mid/, async (scene, report) => {
      await scene.fault('a', { kind: 'cut', after: eventsBeforeText(scene) + 40 });
      await scene.fault('b', refusesPrefill);
      await expectOnce(report, '', scene, {
        ending: 'error',
        words: 40,
        withinMs: NO_WAIT_MS,
        calls: { a: 1, b: [0, 1] },
      });
    });
  },
};

/** Only the backup rejects the request: another lane is tried; if none is left, the caller is not blamed. */
const playPrefill: PlayScene = async (scene, report) => {
  await scene.fault('a', { kind: 'status', status: 503 });
  await scene.fault('b', refusesPrefill);
  const isServed = scene.supplierIds.length === 3;
  const expectation = isServed
    ? ({ ending: 'whole', by: 'c', failover: true, calls: { a: 1, b: 1, c: 1 } } as const)
    : ({ ending: 'refused', status: [502, 503], calls: { a: 1, b: 1 } } as const);
  await expectOnce(report, '', scene, { ...expectation, withinMs: NO_WAIT_MS }, { prefill: 'The answer is' });
};
