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
import { asReceived } from './convert';
import { decode, encode, names, options } from './transcripts';

const textPieces = fc.array(fc.string({ unit: 'binary', minLength: 1, maxLength: 12 }), {
  minLength: 1,
  maxLength: 4,
});
const origin = fc.constantFrom<DialectName>(...names);

type EventStep = (state: { tool: number; open: number[] }) => CanonicalEvent[];

const prose = (kind: 'text' | 'reasoning') =>
  textPieces.map((pieces): EventStep => () => [
    { type: `${kind}-start` },
    ...pieces.map((text): CanonicalEvent => ({ type: `${kind}-delta`, text })),
    { type: `${kind}-end` },
  ]);

const signedReasoning = fc
  .record({ origin, signature: fc.base64String({ minLength: 4 }), redacted: fc.boolean() })
  .map((signature): EventStep => () => [
    { type: 'reasoning-start' },
    { type: 'reasoning-signature', ...signature },
    { type: 'reasoning-end' },
  ]);

const refusal = textPieces.map(
  (pieces): EventStep =>
    () =>
      pieces.map((text) => ({ type: 'refusal', text })),
);

const toolStart = fc.constantFrom('get_weather', 'list-files').map((name): EventStep => (state) => {
  const index = state.tool++;
  state.open.push(index);
  return [{ type: 'tool-start', index, id: `call_${index}`, name }];
});

/** A piece for an open tool, whose arguments are `{"k":"<pieces>"}`. */
const toolPiece = fc.tuple(fc.nat(), fc.stringMatching(/^[a-z ]{1,9}$/)).map(
  ([pick, text]): EventStep =>
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

const toolEnd = fc.nat().map((pick): EventStep => ({ open }) => {
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
    { weight: 1, arbitrary: signedReasoning },
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

/** Completes the objects: the first piece of each tool opens its object, and its end closes it. */
function withCompleteArguments(events: readonly CanonicalEvent[]): CanonicalEvent[] {
  const startedTools = new Set<number>();
  return events.flatMap((event): CanonicalEvent[] => {
    if (event.type === 'tool-arguments-delta' && !startedTools.has(event.index)) {
      startedTools.add(event.index);
      return [{ ...event, text: `{"k":"${event.text}` }];
    }
    if (event.type === 'tool-end' && startedTools.has(event.index)) {
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
    ...withCompleteArguments([...middle, ...ends]),
    { type: 'usage-update', usage: reported },
    { type: 'message-end', finish: { unified: end, raw: null } },
  ];
});

describe.each(names)('Encoder for %s', (target) => {
  const { streamEncoder, encodeAnswer, decodeAnswer } = dialects[target];

  test('writes any sequence by the rules of its dialect, and stream and complete response agree', () => {
    fc.assert(
      fc.property(sequences, (events) => {
        const complete = collect(events);
        if (!complete.ok) throw complete.error;
        const text = encode(streamEncoder(options), events);
        const answer = asReceived(encodeAnswer(complete.value, options).body);
        const { answer: received } = receive[target](text);
        expect(received).toEqual(target === 'chat' ? chatAsReceived(answer) : answer);

        const streamed = collect(decode(target, [Buffer.from(text)]));
        const decoded = collect(decodeAnswer(JSON.parse(JSON.stringify(answer))).events);
        if (!streamed.ok || !decoded.ok) throw new Error('an answer became a failure');
        expect(comparable(streamed.value)).toEqual(comparable(decoded.value));
        const [was, now] = [comparable(complete.value), comparable(decoded.value)];
        expect(now.calls).toEqual(was.calls);
        expect(now.reasoning).toBe(was.reasoning);
        // A refusal is plain text in a dialect without refusals.
        if (target !== 'messages') expect([now.text, now.refusal]).toEqual([was.text, was.refusal]);
      }),
      { numRuns: 200 },
    );
  });

  test('failed stream never ends with a success terminator', () => {
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

test.each(['messages', 'responses'] as const)('%s encoder buffers no more than its limit', (target) => {
  const encoder = dialects[target].streamEncoder({ ...options, maxHeldCharacters: 5000 });
  const text = encode(encoder, toolEvents(100));
  expect(receive[target](text).error).toMatchObject({ code: 'provider_response_too_large' });
  expect(encoder.ended).toBe(true);
  expect(text.length).toBeLessThan(30_000);
});

test('completed call of a chat supplier does not delay the next one', () => {
  const chunk = (delta: object): Buffer =>
    Buffer.from(`data: ${JSON.stringify({ id: 'c', model: 'm', choices: [{ index: 0, delta }] })}\n\n`);
  const encoder = dialects.messages.streamEncoder(options);
  const sentEvents: string[] = [];
  const decoder = dialects.chat.streamDecoder({ emit: (event) => sentEvents.push(encoder.encode(event)) });
  const call = (index: number, id: string | undefined, name: string | undefined, text: string): object => ({
    tool_calls: [{ index, id, function: { name, arguments: text } }],
  });
  decoder.push(chunk(call(0, 'a', 'f', '{"x":{"y":"}"}}')));
  decoder.push(chunk(call(1, 'b', 'g', '')));
  decoder.push(chunk(call(1, undefined, undefined, '{"z')));
  expect(sentEvents.at(-1)).toContain('"index":1');
  expect(sentEvents.at(-1)).toContain('"partial_json":"{\\"z"');
});

test('function standing in for a plain-text tool is unwrapped, and its name restored', () => {
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

test('tool standing in for structured output becomes its text', () => {
  const body = {
    id: 'm',
    model: 'm',
    content: [{ type: 'tool_use', id: 'a', name: 'json_answer', input: { ok: true } }],
    stop_reason: 'tool_use',
    usage: { input_tokens: 1, output_tokens: 1 },
  };
  const complete = collect(dialects.messages.decodeAnswer(body, { textTool: 'json_answer' }).events);
  expect(complete).toMatchObject({
    ok: true,
    value: { blocks: [{ type: 'text', text: '{"ok":true}' }], finish: { unified: 'stop', raw: 'tool_use' } },
  });
});

test('Messages stream reports input tokens at the start and the final totals at the end', () => {
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

test.each([true, false])('Chat Completions usage chunk is sent on request only (%s)', (includeUsage) => {
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
