import { describeCall } from '../../../src/gateway/intake/describe';
import type { Inbound } from '../../../src/gateway/intake/inbound';
import { operations, type TextOperation } from '../../../src/gateway/operations/operation';
import { objectText } from '../../../src/kernel/json/read-json-object';
import { ADDITIONAL_THINKING_FIELDS } from '../../../src/vendors';

const chat = { messages: [{ role: 'user', content: 'x' }], max_tokens: 50 };

const heldThinking = (fields: object, operation: TextOperation = operations.chat): number => {
  const body = { model: 'm', ...chat, ...fields };
  const bytes = Buffer.from(JSON.stringify(body));
  const inbound = { ...objectText(bytes, body), form: null, headers: {} };
  return describeCall(inbound as unknown as Inbound, operation).extraThinkingTokens;
};

const fieldAt = (path: readonly string[], value: unknown): object =>
  path.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as object;

describe('Thinking outside the output limit', () => {
  test.each(ADDITIONAL_THINKING_FIELDS.map(({ path }) => [path.join('.'), path] as const))(
    'limited by %s is held in every spelling of the number',
    (_name, path) => {
      expect(heldThinking(fieldAt(path, 38_000))).toBe(38_000);
      expect(heldThinking(fieldAt(path, '38000'))).toBe(38_000);
      expect(heldThinking(fieldAt(path, 0))).toBe(0);
      expect(heldThinking(fieldAt(path, null))).toBe(0);
      for (const invalidLimit of [-1, 1.5, 'all', true, [38_000]])
        expect(heldThinking(fieldAt(path, invalidLimit))).toBe(128_000);
    },
  );

  // "Reasoning without a number (enable_thinking, chat_template_kwargs, thinking: enabled,
  // reasoning: {enabled}, models that think unasked) is not held".
  test.each([
    [{ enable_thinking: true }],
    [{ chat_template_kwargs: { enable_thinking: true } }],
    [{ chat_template_kwargs: { thinking: true } }],
    [{ thinking: { type: 'enabled' } }],
    [{ reasoning: { enabled: true } }],
    [{ reasoning: { effort: 'high' } }],
    [{ think: 'high' }],
  ])('%j without a number holds the maximum thinking', (fields) => {
    expect(heldThinking(fields)).toBe(128_000);
  });

  test.each([
    [{ enable_thinking: false }],
    [{ chat_template_kwargs: { enable_thinking: false } }],
    [{ thinking: { type: 'disabled' } }],
    [{ reasoning: { enabled: false } }],
    [{ reasoning: { effort: 'none' } }],
  ])('%j holds no tokens because thinking is switched off', (fields) => {
    expect(heldThinking(fields)).toBe(0);
  });

  test('holds no tokens if the dialect counts thinking within the limit', () => {
    expect(heldThinking({ thinking: { type: 'enabled', budget_tokens: 40 } }, operations.messages)).toBe(0);
    expect(heldThinking({})).toBe(0);
  });
});
