import fc from 'fast-check';
import { dialects, isSealed, laneMark, nineLetterIds, type EncodingTarget, ToolIds } from '../../../src/protocol';
import { unsealReasoning, sealReasoning, UNSIGNED } from '../../../src/protocol/canonical';
import { convert } from './convert';

const lane = laneMark('an account');

test('a sealed signature opens to what it was, for the text that it was given for', () => {
  const origins = fc.constantFrom('chat' as const, 'messages' as const, 'responses' as const);
  fc.assert(
    fc.property(
      fc.string(),
      fc.string({ unit: 'binary' }),
      origins,
      fc.boolean(),
      (signature, text, origin, redacted) => {
        const given = sealReasoning({ text, origin, signature, redacted }, lane);
        expect(isSealed(given)).toBe(true);
        for (const dialect of ['messages', 'responses'] as const) {
          const hidden = redacted ? { redacted } : {};
          expect(unsealReasoning(given, text, dialect)).toEqual({ origin, signature, lane, ...hidden });
          expect(unsealReasoning(given, `${text}.`, dialect)).toEqual({ origin });
        }
      },
    ),
  );
});

test.each([undefined, '', UNSIGNED])('%j is no signature', (signature) => {
  expect(unsealReasoning(signature, 'Hm.', 'messages')).toEqual({ origin: 'chat' });
});

test('a signature of a supplier is its own, whatever it looks like', () => {
  for (const signature of ['c2ln', 'svc1.', 'svc1.messages.shown.x.y.z']) {
    expect(unsealReasoning(signature, 'Hm.', 'messages')).toEqual({ origin: 'messages', signature });
    expect(isSealed(signature)).toBe(false);
  }
});

const rules = { 'of messages': undefined, 'with nine letters': nineLetterIds };

test.each(Object.entries(rules))(
  'ids of calls %s fit, are unique, and results follow them',
  (_name, rule) => {
    const fits = rule?.pattern ?? /^[a-zA-Z0-9_-]+$/;
    const id = fc.oneof(
      fc.string(),
      fc.constantFrom('a', 'a_2', 'functions.f:0', 'functions.f:1', 'tool_5f2c9d1e', 'abcdefghi', ''),
    );
    const turns = fc.array(fc.array(id, { maxLength: 4 }), { maxLength: 6 });
    fc.assert(
      fc.property(turns, (calls) => {
        const play = (ids: ToolIds): string[][] =>
          calls.map((turn) => {
            ids.beginTurn();
            const given = turn.map((each) => ids.forCall(each));
            // Those that share an id are answered in their order.
            expect(turn.map((each) => ids.forResult(each))).toEqual(given);
            return given;
          });
        const given = play(new ToolIds(rule));
        expect(play(new ToolIds(rule))).toEqual(given);
        const all = given.flat();
        expect(new Set(all).size).toBe(all.length);
        for (const each of all) expect(each).toMatch(fits);
        // The first of each that fits stays.
        const first = calls.flat().findIndex((each) => fits.test(each));
        if (first === 0) expect(all[0]).toBe(calls.flat()[0]);
      }),
    );
  },
);

const adaptiveAlone = {
  types: ['adaptive'],
  efforts: ['low', 'medium', 'high'],
  unasked: false,
  canStop: true,
} as const;
const bound: EncodingTarget = { facts: { known: null, dropsBlocks: true, thinking: adaptiveAlone } };
const adaptive: EncodingTarget = { facts: { known: null, thinking: adaptiveAlone } };
const binding = { prefix_mismatch_behavior: 'drop_block' };
const round = (signature: string) => [
  { role: 'user', content: 'Go' },
  {
    role: 'assistant',
    content: [
      { type: 'thinking', thinking: 'Hm.', signature },
      { type: 'text', text: 'x' },
    ],
  },
  { role: 'user', content: 'On' },
];

test('a model that can leave out thinking of another conversation is told to', () => {
  const body = { model: 'm', messages: [{ role: 'user', content: 'Go' }], reasoning_effort: 'high' };
  expect(convert('chat', 'messages', body, bound).body.thinking).toEqual({
    type: 'adaptive',
    block_binding: binding,
  });
  expect(convert('chat', 'messages', body, adaptive).body.thinking).toEqual({
    type: 'adaptive',
  });
});

test('a request of its own dialect is told so only where it was mended', () => {
  const { repairRequest: mendRequest } = dialects.messages;
  const ask = (signature: string, thinking: object) => ({ model: 'm', thinking, messages: round(signature) });
  expect(mendRequest(ask('c2ln', { type: 'adaptive' }), bound)).toBeNull();
  expect(mendRequest(ask('', { type: 'adaptive' }), bound)?.set.thinking).toEqual({
    type: 'adaptive',
    block_binding: binding,
  });
  const asked = { type: 'adaptive', block_binding: { prefix_mismatch_behavior: 'error' } };
  expect(mendRequest(ask('', asked), bound)?.set.thinking).toEqual(asked);
  expect(mendRequest(ask('', { type: 'disabled' }), bound)?.set.thinking).toEqual({ type: 'disabled' });
});

test('what a model with a budget needs in a round of tools, an adaptive one does not', () => {
  const messages = [
    { role: 'user', content: 'Go' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'c', content: 'x' },
  ];
  const body = { model: 'm', messages, reasoning_effort: 'high', max_completion_tokens: 4_000 };
  expect(convert('chat', 'messages', body).body.thinking).toBeUndefined();
  expect(convert('chat', 'messages', body, adaptive).body.thinking).toEqual({
    type: 'adaptive',
  });
});
