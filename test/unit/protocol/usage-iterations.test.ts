import { normaliseMessagesUsage } from '../../../src/protocol';

const read = (raw: object) => {
  const reading = normaliseMessagesUsage(raw);
  if (reading.kind !== 'ok') throw new Error(reading.kind);
  return reading.usage;
};
const message = { type: 'message', input_tokens: 100, output_tokens: 10 };

describe('iterations of an answer', () => {
  test('that add up to the whole are the whole, and what stands beside them is beside it', () => {
    const beside = { type: 'compaction', input_tokens: 900, output_tokens: 90 };
    const usage = read({ input_tokens: 200, output_tokens: 20, iterations: [message, beside, message] });
    expect(usage).toMatchObject({ inputTokens: 200, outputTokens: 20 });
    expect(usage.parts).toEqual([{ kind: 'compaction', model: null, inputTokens: 900, outputTokens: 90 }]);
    expect(usage.doubt).toBeUndefined();
  });

  test.each([
    [150, 15, 200],
    [300, 30, 300],
  ])(
    'that say otherwise than %i and %i cost the larger of the two, and are told',
    (input, output, charged) => {
      const usage = read({ input_tokens: input, output_tokens: output, iterations: [message, message] });
      expect(usage.inputTokens).toBe(charged);
      expect(usage.doubt).toContain('iterations');
    },
  );

  test('of a kind that nobody knows are charged beside the answer', () => {
    const usage = read({
      input_tokens: 100,
      output_tokens: 10,
      iterations: [message, { ...message, type: 'new' }],
    });
    expect(usage.parts).toEqual([{ kind: 'new', model: null, inputTokens: 100, outputTokens: 10 }]);
  });

  test.each([[{ input_tokens: -1 }], [{ output_tokens: 'many' }], [{ cache_read_input_tokens: 1.5 }]])(
    'with %j take nothing away from the whole, and are told',
    (wrong) => {
      const iterations = [{ ...message, ...wrong }];
      const usage = read({ input_tokens: 100, output_tokens: 10, iterations });
      expect(usage).toMatchObject({ inputTokens: 100, outputTokens: 10 });
      expect(usage.ignored).toEqual([`iterations.${Object.keys(wrong)[0]}`]);
    },
  );
});
