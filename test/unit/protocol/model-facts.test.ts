import { type DialectName, dialects, gemini } from '../../../src/protocol';
import { laneMark, sealReasoning } from '../../../src/protocol/canonical';
import { laneFacts } from '../../../src/vendors';
import { convert, losses } from './convert';
import { type Json } from './transcripts';

const hello = [{ role: 'user', content: 'Hi' }];
const tool = { type: 'function', function: { name: 'look', parameters: { type: 'object' } } };

/** A chat request in the words of a known model. */
function asked(to: DialectName, model: string, body: Json, from: DialectName = 'chat') {
  const target = { facts: laneFacts(model, {}) };
  const result = convert(from, to, { model: 'm', messages: hello, ...body }, target);
  return { body: result.body, lost: losses(result).join('\n') };
}

describe('messages for Claude, by what its maker says of each model', () => {
  test.each([
    ['claude-opus-5-5', 'high', 'high'],
    ['claude-opus-4-7', 'xhigh', 'xhigh'],
    ['claude-opus-4-7', 'minimal', 'low'],
    ['claude-opus-4-6', 'xhigh', 'high'],
  ])('%s thinks by itself with the effort %s', (model, effort, told) => {
    const { body } = asked('messages', model, { reasoning_effort: effort });
    expect(body).toMatchObject({ thinking: { type: 'adaptive' }, output_config: { effort: told } });
  });

  test('a model before that gets a budget', () => {
    const { body } = asked('messages', 'claude-sonnet-4-5', { reasoning_effort: 'high', max_tokens: 9_000 });
    expect(body.thinking).toEqual({ type: 'enabled', budget_tokens: 4_500 });
  });

  test('sampling is left out where it is refused, and told', () => {
    const { body, lost } = asked('messages', 'claude-opus-4-7', { temperature: 0.2, top_p: 0.5 });
    expect(body).not.toHaveProperty('temperature');
    expect(body).not.toHaveProperty('top_p');
    expect(lost).toMatch(/temperature[^]*top_p/);
  });

  test('a model that always thinks is not told to stop', () => {
    const { body, lost } = asked('messages', 'claude-opus-5-5', { reasoning_effort: 'none' });
    expect(body).not.toHaveProperty('thinking');
    expect(body).toMatchObject({ output_config: { effort: 'low' } });
    expect(lost).toContain('reasoning');
  });

  test('a tool that cannot be forced is asked for in words', () => {
    const forced = { tools: [tool], tool_choice: { type: 'function', function: { name: 'look' } } };
    const { body, lost } = asked('messages', 'claude-opus-5-5', forced);
    expect(body.tool_choice).toEqual({ type: 'auto' });
    expect(JSON.stringify(body.system)).toContain('look');
    expect(lost).toContain('tool_choice');
    const able = asked('messages', 'claude-opus-4-7', forced);
    expect(able.body.tool_choice).toEqual({ type: 'tool', name: 'look' });
  });

  test('a conversation that ends with the assistant is one to go on with', () => {
    const begun = [...hello, { role: 'assistant', content: 'Once' }];
    const last = (model: string) =>
      (asked('messages', model, { messages: begun }).body.messages as Json[]).at(-1)?.role;
    expect([last('claude-opus-5-5'), last('claude-sonnet-4-5')]).toEqual(['user', 'assistant']);
  });
});

describe('thinking that is bound to its conversation', () => {
  const lane = laneMark('north');
  const seal = sealReasoning({ text: 'hm', origin: 'messages', signature: 'signed' }, lane);
  const thought = {
    type: 'reasoning',
    summary: [{ type: 'summary_text', text: 'hm' }],
    encrypted_content: seal,
  };
  const call = { type: 'function_call', call_id: 'c', name: 'look', arguments: '{}' };
  const input = [...hello, thought, call, { type: 'function_call_output', call_id: 'c', output: '1' }];
  const bound = { type: 'adaptive', block_binding: { prefix_mismatch_behavior: 'drop_block' } };
  const thinkingOf = (model: string, body: Json) =>
    asked('messages', model, { messages: undefined, input, ...body }, 'responses').body.thinking;

  test.each<[string, Json]>([
    ['names an effort', { reasoning: { effort: 'high' } }],
    ['wants none', { reasoning: { effort: 'none' } }],
    ['says nothing of it', {}],
  ])('may be left out by the vendor where the caller %s', (_what, wish) => {
    expect(thinkingOf('claude-opus-5-5', wish)).toEqual(bound);
  });

  test('says nothing of it where the history has none, or the model binds none', () => {
    expect(thinkingOf('claude-opus-5-5', { input: 'Hi' })).toBeUndefined();
    expect(thinkingOf('claude-opus-5', {})).toBeUndefined();
  });

  test('is mended so in its own dialect as well', () => {
    const [signed, foreign] = ['signed', 'else'].map((signature) => ({
      type: 'thinking',
      thinking: 'hm',
      signature,
    }));
    const turn = { role: 'assistant', content: [signed, foreign, { type: 'text', text: 'One' }] };
    const body = { model: 'm', max_tokens: 9, messages: [...hello, turn, ...hello] };
    const target = { facts: laneFacts('claude-opus-5-5', {}), reads: (mark: string) => mark === 'signed' };
    expect(dialects.messages.repairRequest(body, target)?.set.thinking).toEqual(bound);
  });
});

describe('schemas that Claude enforces', () => {
  const schema = {
    type: 'object',
    properties: {
      age: { type: 'integer', minimum: 0, maximum: 150, description: 'In years.' },
      name: { type: 'string', minLength: 1, pattern: '^(?=x)' },
      code: { type: 'string', pattern: '^[a-z]{3}$' },
      tags: { type: 'array', items: { type: 'string' }, minItems: 2 },
      some: { oneOf: [{ type: 'string' }, { type: 'null' }] },
    },
    required: ['age', 'name', 'code', 'tags', 'some'],
    additionalProperties: false,
  };
  const strictTool = (parameters: Json, name = 'look') => ({
    type: 'function',
    function: { name, strict: true, parameters },
  });
  const inputOf = (parameters: Json) => {
    const { body, lost } = asked('messages', 'claude-opus-4-7', { tools: [strictTool(parameters)] });
    const [sent] = body.tools as Json[];
    return { sent: sent!, properties: (sent!.input_schema as Json).properties as Record<string, Json>, lost };
  };

  test('say in their descriptions what it does not enforce', () => {
    const { sent, properties, lost } = inputOf(schema);
    expect(sent.strict).toBe(true);
    expect(properties).toEqual({
      age: { type: 'integer', description: 'In years.\n\nMust keep to minimum: 0, maximum: 150.' },
      name: { type: 'string', description: 'Must keep to minLength: 1, pattern: "^(?=x)".' },
      code: { type: 'string', pattern: '^[a-z]{3}$' },
      tags: { type: 'array', items: { type: 'string' }, description: 'Must keep to minItems: 2.' },
      some: { anyOf: [{ type: 'string' }, { type: 'null' }] },
    });
    expect(lost).toContain('schema');
    const format = { type: 'json_schema', json_schema: { name: 'x', strict: true, schema } };
    const { body } = asked('messages', 'claude-opus-4-7', { response_format: format });
    expect(body.output_config).toMatchObject({ format: { schema: { properties } } });
  });

  test.each<[string, Json]>([
    ['itself', { type: 'object', properties: { next: { $ref: '#' } }, required: ['next'] }],
    [
      'each other',
      {
        type: 'object',
        properties: { a: { $ref: '#/$defs/a' } },
        $defs: { a: { properties: { b: { $ref: '#/$defs/b' } } }, b: { items: { $ref: '#/$defs/a' } } },
      },
    ],
    ['another document', { type: 'object', properties: { a: { $ref: 'https://schemas.example/a' } } }],
    [
      'a part within allOf',
      { type: 'object', allOf: [{ $ref: '#/$defs/a' }], $defs: { a: { type: 'object' } } },
    ],
  ])('that refer to %s are offered and not enforced', (_what, parameters) => {
    const { sent, lost } = inputOf(parameters);
    expect(sent).not.toHaveProperty('strict');
    expect(sent.input_schema).toEqual(parameters);
    expect(lost).toContain('strict');
  });

  test('that share a part in many places are read in a moment', () => {
    const $defs: Record<string, Json> = { d60: { type: 'string' } };
    for (let at = 59; at >= 0; at -= 1) {
      const next = { $ref: `#/$defs/d${at + 1}` };
      $defs[`d${at}`] = { type: 'object', properties: { a: next, b: next }, required: ['a', 'b'] };
    }
    const { sent } = inputOf({
      type: 'object',
      properties: { a: { $ref: '#/$defs/d0' } },
      required: ['a'],
      $defs,
    });
    expect(sent.strict).toBe(true);
  });

  test('are enforced as far as one request may ask for it', () => {
    const tools = Array.from({ length: 22 }, (_none, at) =>
      strictTool({ type: 'object', properties: {}, additionalProperties: false }, `t${at}`),
    );
    const { body } = asked('messages', 'claude-opus-4-7', { tools });
    expect((body.tools as Json[]).filter(({ strict }) => strict === true)).toHaveLength(20);
  });
});

describe('chat and responses for models of OpenAI', () => {
  const told = { messages: hello, max_tokens: 900, temperature: 0.3 };
  const thinking = { thinking: { type: 'adaptive' }, output_config: { effort: 'max' } };
  const tools = { tools: [{ name: 'look', input_schema: { type: 'object' } }] };

  test('beside tools the effort gives way where chat refuses the two', () => {
    const sol = asked('chat', 'gpt-5.6-sol', { ...told, ...thinking, ...tools }, 'messages');
    expect(sol.body).toMatchObject({ reasoning_effort: 'none' });
    const earlier = asked('chat', 'gpt-5.5', { ...told, ...thinking, ...tools }, 'messages');
    expect(earlier.body).not.toHaveProperty('reasoning_effort');
  });

  test('an effort is one that the model takes on this wire', () => {
    const chat = asked('chat', 'gpt-5.6-sol', { ...told, ...thinking }, 'messages').body;
    const responses = asked('responses', 'gpt-5.6-sol', { ...told, ...thinking }, 'messages').body;
    expect([chat.reasoning_effort, responses.reasoning]).toEqual(['xhigh', { effort: 'max' }]);
  });

  test('sampling and stop sequences are left out where the model refuses them', () => {
    const body = { ...told, stop_sequences: ['END'], ...thinking };
    for (const wire of ['chat', 'responses'] as const) {
      const sent = asked(wire, 'gpt-6-astra', body, 'messages');
      for (const name of ['temperature', 'stop', 'max_tokens']) expect(sent.body).not.toHaveProperty(name);
      expect(sent.lost).toContain('temperature');
    }
    const plain = asked('chat', 'gpt-5.4', told, 'messages').body;
    expect(plain.temperature).toBe(0.3);
  });

  test('a model that does not think is told nothing of it', () => {
    const { body, lost } = asked('chat', 'gpt-4o', { ...told, ...thinking }, 'messages');
    expect(body).not.toHaveProperty('reasoning_effort');
    expect(lost).toContain('reasoning');
  });
});

test('reasoning goes back to DeepSeek with the turns that called tools', () => {
  const history = [
    ...hello,
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'I have to look.', signature: 'x' },
        { type: 'tool_use', id: 't', name: 'look', input: {} },
      ],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: 'seen' }] },
  ];
  const body = {
    max_tokens: 900,
    messages: history,
    tools: [{ name: 'look', input_schema: { type: 'object' } }],
  };
  const turnOf = (model: string) => (asked('chat', model, body, 'messages').body.messages as Json[])[1];
  expect(turnOf('deepseek-v4-pro')).toMatchObject({ reasoning_content: 'I have to look.' });
  expect(turnOf('gpt-4o')).not.toHaveProperty('reasoning_content');
});

describe('a limit of the output', () => {
  const most = 500_000;

  test.each<[DialectName, string, Json, number]>([
    ['messages', 'claude-haiku-4-5', { max_tokens: most }, 64_000],
    ['responses', 'gpt-6-astra', { max_output_tokens: most }, 128_000],
    ['chat', 'openai/gpt-oss-120b', { max_completion_tokens: most }, 65_536],
  ])('of %s is no more than %s writes, and told', (to, model, expected, ceiling) => {
    const from = to === 'messages' ? 'chat' : 'messages';
    const asking = from === 'chat' ? { max_completion_tokens: most } : { max_tokens: most };
    const { body, lost } = asked(to, model, asking, from);
    expect(body).toMatchObject(Object.fromEntries(Object.keys(expected).map((name) => [name, ceiling])));
    expect(lost).toContain('approximated max_tokens');
  });

  test('that was filled in is no more than the model writes', () => {
    const target = { facts: laneFacts('claude-haiku-4-5', {}), maxOutputTokens: 128_000 };
    const { body } = convert('chat', 'messages', { model: 'm', messages: hello }, target);
    expect(body.max_tokens).toBe(64_000);
  });

  test('in the same dialect is left to its vendor', () => {
    const own = asked('messages', 'claude-haiku-4-5', { max_tokens: most }, 'messages');
    expect(own.body.max_tokens).toBe(most);
  });
});

describe('schemas that strict mode refuses', () => {
  const properties = { some: { oneOf: [{ type: 'string' }, { type: 'null' }] } };
  const branching = { type: 'object', properties, required: ['some'], additionalProperties: false };
  const open = { type: 'object', properties: { some: { type: 'string' } }, required: ['some'] };

  test.each([
    ['open', open],
    ['branching', branching],
  ])('go without it where they are %s', (_what, schema) => {
    const format = { type: 'json_schema', json_schema: { name: 'x', strict: true, schema } };
    const functions = [{ type: 'function', function: { name: 'look', strict: true, parameters: schema } }];
    const { body, lost } = asked('responses', 'gpt-6-astra', { response_format: format, tools: functions });
    expect((body.text as { format: Json }).format).not.toHaveProperty('strict', true);
    expect((body.tools as Json[])[0]).toMatchObject({ strict: false });
    expect(lost).toContain('dropped response_format.strict');
    expect(lost).toContain('dropped tools.*.strict');
    const enforced = { output_config: { format: { type: 'json_schema', schema } }, max_tokens: 9 };
    const chat = asked('chat', 'gpt-4.1', enforced, 'messages').body.response_format as Json;
    expect(chat.json_schema).not.toHaveProperty('strict', true);
  });

  test('become a request in words where the model takes none', () => {
    const enforced = { output_config: { format: { type: 'json_schema', schema: open } }, max_tokens: 9 };
    const { body, lost } = asked('chat', 'deepseek-v4-pro', enforced, 'messages');
    expect(body.response_format).toEqual({ type: 'json_object' });
    expect(JSON.stringify(body.messages)).toContain('JSON schema');
    expect(lost).toContain('approximated response_format');
  });
});

test('ids of calls are no longer than responses takes, and results follow them', () => {
  const call = (id: string) => ({ id, type: 'function', function: { name: 'look', arguments: '{}' } });
  const ids = [`call_${'a'.repeat(80)}`, `call_${'a'.repeat(81)}`, 'call_1'];
  const messages = [
    ...hello,
    { role: 'assistant', content: null, tool_calls: ids.map(call) },
    ...ids.map((id) => ({ role: 'tool', tool_call_id: id, content: '1' })),
  ];
  const items = asked('responses', 'gpt-6-astra', { messages, tools: [tool] }).body.input as Json[];
  const idsOf = (type: string) =>
    items.filter((item) => item.type === type).map((item) => String(item.call_id));
  const called = idsOf('function_call');
  expect(called.every(({ length }) => length <= 64)).toBe(true);
  expect(new Set(called).size).toBe(3);
  expect(called[2]).toBe('call_1');
  expect(idsOf('function_call_output')).toEqual(called);
});

test('Grok gets no stop sequences', () => {
  const { body, lost } = asked('chat', 'grok-4.7', { max_tokens: 9, stop_sequences: ['END'] }, 'messages');
  expect(body).not.toHaveProperty('stop');
  expect(lost).toContain('dropped stop');
});

describe('thinking between the tools', () => {
  const wish = { max_tokens: 9_000, thinking: { type: 'between_tools' } };

  test('goes back as it came', () => {
    const { body } = asked('messages', 'claude-haiku-5-5', wish, 'messages');
    expect(body.thinking).toEqual({ type: 'between_tools' });
  });

  test.each<[DialectName, string]>([
    ['chat', 'gpt-5.1'],
    ['responses', 'gpt-6-astra'],
  ])('is left to the model in %s', (to, model) => {
    const { lost } = asked(to, model, wish, 'messages');
    expect(lost).toContain('dropped thinking');
  });
});

test('a conversation that ends with the model is one to go on with for Gemini Flash-Lite', () => {
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

describe('thinking of Gemini', () => {
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

  test('is told by a level where the model knows levels, and never by both', () => {
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

  test('keeps within the budgets of the model', () => {
    const most = { thinking: { type: 'enabled', budget_tokens: 60_000 } };
    expect(configOf('gemini-2.5-flash', most)).toMatchObject({ thinkingBudget: 24_576 });
    expect(configOf('gemini-2.5-pro', { thinking: { type: 'disabled' } })).toMatchObject({
      thinkingBudget: 128,
    });
  });
});
