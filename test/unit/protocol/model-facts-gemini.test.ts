import { dialects, gemini } from '../../../src/protocol';
import { laneFacts } from '../../../src/vendors';
import { type Json } from './transcripts';

const hello = [{ role: 'user', content: 'Hi' }];

test('conversation that ends with the model is continued for Gemini Flash-Lite', () => {
  const messages = [...hello, { role: 'assistant', content: 'Once' }];
  const request = dialects.chat.decodeRequest({ model: 'm', messages });
  if (!request.ok) throw request.error;
  const last = (model: string): unknown => {
    const encoded = gemini.encodeRequest(request.value, { facts: laneFacts(model, {}) });
    if (!encoded.ok) throw encoded.error;
    return (encoded.value.body.contents as Json[]).at(-1)?.role;
  };
  expect([last('gemini-3.5-flash-lite'), last('gemini-3.8-flash')]).toEqual(['user', 'model']);
});

describe('Gemini thinking', () => {
  const configOf = (model: string, wish: Json): unknown => {
    const request = dialects.messages.decodeRequest({
      model: 'm',
      max_tokens: 9_000,
      messages: hello,
      ...wish,
    });
    if (!request.ok) throw request.error;
    const encoded = gemini.encodeRequest(request.value, { facts: laneFacts(model, {}) });
    if (!encoded.ok) throw encoded.error;
    return (encoded.value.body.generationConfig as Json).thinkingConfig;
  };

  test('is set by a level if the model supports levels, and never by level and budget', () => {
    expect(configOf('gemini-4-argon', { output_config: { effort: 'max' } })).toEqual({
      thinkingLevel: 'high',
      includeThoughts: true,
    });
    expect(configOf('gemini-4-argon', { thinking: { type: 'disabled' } })).toEqual({
      thinkingLevel: 'low',
      includeThoughts: false,
    });
    expect(configOf('gemini-3.5-flash', { thinking: { type: 'enabled', budget_tokens: 3_000 } })).toEqual({
      thinkingLevel: 'low',
      includeThoughts: true,
    });
  });

  test('stays within the budget range of the model', () => {
    const largeBudget = { thinking: { type: 'enabled', budget_tokens: 60_000 } };
    expect(configOf('gemini-2.5-flash', largeBudget)).toMatchObject({ thinkingBudget: 24_576 });
    expect(configOf('gemini-2.5-pro', { thinking: { type: 'disabled' } })).toMatchObject({
      thinkingBudget: 128,
    });
  });
});
