import type { ObservedResponse } from '../caller';
import { allLayouts, layout, mixed, streamingLayouts } from '../catalogue';
import type { DialectName } from '../dialects';
import type { FailoverDrill, PlayScene } from '../drill';
import { expectOnce, observedText, NO_WAIT_MS, wordsIn } from '../expectation';
import { type Scene, ANSWER_WORDS } from '../scene';

const DELIVERED_WORDS = 40;
const ordinary = /^(chat|messages|responses)/;

/** Number of events before the first word. */
export const eventsBeforeText = ({ layout: { dialect, lanes } }: Scene): number => {
  const wire: DialectName =
    lanes[0] === 'messages-style' ? 'messages' : dialect === 'responses' ? dialect : 'chat';
  return { chat: 1, messages: 3, responses: 4 }[wire];
};

const chunk = (delta: object, finish: string | null): string =>
  `data: ${JSON.stringify({
    id: 'chatcmpl-other',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'other',
    choices: [{ index: 0, delta, finish_reason: finish }],
  })}\n\n`;

/** A Chat Completions stream that shares no word with the text of the other lanes. */
const differentStream = {
  kind: 'status',
  status: 200,
  headers: { 'content-type': 'text/event-stream' },
  body: [
    chunk({ role: 'assistant', content: '' }, null),
    ...['Something', ' else', ' entirely.'].map((content) => chunk({ content }, null)),
    chunk({}, 'stop'),
    'data: [DONE]\n\n',
  ].join(''),
};

const withoutHelp = {
  'no other lane, chat': layout('chat', true, 1),
  'no other lane, messages': layout('messages', true, 1),
  'no other lane, responses': layout('responses', true, 1),
  'another text from the next lane': layout('chat', true, 2),
};

const breaks = ['cut', 'clean-cut', 'reset', 'error-event'] as const;

/** A stream that ends after forty of its sixty words, in four ways; a non-streaming response loses its second half. */
export const cut: FailoverDrill = {
  name: '8 cut after 40 of 60',
  scenes: {
    ...Object.fromEntries(
      breaks.flatMap((kind) =>
        Object.entries(kind === 'cut' ? allLayouts(2) : streamingLayouts(2)).map(([name, way]) => [
          `${name}, ${kind}`,
          way,
        ]),
      ),
    ),
    'chat stream from messages lanes': mixed('chat', true, 'messages-style', 'messages-style'),
    'messages stream from chat lanes': mixed('messages', true, 'openai-style', 'openai-style'),
    'chat stream from both dialects': mixed('chat', true, 'openai-style', 'messages-style'),
    'the next lane cut as well': layout('chat', true, 3),
    'every time': layout('chat', true, 2),
    ...withoutHelp,
  },
  run: async (context) => {
    await context.inScenes(ordinary, failOver);
    await context.inScenes(/^no other|^another/, reportInStream);
    await context.inScenes(/^the next/, async (scene, report) => {
      await scene.fault('a', { kind: 'cut', after: eventsBeforeText(scene) + 20 });
      await scene.fault('b', { kind: 'cut', after: eventsBeforeText(scene) + DELIVERED_WORDS });
      await expectOnce(report, '', scene, {
        ending: 'whole or error',
        words: DELIVERED_WORDS,
        withinMs: NO_WAIT_MS,
        calls: { a: 1, b: 1, c: [0, 1] },
      });
    });
    await context.inScenes(/^every time/, leaveLane);
  },
};

/** The next lane produces the same words, so the caller sees one response without gaps or repetitions. */
const failOver: PlayScene = async (scene, report) => {
  const kind = breaks.find((known) => scene.name.endsWith(`, ${known}`)) ?? 'cut';
  const after = scene.layout.stream ? { after: eventsBeforeText(scene) + DELIVERED_WORDS } : {};
  await scene.fault('a', { kind, ...after });
  await expectOnce(report, '', scene, { ending: 'whole', withinMs: NO_WAIT_MS, calls: { a: 1, b: 1 } });
};

/** If no lane can continue the text, the stream ends with an error after the delivered part. */
const reportInStream: PlayScene = async (scene, report) => {
  const isSoleLane = scene.supplierIds.length === 1;
  await scene.fault('a', { kind: 'cut', after: eventsBeforeText(scene) + DELIVERED_WORDS });
  if (!isSoleLane) await scene.fault('b', differentStream);
  await expectOnce(report, '', scene, {
    ending: 'error',
    words: DELIVERED_WORDS,
    withinMs: NO_WAIT_MS,
    calls: isSoleLane ? { a: 1 } : { a: 1, b: 1 },
  });
};

/** A good start does not make a lane healthy. */
const leaveLane: PlayScene = async (scene, report) => {
  await scene.fault('a', { kind: 'cut', after: eventsBeforeText(scene) + DELIVERED_WORDS });
  const answers: ObservedResponse[] = [];
  for (let requestIndex = 0; requestIndex < 10; requestIndex += 1) answers.push(await scene.send());
  const completeAnswers = answers.filter(
    ({ ending, text }) => ending === 'whole' && wordsIn(text) === ANSWER_WORDS,
  );
  const failedAnswer = answers.find((answer) => !completeAnswers.includes(answer));
  const { a } = await scene.counts();
  const example = failedAnswer === undefined ? '' : `, others ${observedText(scene, failedAnswer)}`;
  report.add(
    'ten requests',
    'all whole; a5, then it rests',
    `${completeAnswers.length} whole${example}; a${a}`,
    completeAnswers.length === 10 && a === 5,
  );
};

/** A malformed event must not reach the caller, whose parser would fail. */
export const malformedEvent: FailoverDrill = {
  name: '10 one malformed event',
  scenes: {
    ...streamingLayouts(2),
    'chat stream from messages lanes': mixed('chat', true, 'messages-style', 'messages-style'),
    'messages stream from chat lanes': mixed('messages', true, 'openai-style', 'openai-style'),
    'no other lane': layout('chat', true, 1),
    'the first event, chat': layout('chat', true, 2),
    'the first event, messages': layout('messages', true, 2),
    'a page instead, chat whole': layout('chat', false, 2),
    'a page instead, messages stream': layout('messages', true, 2),
    'nothing instead, responses whole': layout('responses', false, 2),
  },
  run: async (context) => {
    await context.inScenes(/^(chat|messages|responses|no other)/, async (scene, report) => {
      await scene.fault('a', { kind: 'malformed-event', after: eventsBeforeText(scene) + 20 });
      await expectOnce(report, '', scene, {
        ending: 'whole or error',
        words: 20,
        withinMs: NO_WAIT_MS,
        calls: { a: 1, b: [0, 1] },
      });
    });
    // Nothing has reached the caller yet, so these are ordinary failures.
    await context.inScenes(/^the first|instead/, async (scene, report) => {
      const after = eventsBeforeText(scene);
      if (scene.name.startsWith('the first')) await scene.fault('a', { kind: 'malformed-event', after });
      else await scene.fault('a', { kind: scene.name.startsWith('a page') ? 'non-json' : 'empty-body' });
      await expectOnce(report, '', scene, {
        ending: 'whole',
        by: 'b',
        failover: true,
        withinMs: NO_WAIT_MS,
        calls: { a: 1, b: 1 },
      });
    });
  },
};

/** Only the last event is missing after the complete text. The caller gets a terminator or an error. */
export const noTerminator: FailoverDrill = {
  name: '11 no [DONE], no message_stop',
  scenes: { ...streamingLayouts(2), ...withoutHelp },
  run: (context) =>
    context.inScenes(/./, async (scene, report) => {
      await scene.fault('a', { kind: 'no-terminator' });
      await expectOnce(report, '', scene, {
        ending: 'whole or error',
        words: ANSWER_WORDS,
        withinMs: NO_WAIT_MS,
        calls: { a: 1, b: [0, 1] },
      });
    }),
};
