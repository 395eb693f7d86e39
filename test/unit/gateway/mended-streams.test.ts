import fc from 'fast-check';
import { StreamRepair } from '../../../src/gateway/relay/stream-repair';
import { StreamEditor } from '../../../src/gateway/relay/stream-editor';
import { type Usage, usageOf } from '../../../src/kernel';
import { type DialectName, dialects, createStreamNormalizer } from '../../../src/protocol';
import { eventsIn, spell, spellings, type WrittenEvent } from '../../support/sse-spellings';
import { transcripts } from '../protocol/transcripts';

const charged = usageOf({ inputTokens: 7, outputTokens: 3 });

/** The stream as its caller gets it, with the usage that is charged by default. */
function pass(dialect: DialectName, pieces: readonly Buffer[], usage: (tap: StreamEditor) => Usage = () => charged) {
  const facts = { requestId: 'r', modelOverride: null, model: 'ours', inputTokens: 9, echo: {}, request: null };
  const mender = createStreamNormalizer(dialect, facts)!;
  const tap: StreamEditor = new StreamEditor({
    dialect: dialects[dialect],
    hidesUsage: false,
    manyAnswers: false,
    keepsFailure: () => false,
    model: null,
    facts: null,
    mending: new StreamRepair(dialect, mender, { usage: () => usage(tap), tellsUsage: true }),
  });
  const passed = pieces.map((piece) => tap.take(piece));
  tap.end();
  return { tap, text: Buffer.concat([...passed, tap.ended ? tap.takeLast() : Buffer.alloc(0)]).toString() };
}

/** Names and values of the events; what the clock says is left out. */
const saidBy = (text: string): WrittenEvent[] =>
  eventsIn(
    text
      .replaceAll('\r\n', '\n')
      .replaceAll('\r', '\n')
      .replace(/^\ufeff/, ''),
  ).map(({ event, data }) => ({
    ...(event === undefined ? {} : { event: event.trim() }),
    data: data.trim() === '[DONE]' ? '[DONE]' : JSON.stringify(sorted(JSON.parse(data))),
  }));

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).filter(([name]) => name !== 'created' && name !== 'created_at');
  return Object.fromEntries(
    members.sort(([one], [other]) => (one < other ? -1 : 1)).map(([name, inner]) => [name, sorted(inner)]),
  );
}

const lacking: Readonly<Record<DialectName, readonly object[]>> = {
  chat: [
    { choices: [{ delta: { content: 'grüß "dich"' } }, { delta: null }] },
    { choices: [{ delta: { tool_calls: [{ id: 'c', function: { name: 'f', arguments: '{}' } }] } }] },
    { id: '', choices: [{ message: { content: '.' }, finish_reason: '' }] },
    { choices: [{ finish_reason: 'stop' }] },
    { choices: [], usage: { prompt_tokens: 1, odd: [1.5] } },
  ],
  messages: [
    { type: 'content_block_start', content_block: { type: 'text' } },
    { type: 'content_block_delta', delta: { type: 'text_delta', text: 'grüß' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
    { type: 'message_stop' },
  ],
  responses: [
    { type: 'response.created', response: {} },
    { type: 'response.output_text.delta', delta: 'grüß' },
    { type: 'response.completed', response: { usage: null } },
  ],
};

const written = (dialect: DialectName): WrittenEvent[] => [
  ...lacking[dialect].map((event) => ({ data: JSON.stringify(event) })),
  ...(dialect === 'chat' ? [{ data: '[DONE]' }] : []),
];

describe.each(['chat', 'messages', 'responses'] as const)('%s', (dialect) => {
  const plain = written(dialect).map(({ data }) => Buffer.from(`data: ${data}\n\n`));
  const expected = saidBy(pass(dialect, plain).text);

  test('what is lacking is found', () => {
    expect(JSON.stringify(expected)).not.toEqual(JSON.stringify(saidBy(plain.join(''))));
    const usage = { chat: 'prompt_tokens', messages: 'input_tokens', responses: 'input_tokens' }[dialect];
    expect(expected.map(({ data }) => data).join('')).toContain(`"${usage}":7`);
  });

  test('it is added in every spelling, wherever the stream is cut', () => {
    fc.assert(
      fc.property(spellings, fc.array(fc.nat({ max: 3_000 }), { maxLength: 8 }), (how, cuts) => {
        const bytes = Buffer.concat(spell(written(dialect), how));
        const ends = [...new Set([...cuts.filter((cut) => cut < bytes.length), bytes.length])];
        const pieces = ends
          .sort((one, other) => one - other)
          .map((end, place, all) => bytes.subarray(all[place - 1] ?? 0, end));
        const { tap, text } = pass(dialect, pieces);
        expect(tap.failure).toBeNull();
        expect(saidBy(text)).toEqual(expected);
      }),
      { numRuns: 300 },
    );
  });
});

/** The usage that a supplier reports is charged. */
const reported = ({ watcher }: StreamEditor): Usage => {
  const { usage } = watcher;
  return usage.kind === 'ok' ? usage.usage : charged;
};

test.each(transcripts.map((one) => [`${one.dialect}/${one.name}`, one] as const))(
  '%s lacks nothing that would be in the way of an SDK',
  (_name, { dialect, bytes }) => {
    const { tap, text } = pass(dialect, [bytes], reported);
    if (!tap.ended) return;
    const came = bytes.toString();
    expect(text).toBe(came.slice(0, text.length));
    // Comments that follow the end go nowhere.
    expect(came.slice(text.length)).toMatch(/^(?::.*\s*)*$/);
  },
);
