import fc from 'fast-check';
import { estimateTokens } from '../../../src/gateway/count-tokens/estimate-tokens';

type Block = Readonly<Record<string, unknown>>;

const asking = (content: unknown): Record<string, unknown> => ({ messages: [{ role: 'user', content }] });
const ofText = (text: string): number => estimateTokens(asking(text));
const empty = ofText('');

const anyText = fc.string({ unit: 'binary', maxLength: 200 });
const anyBlock: fc.Arbitrary<Block> = fc.oneof(
  anyText.map((text) => ({ type: 'text', text })),
  anyText.map((thinking) => ({ type: 'thinking', thinking, signature: 's' })),
  fc.record({ type: fc.constant('tool_use'), id: fc.constant('t'), name: anyText, input: fc.object() }),
  fc.record({ type: fc.constant('tool_result'), tool_use_id: fc.constant('t'), content: anyText }),
  fc.constant({ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }),
  anyText.map((data) => ({ type: 'document', source: { type: 'text', media_type: 'text/plain', data } })),
  fc.object(),
);

/** The processor time of the quickest of three runs: other work on the machine does not count. */
function quickestMs(work: () => void): number {
  const runs = [0, 1, 2].map(() => {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  });
  return Math.min(...runs);
}

// Times are measured on a machine that others use too: what really is slow is slow every time.
jest.retryTimes(3);

describe('an estimate of tokens', () => {
  // Counted by a tokenizer in wide use; others find up to a third more.
  test.each([
    ['English', 'The quick brown fox jumps over the lazy dog, and nobody in the village minds at all.', 19],
    ['German', 'Der Schlüssel gehört zu einem Projekt und hat ein eigenes monatliches Budget.', 14],
    ['code', 'for (const lane of lanes) if (lane.region === region) return lane.provider.name;', 19],
    ['JSON', '{"id":17,"name":"first","tags":["a","b"],"open":true}', 20],
    ['Chinese', '每个密钥都有自己的预算、地区和速率限制。', 14],
    ['Russian', 'У каждого ключа есть бюджет, регион и предел скорости.', 12],
  ])('is near the truth for %s, and rather above it', (_language, text, counted) => {
    const estimated = ofText(text) - empty;
    expect(estimated).toBeGreaterThanOrEqual(counted * 0.8);
    expect(estimated).toBeLessThanOrEqual(counted * 1.8);
  });

  test('lies between bounds for any text', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const estimated = ofText(text);
        expect(estimated).toBeGreaterThanOrEqual(empty + Math.floor(text.length * 0.05));
        expect(estimated).toBeLessThanOrEqual(empty + Math.ceil(text.length * 1.1));
      }),
    );
  });

  test('never falls when text is added, wherever that is', () => {
    fc.assert(
      fc.property(anyText, anyText, fc.nat(), (text, added, at) => {
        const place = at % (text.length + 1);
        expect(ofText(text.slice(0, place) + added + text.slice(place))).toBeGreaterThanOrEqual(ofText(text));
      }),
    );
  });

  test('never falls when a block, a message or a tool is added', () => {
    fc.assert(
      fc.property(fc.array(anyBlock, { maxLength: 5 }), anyBlock, fc.nat(), (blocks, added, at) => {
        const more = blocks.toSpliced(at % (blocks.length + 1), 0, added);
        const before = estimateTokens(asking(blocks));
        expect(estimateTokens(asking(more))).toBeGreaterThan(before);
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
    const words = ofText(text) - empty;
    const base = { messages: [{ role: 'user', content: 'x' }] };
    const tool = { name: 'look', description: text, input_schema: { type: 'object' } };
    const nested = { type: 'tool_result', content: [{ type: 'text', text }] };
    for (const more of [
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
      expect(estimateTokens(more)).toBeGreaterThanOrEqual(estimateTokens(base) + words);
    }
  });

  test('weighs an image as an image and a document by its size, not by its letters', () => {
    const image = (length: number): number =>
      estimateTokens(asking([{ type: 'image', source: { type: 'base64', data: 'A'.repeat(length) } }]));
    expect(image(4)).toBe(image(4_000_000));
    expect(image(4)).toBeGreaterThan(1_500);
    const document = (length: number): number =>
      estimateTokens(asking([{ type: 'document', source: { type: 'base64', data: 'A'.repeat(length) } }]));
    expect(document(4)).toBeGreaterThan(2_500);
    expect(document(4_000_000)).toBeGreaterThan(100_000);
    expect(document(4_000_000)).toBeLessThan(200_000);
  });

  test('takes whatever stands there for what it is', () => {
    for (const body of [
      {},
      { messages: 'x' },
      { messages: [null, 1, 'x', []] },
      asking(null),
      asking([[[]]]),
    ]) {
      expect(Number.isSafeInteger(estimateTokens(body))).toBe(true);
    }
  });

  const deep = (depth: number): unknown => {
    let value: unknown = 'x';
    for (let level = 0; level < depth; level += 1) value = { type: 'tool_result', content: [value] };
    return value;
  };
  const deepInput = (depth: number): unknown => {
    let value: unknown = 'x';
    for (let level = 0; level < depth; level += 1) value = level % 2 ? [value] : { a: value };
    return value;
  };

  test.each([
    ['4 MB of one letter', asking('a'.repeat(4_000_000))],
    ['4 MB of surrogates', asking('\ud83d'.repeat(4_000_000))],
    ['4 MB in a tool', { messages: [], tools: [{ name: 'x', description: ' '.repeat(4_000_000) }] }],
    ['100,000 blocks', asking(Array.from({ length: 100_000 }, () => ({ type: 'text', text: 'x' })))],
    ['100,000 levels of results', asking([deep(100_000)])],
    ['100,000 levels of input', asking([{ type: 'tool_use', name: 'x', input: deepInput(100_000) }])],
    ['500,000 numbers', asking([{ type: 'odd', list: Array.from({ length: 500_000 }, (_, at) => at) }])],
  ])('of %s is there within 100 ms', (_what, body) => {
    expect(quickestMs(() => estimateTokens(body))).toBeLessThan(100);
  });
});
