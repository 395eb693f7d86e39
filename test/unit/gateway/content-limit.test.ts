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

test('whatever is told is JSON within its bound, and whole unless it says otherwise', () => {
  fc.assert(
    fc.property(
      messages,
      fc.integer({ min: 64, max: 4_096 }),
      fc.constantFrom('first', 'last'),
      (given, most, kept) => {
        const { json, isCut } = limitMessages(given, most, kept);
        expect(Buffer.byteLength(json)).toBeLessThanOrEqual(most);
        const read = JSON.parse(json) as unknown[];
        expect(read.length).toBeLessThanOrEqual(given.length);
        if (!isCut) expect(read).toHaveLength(given.length);
        expect(json.isWellFormed()).toBe(true);
      },
    ),
  );
});

test('what has too much in it besides texts is left out, without being written first', () => {
  let written = 0;
  const endless = {
    type: 'tool_call',
    arguments: Array.from({ length: 1_000 }, () => ({ toJSON: () => ++written })),
  };
  expect(limitParts([{ type: 'text', content: 'kept' }, endless], 300)).toEqual({
    json: '[{"type":"text","content":"kept"}]',
    isCut: true,
  });
  expect(written).toBeLessThan(1_000 * 20);
});

test('of a conversation the end is kept, and of one message its beginning', () => {
  const said = (content: string) => ({ role: 'user', parts: [{ type: 'text', content }] });
  const long = 'x'.repeat(200);
  expect(limitMessages([said(long), said('last')], 150, 'last').json).toMatch(
    /^\[\{"role":"user","parts":\[\{"type":"text","content":"x+…"\}\]\},.*"last"/,
  );
  expect(limitMessages([said(long), said('last')], 150, 'first').json).toMatch(/^\[.*"x+…"\}\]\}\]$/);
});
