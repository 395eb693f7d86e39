import fc from 'fast-check';
import { limitMessages, limitParts } from '../../../src/gateway/trace/content-limit';

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 400 }),
  fc.constantFrom('"'.repeat(300), '\u0000'.repeat(300), '🙂'.repeat(200), '\ud83d'),
);
const part = fc.record({
  type: fc.constantFrom('text', 'tool_call'),
  content: text,
  arguments: fc.jsonValue(),
});
const messages = fc.array(
  fc.record({ role: fc.constantFrom('user', 'assistant'), parts: fc.array(part, { maxLength: 4 }) }),
  { maxLength: 6 },
);

test('output is JSON within its limit, and complete unless marked as truncated', () => {
  fc.assert(
    fc.property(
      messages,
      fc.integer({ min: 64, max: 4_096 }),
      fc.constantFrom('first', 'last'),
      (conversation, maxBytes, keptEnd) => {
        const { json, isCut } = limitMessages(conversation, maxBytes, keptEnd);
        expect(Buffer.byteLength(json)).toBeLessThanOrEqual(maxBytes);
        const parsed = JSON.parse(json) as unknown[];
        expect(parsed.length).toBeLessThanOrEqual(conversation.length);
        if (!isCut) expect(parsed).toHaveLength(conversation.length);
        expect(json.isWellFormed()).toBe(true);
      },
    ),
  );
});

test('oversized content besides text is omitted before it is serialised', () => {
  let writtenCount = 0;
  const endlessValue = {
    type: 'tool_call',
    arguments: Array.from({ length: 1_000 }, () => ({ toJSON: () => ++writtenCount })),
  };
  expect(limitParts([{ type: 'text', content: 'kept' }, endlessValue], 300)).toEqual({
    json: '[{"type":"text","content":"kept"}]',
    isCut: true,
  });
  expect(writtenCount).toBeLessThan(1_000 * 20);
});

test('truncation keeps the end of a conversation and the beginning of a message', () => {
  const userMessage = (content: string) => ({ role: 'user', parts: [{ type: 'text', content }] });
  const longText = 'x'.repeat(200);
  expect(limitMessages([userMessage(longText), userMessage('last')], 150, 'last').json).toMatch(
    /^\[\{"role":"user","parts":\[\{"type":"text","content":"x+…"\}\]\},.*"last"/,
  );
  expect(limitMessages([userMessage(longText), userMessage('last')], 150, 'first').json).toMatch(
    /^\[.*"x+…"\}\]\}\]$/,
  );
});
