import fc from 'fast-check';
import { estimateTokens } from '../../../src/gateway/count-tokens/estimate-tokens';

type EstimatedBlock = Readonly<Record<string, unknown>>;

const requestWith = (content: unknown): Record<string, unknown> => ({
  messages: [{ role: 'user', content }],
});
const estimateText = (text: string): number => estimateTokens(requestWith(text));
const emptyEstimate = estimateText('');

const anyText = fc.string({ unit: 'binary', maxLength: 200 });
const anyBlock: fc.Arbitrary<EstimatedBlock> = fc.oneof(
  anyText.map((text) => ({ type: 'text', text })),
  anyText.map((thinking) => ({ type: 'thinking', thinking, signature: 's' })),
  fc.record({ type: fc.constant('tool_use'), id: fc.constant('t'), name: anyText, input: fc.object() }),
  fc.record({ type: fc.constant('tool_result'), tool_use_id: fc.constant('t'), content: anyText }),
  fc.constant({ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }),
  anyText.map((data) => ({ type: 'document', source: { type: 'text', media_type: 'text/plain', data } })),
  fc.object(),
);

/** Returns the CPU time of the fastest of three runs, independent of other work on the machine. */
function quickestMs(work: () => void): number {
  const runs = [0, 1, 2].map(() => {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  });
  return Math.min(...runs);
}

// Times are measured on a shared machine: genuinely slow code is slow on every attempt.
jest.retryTimes(3);

describe('Token estimate', () => {
  // Counted with a widely used tokenizer; others yield up to a third more.
  test.each([
    ['English', 'The quick brown fox jumps over the lazy dog, and nobody in the village minds at all.', 19],
    ['German', 'Der Schlüssel gehört zu einem Projekt und hat ein eigenes monatliches Budget.', 14],
    ['code', 'for (const lane of lanes) if (lane.region === region) return lane.provider.name;', 19],
    ['JSON', '{"id":17,"name":"first","tags":["a","b"],"open":true}', 20],
    ['Chinese', '每个密钥都有自己的预算、地区和速率限制。', 14],
    ['Russian', 'У каждого ключа есть бюджет, регион и предел скорости.', 12],
  ])('is close to the actual count for %s, and rather above it', (_language, text, counted) => {
    const estimated = estimateText(text) - emptyEstimate;
    expect(estimated).toBeGreaterThanOrEqual(counted * 0.8);
    expect(estimated).toBeLessThanOrEqual(counted * 1.8);
  });

  test('is within its bounds for any text', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const estimated = estimateText(text);
        expect(estimated).toBeGreaterThanOrEqual(emptyEstimate + Math.floor(text.length * 0.05));
        expect(estimated).toBeLessThanOrEqual(emptyEstimate + Math.ceil(text.length * 1.1));
      }),
    );
  });

  test('never decreases when text is inserted anywhere', () => {
    fc.assert(
      fc.property(anyText, anyText, fc.nat(), (text, added, at) => {
        const position = at % (text.length + 1);
        expect(estimateText(text.slice(0, position) + added + text.slice(position))).toBeGreaterThanOrEqual(
          estimateText(text),
        );
      }),
    );
  });

  test('never decreases when a block, a message or a tool is added', () => {
    fc.assert(
      fc.property(fc.array(anyBlock, { maxLength: 5 }), anyBlock, fc.nat(), (blocks, added, at) => {
        const moreBlocks = blocks.toSpliced(at % (blocks.length + 1), 0, added);
        const before = estimateTokens(requestWith(blocks));
        expect(estimateTokens(requestWith(moreBlocks))).toBeGreaterThan(before);
        const messages = [{ role: 'user', content: blocks }];
        expect(
          estimateTokens({ messages: [...messages, { role: 'user', content: [added] }] }),
        ).toBeGreaterThan(before);
        expect(estimateTokens({ messages, tools: [added] })).toBeGreaterThanOrEqual(before);
        expect(estimateTokens({ messages, system: [added] })).toBeGreaterThan(before);
      }),
    );
  });

  test('counts everything that reaches the model', () => {
    const text = 'Some words to be counted here.';
    const textEstimate = estimateText(text) - emptyEstimate;
    const base = { messages: [{ role: 'user', content: 'x' }] };
    const tool = { name: 'look', description: text, input_schema: { type: 'object' } };
    const nested = { type: 'tool_result', content: [{ type: 'text', text }] };
    for (const extendedRequest of [
      { ...base, system: text },
      { ...base, system: [{ type: 'text', text }] },
      { ...base, tools: [tool] },
      { messages: [...base.messages, { role: 'user', content: [nested] }] },
      {
        messages: [
          ...base.messages,
          { role: 'assistant', content: [{ type: 'tool_use', name: 'look', input: { text } }] },
        ],
      },
    ]) {
      expect(estimateTokens(extendedRequest)).toBeGreaterThanOrEqual(estimateTokens(base) + textEstimate);
    }
  });

  test('counts an image as an image and a document by its size, not by its characters', () => {
    const imageEstimate = (length: number): number =>
      estimateTokens(requestWith([{ type: 'image', source: { type: 'base64', data: 'A'.repeat(length) } }]));
    expect(imageEstimate(4)).toBe(imageEstimate(4_000_000));
    expect(imageEstimate(4)).toBeGreaterThan(1_500);
    const documentEstimate = (length: number): number =>
      estimateTokens(
        requestWith([{ type: 'document', source: { type: 'base64', data: 'A'.repeat(length) } }]),
      );
    expect(documentEstimate(4)).toBeGreaterThan(2_500);
    expect(documentEstimate(4_000_000)).toBeGreaterThan(100_000);
    expect(documentEstimate(4_000_000)).toBeLessThan(200_000);
  });

  test('accepts malformed content', () => {
    for (const body of [
      {},
      { messages: 'x' },
      { messages: [null, 1, 'x', []] },
      requestWith(null),
      requestWith([[[]]]),
    ]) {
      expect(Number.isSafeInteger(estimateTokens(body))).toBe(true);
    }
  });

  const nestedResult = (depth: number): unknown => {
    let value: unknown = 'x';
    for (let level = 0; level < depth; level += 1) value = { type: 'tool_result', content: [value] };
    return value;
  };
  const nestedInput = (depth: number): unknown => {
    let value: unknown = 'x';
    for (let level = 0; level < depth; level += 1) value = level % 2 ? [value] : { a: value };
    return value;
  };

  test.each([
    ['4 MB of one letter', requestWith('a'.repeat(4_000_000))],
    ['4 MB of surrogates', requestWith('\ud83d'.repeat(4_000_000))],
    ['4 MB in a tool', { messages: [], tools: [{ name: 'x', description: ' '.repeat(4_000_000) }] }],
    ['100,000 blocks', requestWith(Array.from({ length: 100_000 }, () => ({ type: 'text', text: 'x' })))],
    ['100,000 levels of results', requestWith([nestedResult(100_000)])],
    ['100,000 levels of input', requestWith([{ type: 'tool_use', name: 'x', input: nestedInput(100_000) }])],
    ['500,000 numbers', requestWith([{ type: 'odd', list: Array.from({ length: 500_000 }, (_, at) => at) }])],
  ])('estimate of %s takes less than 100 ms', (_what, body) => {
    expect(quickestMs(() => estimateTokens(body))).toBeLessThan(100);
  });
});
