import type { Answer } from '../caller';
import { everyWay, layout, mixed, streams } from '../catalogue';
import type { DialectName } from '../dialects';
import type { Drill, Play } from '../drill';
import { expectOnce, seenText, SOON_MS, wordsIn } from '../expectation';
import { type Scene, WORDS } from '../scene';

const DELIVERED = 40;
const ordinary = /^(chat|messages|responses)/;

/** So many events come before the first word. */
export const eventsBeforeText = ({ layout: { asked, lanes } }: Scene): number => {
  const wire: DialectName =
    lanes[0] === 'messages-style' ? 'messages' : asked === 'responses' ? asked : 'chat';
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

/** A stream in the chat dialect that shares no word with what the other lanes say. */
const anotherAnswer = {
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

/** A stream that ends after forty of its sixty words, in four ways; of a whole answer half is missing. */
export const cut: Drill = {
  name: '8 cut after 40 of 60',
  scenes: {
    ...Object.fromEntries(
      breaks.flatMap((kind) =>
        Object.entries(kind === 'cut' ? everyWay(2) : streams(2)).map(([name, way]) => [
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
    await context.inScenes(/^the next/, async (scene, sheet) => {
      await scene.fault('a', { kind: 'cut', after: eventsBeforeText(scene) + 20 });
      await scene.fault('b', { kind: 'cut', after: eventsBeforeText(scene) + DELIVERED });
      await expectOnce(sheet, '', scene, {
        ending: 'whole or error',
        words: DELIVERED,
        withinMs: SOON_MS,
        calls: { a: 1, b: 1, c: [0, 1] },
      });
    });
    await context.inScenes(/^every time/, leaveLane);
  },
};

/** The next lane says the very same words: the caller sees one answer, nothing of it missing or twice. */
const failOver: Play = async (scene, sheet) => {
  const kind = breaks.find((known) => scene.name.endsWith(`, ${known}`)) ?? 'cut';
  const after = scene.layout.stream ? { after: eventsBeforeText(scene) + DELIVERED } : {};
  await scene.fault('a', { kind, ...after });
  await expectOnce(sheet, '', scene, { ending: 'whole', withinMs: SOON_MS, calls: { a: 1, b: 1 } });
};

/** Where no lane can continue the same text, the stream ends with an error after the text that was delivered. */
const reportInStream: Play = async (scene, sheet) => {
  const isAlone = scene.places.length === 1;
  await scene.fault('a', { kind: 'cut', after: eventsBeforeText(scene) + DELIVERED });
  if (!isAlone) await scene.fault('b', anotherAnswer);
  await expectOnce(sheet, '', scene, {
    ending: 'error',
    words: DELIVERED,
    withinMs: SOON_MS,
    calls: isAlone ? { a: 1 } : { a: 1, b: 1 },
  });
};

/** A good beginning does not make a lane healthy. */
const leaveLane: Play = async (scene, sheet) => {
  await scene.fault('a', { kind: 'cut', after: eventsBeforeText(scene) + DELIVERED });
  const answers: Answer[] = [];
  for (let asked = 0; asked < 10; asked += 1) answers.push(await scene.ask());
  const whole = answers.filter(({ ending, text }) => ending === 'whole' && wordsIn(text) === WORDS);
  const lost = answers.find((answer) => !whole.includes(answer));
  const { a } = await scene.counts();
  const example = lost === undefined ? '' : `, others ${seenText(scene, lost)}`;
  sheet.add(
    'ten requests',
    'all whole; a5, then it rests',
    `${whole.length} whole${example}; a${a}`,
    whole.length === 10 && a === 5,
  );
};

/** Half an event among good ones must not reach a caller, whose parser would stumble over it. */
export const malformedEvent: Drill = {
  name: '10 one malformed event',
  scenes: {
    ...streams(2),
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
    await context.inScenes(/^(chat|messages|responses|no other)/, async (scene, sheet) => {
      await scene.fault('a', { kind: 'malformed-event', after: eventsBeforeText(scene) + 20 });
      await expectOnce(sheet, '', scene, {
        ending: 'whole or error',
        words: 20,
        withinMs: SOON_MS,
        calls: { a: 1, b: [0, 1] },
      });
    });
    // Nothing has reached the caller yet: these are failures like any other.
    await context.inScenes(/^the first|instead/, async (scene, sheet) => {
      const after = eventsBeforeText(scene);
      if (scene.name.startsWith('the first')) await scene.fault('a', { kind: 'malformed-event', after });
      else await scene.fault('a', { kind: scene.name.startsWith('a page') ? 'non-json' : 'empty-body' });
      await expectOnce(sheet, '', scene, {
        ending: 'whole',
        by: 'b',
        failover: true,
        withinMs: SOON_MS,
        calls: { a: 1, b: 1 },
      });
    });
  },
};

/** All text arrived and only the last event is missing. The caller gets a last event or an error. */
export const noTerminator: Drill = {
  name: '11 no [DONE], no message_stop',
  scenes: { ...streams(2), ...withoutHelp },
  run: (context) =>
    context.inScenes(/./, async (scene, sheet) => {
      await scene.fault('a', { kind: 'no-terminator' });
      await expectOnce(sheet, '', scene, {
        ending: 'whole or error',
        words: WORDS,
        withinMs: SOON_MS,
        calls: { a: 1, b: [0, 1] },
      });
    }),
};
