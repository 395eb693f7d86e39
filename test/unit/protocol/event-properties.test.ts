import fc from 'fast-check';
import { fault, type Usage, usageOf } from '../../../src/kernel';
import {
  type CanonicalEvent,
  collect,
  type DialectName,
  dialects,
  ToolNames,
  type UnifiedFinish,
} from '../../../src/protocol';
import { chatAsReceived, comparable } from './compare';
import { receive } from './conformance';
import { sent } from './convert';
import { decode, encode, names, options } from './transcripts';

const words = fc.array(fc.string({ unit: 'binary', minLength: 1, maxLength: 12 }), {
  minLength: 1,
  maxLength: 4,
});
const origin = fc.constantFrom<DialectName>(...names);

type Step = (state: { tool: number; open: number[] }) => CanonicalEvent[];

const prose = (kind: 'text' | 'reasoning') =>
  words.map((pieces): Step => () => [
    { type: `${kind}-start` },
    ...pieces.map((text): CanonicalEvent => ({ type: `${kind}-delta`, text })),
    { type: `${kind}-end` },
  ]);

const signed = fc
  .record({ origin, signature: fc.base64String({ minLength: 4 }), redacted: fc.boolean() })
  .map((signature): Step => () => [
    { type: 'reasoning-start' },
    { type: 'reasoning-signature', ...signature },
    { type: 'reasoning-end' },
  ]);

const refusal = words.map(
  (pieces): Step =>
    () =>
      pieces.map((text) => ({ type: 'refusal', text })),
);

const toolStart = fc.constantFrom('get_weather', 'list-files').map((name): Step => (state) => {
  const index = state.tool++;
  state.open.push(index);
  return [{ type: 'tool-start', index, id: `call_${index}`, name }];
});

/** A piece for one of the open tools; its arguments are `{"k":"<pieces>"}`. */
const toolPiece = fc.tuple(fc.nat(), fc.stringMatching(/^[a-z ]{1,9}$/)).map(
  ([pick, text]): Step =>
    ({ open }) =>
      open.length === 0
        ? []
        : [
            {
              type: 'tool-arguments-delta',
              index: open[pick % open.length]!,
              text: JSON.stringify(text).slice(1, -1),
            },
          ],
);

const toolEnd = fc.nat().map((pick): Step => ({ open }) => {
  if (open.length === 0) return [];
  const [index] = open.splice(pick % open.length, 1);
  return [{ type: 'tool-end', index: index! }];
});

const usage = fc.record({
  inputTokens: fc.integer({ min: 1, max: 9e4 }),
  cacheReadTokens: fc.nat(9e4),
  outputTokens: fc.integer({ min: 1, max: 9e4 }),
});

const steps = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: prose('text') },
    { weight: 2, arbitrary: prose('reasoning') },
    { weight: 1, arbitrary: signed },
    { weight: 1, arbitrary: refusal },
    { weight: 3, arbitrary: toolStart },
    { weight: 4, arbitrary: toolPiece },
    { weight: 2, arbitrary: toolEnd },
  ),
  { maxLength: 14 },
);
const finish = fc.constantFrom<UnifiedFinish>(
  'stop',
  'stop-sequence',
  'length',
  'content-filter',
  'pause',
  'unknown',
);

/** Whole objects: each tool's first piece opens its object, and its end closes it. */
function framed(events: readonly CanonicalEvent[]): CanonicalEvent[] {
  const begun = new Set<number>();
  return events.flatMap((event): CanonicalEvent[] => {
    if (event.type === 'tool-arguments-delta' && !begun.has(event.index)) {
      begun.add(event.index);
      return [{ ...event, text: `{"k":"${event.text}` }];
    }
    if (event.type === 'tool-end' && begun.has(event.index)) {
      return [{ type: 'tool-arguments-delta', index: event.index, text: '"}' }, event];
    }
    return [event];
  });
}

const sequences = fc.tuple(steps, usage, finish).map(([list, counts, unified]): CanonicalEvent[] => {
  const state = { tool: 0, open: [] as number[] };
  const middle = list.flatMap((step) => step(state));
  const ends = state.open.map((index): CanonicalEvent => ({ type: 'tool-end', index }));
  const end = state.tool > 0 && unified === 'stop' ? 'tool-calls' : unified;
  const reported: Usage = usageOf(counts);
  return [
    { type: 'message-start', id: 'x', model: 'm' },
    ...framed([...middle, ...ends]),
    { type: 'usage-update', usage: reported },
    { type: 'message-end', finish: { unified: end, raw: null } },
  ];
});

describe.each(names)('%s', (target) => {
  const { streamEncoder, encodeAnswer, decodeAnswer } = dialects[target];

  test('writes any sequence by its rules, and the stream says what the whole answer says', () => {
    fc.assert(
      fc.property(sequences, (events) => {
        const whole = collect(events);
        if (!whole.ok) throw whole.error;
        const text = encode(streamEncoder(options), events);
        const answer = sent(encodeAnswer(whole.value, options).body);
        const { answer: received } = receive[target](text);
        expect(received).toEqual(target === 'chat' ? chatAsReceived(answer) : answer);

        const streamed = collect(decode(target, [Buffer.from(text)]));
        const read = collect(decodeAnswer(JSON.parse(JSON.stringify(answer))).events);
        if (!streamed.ok || !read.ok) throw new Error('an answer became a failure');
        expect(comparable(streamed.value)).toEqual(comparable(read.value));
        const [was, now] = [comparable(whole.value), comparable(read.value)];
        expect(now.calls).toEqual(was.calls);
        expect(now.reasoning).toBe(was.reasoning);
        // A refusal is plain words where there is no other way to say no.
        if (target !== 'messages') expect([now.text, now.refusal]).toEqual([was.text, was.refusal]);
      }),
      { numRuns: 200 },
    );
  });

  test('a stream that fails has no success terminator, wherever it fails', () => {
    fc.assert(
      fc.property(sequences, fc.nat(), (events, at) => {
        const cut = 1 + (at % (events.length - 1));
        const failing: CanonicalEvent[] = [
          ...events.slice(0, cut),
          { type: 'fault', fault: fault('stream_interrupted') },
          ...events.slice(cut),
        ];
        const text = encode(streamEncoder(options), failing);
        expect(receive[target](text).error).toMatchObject({ code: 'stream_interrupted' });
        expect(text).not.toMatch(/\[DONE\]|message_stop|response\.(completed|incomplete)"/);
        expect(collect(decode(target, [Buffer.from(text)])).ok).toBe(false);
      }),
      { numRuns: 100 },
    );
  });
});

const toolEvents = (pieces: number): CanonicalEvent[] => [
  { type: 'message-start', id: 'x', model: 'm' },
  { type: 'tool-start', index: 0, id: 'a', name: 'f' },
  { type: 'tool-start', index: 1, id: 'b', name: 'g' },
  ...Array.from({ length: pieces }, (): CanonicalEvent => ({
    type: 'tool-arguments-delta',
    index: 1,
    text: 'x'.repeat(100),
  })),
];

test.each(['messages', 'responses'] as const)('%s holds no more than it is allowed to', (target) => {
  const encoder = dialects[target].streamEncoder({ ...options, maxHeldCharacters: 5000 });
  const text = encode(encoder, toolEvents(100));
  expect(receive[target](text).error).toMatchObject({ code: 'provider_response_too_large' });
  expect(encoder.ended).toBe(true);
  expect(text.length).toBeLessThan(30_000);
});

test('a finished call of a chat supplier does not hold up the next one', () => {
  const chunk = (delta: object): Buffer =>
    Buffer.from(`data: ${JSON.stringify({ id: 'c', model: 'm', choices: [{ index: 0, delta }] })}\n\n`);
  const encoder = dialects.messages.streamEncoder(options);
  const sent: string[] = [];
  const decoder = dialects.chat.streamDecoder({ emit: (event) => sent.push(encoder.encode(event)) });
  const call = (index: number, id: string | undefined, name: string | undefined, text: string): object => ({
    tool_calls: [{ index, id, function: { name, arguments: text } }],
  });
  decoder.push(chunk(call(0, 'a', 'f', '{"x":{"y":"}"}}')));
  decoder.push(chunk(call(1, 'b', 'g', '')));
  decoder.push(chunk(call(1, undefined, undefined, '{"z')));
  expect(sent.at(-1)).toContain('"index":1');
  expect(sent.at(-1)).toContain('"partial_json":"{\\"z"');
});

test('a function that stands for a tool with plain text is unwrapped, and a name is given back', () => {
  const tools = new ToolNames(64, [
    { kind: 'custom', name: 'apply_patch', at: 'tools.0' },
    { kind: 'function', name: 'read', namespace: { name: 'files' }, at: 'tools.1' },
  ]);
  const message = {
    tool_calls: [
      { id: 'a', type: 'function', function: { name: 'apply_patch', arguments: '{"input":"*** Begin"}' } },
      { id: 'b', type: 'function', function: { name: 'files__read', arguments: '{"path":"x"}' } },
    ],
  };
  const { events } = dialects.chat.decodeAnswer({ id: 'c', model: 'm', choices: [{ message }] }, { tools });
  const encoder = dialects.responses.streamEncoder(options);
  const { answer } = receive.responses(encode(encoder, events));
  expect(answer!.output).toMatchObject([
    { type: 'custom_tool_call', call_id: 'a', name: 'apply_patch', input: '*** Begin' },
    { type: 'function_call', call_id: 'b', name: 'read', namespace: 'files', arguments: '{"path":"x"}' },
  ]);
});

test('a tool that stands for a structured answer becomes its text', () => {
  const body = {
    id: 'm',
    model: 'm',
    content: [{ type: 'tool_use', id: 'a', name: 'json_answer', input: { ok: true } }],
    stop_reason: 'tool_use',
    usage: { input_tokens: 1, output_tokens: 1 },
  };
  const whole = collect(dialects.messages.decodeAnswer(body, { textTool: 'json_answer' }).events);
  expect(whole).toMatchObject({
    ok: true,
    value: { blocks: [{ type: 'text', text: '{"ok":true}' }], finish: { unified: 'stop', raw: 'tool_use' } },
  });
});

test('the messages stream shows input tokens from the start and the real totals at the end', () => {
  const events = decode('chat', [
    Buffer.from(
      'data: {"id":"c","model":"m","choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\n',
    ),
    Buffer.from(
      'data: {"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":3,"total_tokens":103,"prompt_tokens_details":{"cached_tokens":40}}}\n\ndata: [DONE]\n\n',
    ),
  ]);
  const text = encode(dialects.messages.streamEncoder({ ...options, inputTokens: 77 }), events);
  expect(text).toContain('"usage":{"input_tokens":77,"output_tokens":0}');
  expect(receive.messages(text).answer!.usage).toMatchObject({
    input_tokens: 60,
    cache_read_input_tokens: 40,
    output_tokens: 3,
  });
});

test.each([true, false])('the usage chunk of chat comes when asked for (%s)', (includeUsage) => {
  const events = decode('messages', [
    Buffer.from(
      encode(dialects.messages.streamEncoder(options), [
        { type: 'message-start', id: 'x', model: 'm' },
        { type: 'usage-update', usage: usageOf({ inputTokens: 3, outputTokens: 4 }) },
        { type: 'message-end', finish: { unified: 'stop', raw: null } },
      ]),
    ),
  ]);
  const encoder = dialects.chat.streamEncoder({ ...options, includeUsage, facts: () => ({ cost: '0.1' }) });
  const text = encode(encoder, events);
  expect(text.includes('"usage"')).toBe(includeUsage);
  expect(text.includes('"svc":{"cost":"0.1"}')).toBe(includeUsage);
  expect(receive.chat(text).answer!.usage !== undefined).toBe(includeUsage);
});
