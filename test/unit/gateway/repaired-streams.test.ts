import fc from 'fast-check';
import { StreamRepair } from '../../../src/gateway/relay/stream-repair';
import { StreamEditor } from '../../../src/gateway/relay/stream-editor';
import { type Usage, usageOf } from '../../../src/kernel';
import { type DialectName, dialects, createStreamNormalizer } from '../../../src/protocol';
import { parseEvents, spell, spellings, type WrittenEvent } from '../../support/sse-spellings';
import { transcripts } from '../protocol/transcripts';

const chargedUsage = usageOf({ inputTokens: 7, outputTokens: 3 });

/** Returns the stream as its client receives it, with the default charged usage. */
function passThrough(
  dialect: DialectName,
  pieces: readonly Buffer[],
  usage: (tap: StreamEditor) => Usage = () => chargedUsage,
) {
  const streamContext = {
    requestId: 'r',
    modelOverride: null,
    model: 'ours',
    inputTokens: 9,
    echo: {},
    request: null,
  };
  const repairer = createStreamNormalizer(dialect, streamContext)!;
  const tap: StreamEditor = new StreamEditor({
    dialect: dialects[dialect],
    hidesUsage: false,
    manyAnswers: false,
    keepsFailure: () => false,
    model: null,
    facts: null,
    mending: new StreamRepair(dialect, repairer, { usage: () => usage(tap), tellsUsage: true }),
  });
  const outputs = pieces.map((piece) => tap.take(piece));
  tap.end();
  return { tap, text: Buffer.concat([...outputs, tap.ended ? tap.takeLast() : Buffer.alloc(0)]).toString() };
}

/** Returns names and values of the events without timestamps. */
const describeEvents = (text: string): WrittenEvent[] =>
  parseEvents(
    text
      .replaceAll('\r\n', '\n')
      .replaceAll('\r', '\n')
      .replace(/^\ufeff/, ''),
  ).map(({ event, data }) => ({
    ...(event === undefined ? {} : { event: event.trim() }),
    data: data.trim() === '[DONE]' ? '[DONE]' : JSON.stringify(sortKeys(JSON.parse(data))),
  }));

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).filter(([name]) => name !== 'created' && name !== 'created_at');
  return Object.fromEntries(
    members.sort(([one], [other]) => (one < other ? -1 : 1)).map(([name, inner]) => [name, sortKeys(inner)]),
  );
}

const incompleteEvents: Readonly<Record<DialectName, readonly object[]>> = {
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

const writtenEvents = (dialect: DialectName): WrittenEvent[] => [
  ...incompleteEvents[dialect].map((event) => ({ data: JSON.stringify(event) })),
  ...(dialect === 'chat' ? [{ data: '[DONE]' }] : []),
];

describe.each(['chat', 'messages', 'responses'] as const)('%s', (dialect) => {
  const plainEvents = writtenEvents(dialect).map(({ data }) => Buffer.from(`data: ${data}\n\n`));
  const expected = describeEvents(passThrough(dialect, plainEvents).text);

  test('missing fields are added', () => {
    expect(JSON.stringify(expected)).not.toEqual(JSON.stringify(describeEvents(plainEvents.join(''))));
    const usage = { chat: 'prompt_tokens', messages: 'input_tokens', responses: 'input_tokens' }[dialect];
    expect(expected.map(({ data }) => data).join('')).toContain(`"${usage}":7`);
  });

  test('missing fields are added in every spelling and for any cut of the stream', () => {
    fc.assert(
      fc.property(spellings, fc.array(fc.nat({ max: 3_000 }), { maxLength: 8 }), (how, cuts) => {
        const bytes = Buffer.concat(spell(writtenEvents(dialect), how));
        const ends = [...new Set([...cuts.filter((cut) => cut < bytes.length), bytes.length])];
        const pieces = ends
          .sort((one, other) => one - other)
          .map((end, place, all) => bytes.subarray(all[place - 1] ?? 0, end));
        const { tap, text } = passThrough(dialect, pieces);
        expect(tap.failure).toBeNull();
        expect(describeEvents(text)).toEqual(expected);
      }),
      { numRuns: 300 },
    );
  });
});

/** Returns the usage that the supplier reports, which is charged. */
const reportedUsage = ({ watcher }: StreamEditor): Usage => {
  const { usage } = watcher;
  return usage.kind === 'ok' ? usage.usage : chargedUsage;
};

test.each(transcripts.map((one) => [`${one.dialect}/${one.name}`, one] as const))(
  'recorded stream %s is passed unchanged',
  (_name, { dialect, bytes }) => {
    const { tap, text } = passThrough(dialect, [bytes], reportedUsage);
    if (!tap.ended) return;
    const original = bytes.toString();
    expect(text).toBe(original.slice(0, text.length));
    // Comments after the end are dropped.
    expect(original.slice(text.length)).toMatch(/^(?::.*\s*)*$/);
  },
);
