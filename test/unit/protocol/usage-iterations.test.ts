import { normaliseMessagesUsage } from '../../../src/protocol';

const readUsage = (raw: object) => {
  const reading = normaliseMessagesUsage(raw);
  if (reading.kind !== 'ok') throw new Error(reading.kind);
  return reading.usage;
};
const message = { type: 'message', input_tokens: 100, output_tokens: 10 };

describe('Usage iterations', () => {
  test('iterations that add up to the total are that total, and separate parts are added to it', () => {
    const separatePart = { type: 'compaction', input_tokens: 900, output_tokens: 90 };
    const usage = readUsage({
      input_tokens: 200,
      output_tokens: 20,
      iterations: [message, separatePart, message],
    });
    expect(usage).toMatchObject({ inputTokens: 200, outputTokens: 20 });
    expect(usage.parts).toEqual([{ kind: 'compaction', model: null, inputTokens: 900, outputTokens: 90 }]);
    expect(usage.doubt).toBeUndefined();
  });

  test.each([
    [150, 15, 200],
    [300, 30, 300],
  ])(
    'iterations that disagree with %i and %i are charged at the larger of the two and reported',
    (input, output, charged) => {
      const usage = readUsage({ input_tokens: input, output_tokens: output, iterations: [message, message] });
      expect(usage.inputTokens).toBe(charged);
      expect(usage.doubt).toContain('iterations');
    },
  );

  test('iterations of an unknown kind are charged in addition to the response', () => {
    const usage = readUsage({
      input_tokens: 100,
      output_tokens: 10,
      iterations: [message, { ...message, type: 'new' }],
    });
    expect(usage.parts).toEqual([{ kind: 'new', model: null, inputTokens: 100, outputTokens: 10 }]);
  });

  test.each([[{ input_tokens: -1 }], [{ output_tokens: 'many' }], [{ cache_read_input_tokens: 1.5 }]])(
    'iterations with %j never lower the total and are reported',
    (wrong) => {
      const iterations = [{ ...message, ...wrong }];
      const usage = readUsage({ input_tokens: 100, output_tokens: 10, iterations });
      expect(usage).toMatchObject({ inputTokens: 100, outputTokens: 10 });
      expect(usage.ignored).toEqual([`iterations.${Object.keys(wrong)[0]}`]);
    },
  );
});
