import fc from 'fast-check';
import {
  dialects,
  isSealed,
  laneMark,
  nineLetterIds,
  type EncodingTarget,
  ToolIds,
} from '../../../src/protocol';
import { unsealReasoning, sealReasoning, UNSIGNED } from '../../../src/protocol/canonical';
import { convert } from './convert';

const lane = laneMark('an account');

test('sealed signature opens to its original for the same text', () => {
  const origins = fc.constantFrom('chat' as const, 'messages' as const, 'responses' as const);
  fc.assert(
    fc.property(
      fc.string(),
      fc.string({ unit: 'binary' }),
      origins,
      fc.boolean(),
      (signature, text, origin, redacted) => {
        const sealedSignature = sealReasoning({ text, origin, signature, redacted }, lane);
        expect(isSealed(sealedSignature)).toBe(true);
        for (const dialect of ['messages', 'responses'] as const) {
          const redactedField = redacted ? { redacted } : {};
          expect(unsealReasoning(sealedSignature, text, dialect)).toEqual({
            origin,
            signature,
            lane,
            ...redactedField,
          });
          expect(unsealReasoning(sealedSignature, `${text}.`, dialect)).toEqual({ origin });
        }
      },
    ),
  );
});

test.each([undefined, '', UNSIGNED])('%j is not a sealed signature', (signature) => {
  expect(unsealReasoning(signature, 'Hm.', 'messages')).toEqual({ origin: 'chat' });
});

test("supplier's own signature is kept, whatever its format", () => {
  for (const signature of ['c2ln', 'svc1.', 'svc1.messages.shown.x.y.z']) {
    expect(unsealReasoning(signature, 'Hm.', 'messages')).toEqual({ origin: 'messages', signature });
    expect(isSealed(signature)).toBe(false);
  }
});

const idRules = { 'of messages': undefined, 'with nine letters': nineLetterIds };

test.each(Object.entries(idRules))(
  'tool call ids %s fit, are unique and match their results',
  (_name, rule) => {
    const pattern = rule?.pattern ?? /^[a-zA-Z0-9_-]+$/;
    const id = fc.oneof(
      fc.string(),
      fc.constantFrom('a', 'a_2', 'functions.f:0', 'functions.f:1', 'tool_5f2c9d1e', 'abcdefghi', ''),
    );
    const turns = fc.array(fc.array(id, { maxLength: 4 }), { maxLength: 6 });
    fc.assert(
      fc.property(turns, (calls) => {
        const rewriteIds = (ids: ToolIds): string[][] =>
          calls.map((turn) => {
            ids.beginTurn();
            const newIds = turn.map((each) => ids.forCall(each));
            // Calls that share an id receive their results in order.
            expect(turn.map((each) => ids.forResult(each))).toEqual(newIds);
            return newIds;
          });
        const rewrittenIds = rewriteIds(new ToolIds(rule));
        expect(rewriteIds(new ToolIds(rule))).toEqual(rewrittenIds);
        const allIds = rewrittenIds.flat();
        expect(new Set(allIds).size).toBe(allIds.length);
        for (const each of allIds) expect(each).toMatch(pattern);
        // The first occurrence of each fitting id is unchanged.
        const firstFitting = calls.flat().findIndex((each) => pattern.test(each));
        if (firstFitting === 0) expect(allIds[0]).toBe(calls.flat()[0]);
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
const bindingTarget: EncodingTarget = { facts: { known: null, dropsBlocks: true, thinking: adaptiveAlone } };
const adaptiveTarget: EncodingTarget = { facts: { known: null, thinking: adaptiveAlone } };
const binding = { prefix_mismatch_behavior: 'drop_block' };
const toolRound = (signature: string) => [
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

test('model that can drop thinking of another conversation is configured to do so', () => {
  const body = { model: 'm', messages: [{ role: 'user', content: 'Go' }], reasoning_effort: 'high' };
  expect(convert('chat', 'messages', body, bindingTarget).body.thinking).toEqual({
    type: 'adaptive',
    block_binding: binding,
  });
  expect(convert('chat', 'messages', body, adaptiveTarget).body.thinking).toEqual({
    type: 'adaptive',
  });
});

test('request in its own dialect is configured only if it was repaired', () => {
  const { repairRequest: mendRequest } = dialects.messages;
  const bodyWith = (signature: string, thinking: object) => ({
    model: 'm',
    thinking,
    messages: toolRound(signature),
  });
  expect(mendRequest(bodyWith('c2ln', { type: 'adaptive' }), bindingTarget)).toBeNull();
  expect(mendRequest(bodyWith('', { type: 'adaptive' }), bindingTarget)?.set.thinking).toEqual({
    type: 'adaptive',
    block_binding: binding,
  });
  const ownSetting = { type: 'adaptive', block_binding: { prefix_mismatch_behavior: 'error' } };
  expect(mendRequest(bodyWith('', ownSetting), bindingTarget)?.set.thinking).toEqual(ownSetting);
  expect(mendRequest(bodyWith('', { type: 'disabled' }), bindingTarget)?.set.thinking).toEqual({
    type: 'disabled',
  });
});

test('tool round needs signed thinking with a budget, but not with adaptive thinking', () => {
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
  expect(convert('chat', 'messages', body, adaptiveTarget).body.thinking).toEqual({
    type: 'adaptive',
  });
});
