import { type DialectName, dialects } from '../../../src/protocol';
import { laneMark, sealReasoning } from '../../../src/protocol/canonical';
import { laneFacts } from '../../../src/vendors';
import { convert, describeLosses } from './convert';
import { type Json } from './transcripts';

const hello = [{ role: 'user', content: 'Hi' }];
const tool = { type: 'function', function: { name: 'look', parameters: { type: 'object' } } };

/** Converts a request for a known model. */
function convertFor(to: DialectName, model: string, body: Json, from: DialectName = 'chat') {
  const target = { facts: laneFacts(model, {}) };
  const result = convert(from, to, { model: 'm', messages: hello, ...body }, target);
  return { body: result.body, lost: describeLosses(result).join('\n') };
}

describe('Messages for Claude models', () => {
  test.each([
    ['claude-opus-5-5', 'high', 'high'],
    ['claude-opus-4-7', 'xhigh', 'xhigh'],
    ['claude-opus-4-7', 'minimal', 'low'],
    ['claude-opus-4-6', 'xhigh', 'high'],
  ])('%s thinks automatically with the effort %s', (model, effort, expectedEffort) => {
    const { body } = convertFor('messages', model, { reasoning_effort: effort });
    expect(body).toMatchObject({ thinking: { type: 'adaptive' }, output_config: { effort: expectedEffort } });
  });

  test('earlier model gets a thinking budget', () => {
    const { body } = convertFor('messages', 'claude-sonnet-4-5', {
      reasoning_effort: 'high',
      max_tokens: 9_000,
    });
    expect(body.thinking).toEqual({ type: 'enabled', budget_tokens: 4_500 });
  });

  test('unsupported sampling parameters are dropped and reported', () => {
    const { body, lost } = convertFor('messages', 'claude-opus-4-7', { temperature: 0.2, top_p: 0.5 });
    expect(body).not.toHaveProperty('temperature');
    expect(body).not.toHaveProperty('top_p');
    expect(lost).toMatch(/temperature[^]*top_p/);
  });

  test('model that always thinks is not asked to stop', () => {
    const { body, lost } = convertFor('messages', 'claude-opus-5-5', { reasoning_effort: 'none' });
    expect(body).not.toHaveProperty('thinking');
    expect(body).toMatchObject({ output_config: { effort: 'low' } });
    expect(lost).toContain('reasoning');
  });

  test('tool that cannot be forced is requested in the prompt', () => {
    const forced = { tools: [tool], tool_choice: { type: 'function', function: { name: 'look' } } };
    const { body, lost } = convertFor('messages', 'claude-opus-5-5', forced);
    expect(body.tool_choice).toEqual({ type: 'auto' });
    expect(JSON.stringify(body.system)).toContain('look');
    expect(lost).toContain('tool_choice');
    const forcedResult = convertFor('messages', 'claude-opus-4-7', forced);
    expect(forcedResult.body.tool_choice).toEqual({ type: 'tool', name: 'look' });
  });

  test('conversation that ends with the assistant is continued', () => {
    const unfinishedMessages = [...hello, { role: 'assistant', content: 'Once' }];
    const last = (model: string) =>
      (convertFor('messages', model, { messages: unfinishedMessages }).body.messages as Json[]).at(-1)?.role;
    expect([last('claude-opus-5-5'), last('claude-sonnet-4-5')]).toEqual(['user', 'assistant']);
  });
});

describe('Conversation-bound thinking', () => {
  const lane = laneMark('north');
  const seal = sealReasoning({ text: 'hm', origin: 'messages', signature: 'signed' }, lane);
  const thinkingBlock = {
    type: 'reasoning',
    summary: [{ type: 'summary_text', text: 'hm' }],
    encrypted_content: seal,
  };
  const call = { type: 'function_call', call_id: 'c', name: 'look', arguments: '{}' };
  const input = [...hello, thinkingBlock, call, { type: 'function_call_output', call_id: 'c', output: '1' }];
  const bound = { type: 'adaptive', block_binding: { prefix_mismatch_behavior: 'drop_block' } };
  const thinkingOf = (model: string, body: Json) =>
    convertFor('messages', model, { messages: undefined, input, ...body }, 'responses').body.thinking;

  test.each<[string, Json]>([
    ['names an effort', { reasoning: { effort: 'high' } }],
    ['wants none', { reasoning: { effort: 'none' } }],
    ['says nothing of it', {}],
  ])('can be dropped by the vendor if the caller %s', (_what, wish) => {
    expect(thinkingOf('claude-opus-5-5', wish)).toEqual(bound);
  });

  test('is not configured without thinking in the history or for models that do not bind it', () => {
    expect(thinkingOf('claude-opus-5-5', { input: 'Hi' })).toBeUndefined();
    expect(thinkingOf('claude-opus-5', {})).toBeUndefined();
  });

  test('is repaired in its own dialect too', () => {
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

describe('Schemas enforced by Claude', () => {
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
    const { body, lost } = convertFor('messages', 'claude-opus-4-7', { tools: [strictTool(parameters)] });
    const [sent] = body.tools as Json[];
    return { sent: sent!, properties: (sent!.input_schema as Json).properties as Record<string, Json>, lost };
  };

  test('describe unenforced constraints in their descriptions', () => {
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
    const { body } = convertFor('messages', 'claude-opus-4-7', { response_format: format });
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
  ])('schemas with a reference to %s are offered without enforcement', (_what, parameters) => {
    const { sent, lost } = inputOf(parameters);
    expect(sent).not.toHaveProperty('strict');
    expect(sent.input_schema).toEqual(parameters);
    expect(lost).toContain('strict');
  });

  test('schemas with widely shared parts are processed quickly', () => {
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

  test('are enforced up to the maximum number per request', () => {
    const tools = Array.from({ length: 22 }, (_none, at) =>
      strictTool({ type: 'object', properties: {}, additionalProperties: false }, `t${at}`),
    );
    const { body } = convertFor('messages', 'claude-opus-4-7', { tools });
    expect((body.tools as Json[]).filter(({ strict }) => strict === true)).toHaveLength(20);
  });
});

describe('Chat Completions and Responses for OpenAI models', () => {
  const limits = { messages: hello, max_tokens: 900, temperature: 0.3 };
  const thinking = { thinking: { type: 'adaptive' }, output_config: { effort: 'max' } };
  const tools = { tools: [{ name: 'look', input_schema: { type: 'object' } }] };

  test('effort is dropped if chat rejects it together with tools', () => {
    const solRequest = convertFor('chat', 'gpt-5.6-sol', { ...limits, ...thinking, ...tools }, 'messages');
    expect(solRequest.body).toMatchObject({ reasoning_effort: 'none' });
    const earlierRequest = convertFor('chat', 'gpt-5.5', { ...limits, ...thinking, ...tools }, 'messages');
    expect(earlierRequest.body).not.toHaveProperty('reasoning_effort');
  });

  test('effort is adjusted to one that the model supports in the API format', () => {
    const chat = convertFor('chat', 'gpt-5.6-sol', { ...limits, ...thinking }, 'messages').body;
    const responses = convertFor('responses', 'gpt-5.6-sol', { ...limits, ...thinking }, 'messages').body;
    expect([chat.reasoning_effort, responses.reasoning]).toEqual(['xhigh', { effort: 'max' }]);
  });

  test('sampling and stop sequences are dropped if the model rejects them', () => {
    const body = { ...limits, stop_sequences: ['END'], ...thinking };
    for (const dialect of ['chat', 'responses'] as const) {
      const converted = convertFor(dialect, 'gpt-6-astra', body, 'messages');
      for (const name of ['temperature', 'stop', 'max_tokens'])
        expect(converted.body).not.toHaveProperty(name);
      expect(converted.lost).toContain('temperature');
    }
    const plainBody = convertFor('chat', 'gpt-5.4', limits, 'messages').body;
    expect(plainBody.temperature).toBe(0.3);
  });

  test('effort is omitted for a model that does not think', () => {
    const { body, lost } = convertFor('chat', 'gpt-4o', { ...limits, ...thinking }, 'messages');
    expect(body).not.toHaveProperty('reasoning_effort');
    expect(lost).toContain('reasoning');
  });
});

test('reasoning is returned to DeepSeek with the turns that called tools', () => {
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
  const turnOf = (model: string) => (convertFor('chat', model, body, 'messages').body.messages as Json[])[1];
  expect(turnOf('deepseek-v4-pro')).toMatchObject({ reasoning_content: 'I have to look.' });
  expect(turnOf('gpt-4o')).not.toHaveProperty('reasoning_content');
});

describe('Output limit', () => {
  const requestedTokens = 500_000;

  test.each<[DialectName, string, Json, number]>([
    ['messages', 'claude-haiku-4-5', { max_tokens: requestedTokens }, 64_000],
    ['responses', 'gpt-6-astra', { max_output_tokens: requestedTokens }, 128_000],
    ['chat', 'openai/gpt-oss-120b', { max_completion_tokens: requestedTokens }, 65_536],
  ])('output limit for %s is capped at the maximum of %s and reported', (to, model, expected, ceiling) => {
    const from = to === 'messages' ? 'chat' : 'messages';
    const limitField =
      from === 'chat' ? { max_completion_tokens: requestedTokens } : { max_tokens: requestedTokens };
    const { body, lost } = convertFor(to, model, limitField, from);
    expect(body).toMatchObject(Object.fromEntries(Object.keys(expected).map((name) => [name, ceiling])));
    expect(lost).toContain('approximated max_tokens');
  });

  test('filled-in output limit is capped at the maximum of the model', () => {
    const target = { facts: laneFacts('claude-haiku-4-5', {}), maxOutputTokens: 128_000 };
    const { body } = convert('chat', 'messages', { model: 'm', messages: hello }, target);
    expect(body.max_tokens).toBe(64_000);
  });

  test('is not changed in the same dialect', () => {
    const sameDialect = convertFor(
      'messages',
      'claude-haiku-4-5',
      { max_tokens: requestedTokens },
      'messages',
    );
    expect(sameDialect.body.max_tokens).toBe(requestedTokens);
  });
});

describe('Schemas rejected by strict mode', () => {
  const properties = { some: { oneOf: [{ type: 'string' }, { type: 'null' }] } };
  const branchingSchema = { type: 'object', properties, required: ['some'], additionalProperties: false };
  const openSchema = { type: 'object', properties: { some: { type: 'string' } }, required: ['some'] };

  test.each([
    ['open', openSchema],
    ['branching', branchingSchema],
  ])('are sent without strict mode if they are %s', (_what, schema) => {
    const format = { type: 'json_schema', json_schema: { name: 'x', strict: true, schema } };
    const functions = [{ type: 'function', function: { name: 'look', strict: true, parameters: schema } }];
    const { body, lost } = convertFor('responses', 'gpt-6-astra', {
      response_format: format,
      tools: functions,
    });
    expect((body.text as { format: Json }).format).not.toHaveProperty('strict', true);
    expect((body.tools as Json[])[0]).toMatchObject({ strict: false });
    expect(lost).toContain('dropped response_format.strict');
    expect(lost).toContain('dropped tools.*.strict');
    const enforcedFormat = { output_config: { format: { type: 'json_schema', schema } }, max_tokens: 9 };
    const chat = convertFor('chat', 'gpt-4.1', enforcedFormat, 'messages').body.response_format as Json;
    expect(chat.json_schema).not.toHaveProperty('strict', true);
  });

  test('become a request in the prompt if the model supports none', () => {
    const enforcedFormat = {
      output_config: { format: { type: 'json_schema', schema: openSchema } },
      max_tokens: 9,
    };
    const { body, lost } = convertFor('chat', 'deepseek-v4-pro', enforcedFormat, 'messages');
    expect(body.response_format).toEqual({ type: 'json_object' });
    expect(JSON.stringify(body.messages)).toContain('JSON schema');
    expect(lost).toContain('approximated response_format');
  });
});

test('tool call ids are shortened to the Responses limit, and results use the same ids', () => {
  const call = (id: string) => ({ id, type: 'function', function: { name: 'look', arguments: '{}' } });
  const ids = [`call_${'a'.repeat(80)}`, `call_${'a'.repeat(81)}`, 'call_1'];
  const messages = [
    ...hello,
    { role: 'assistant', content: null, tool_calls: ids.map(call) },
    ...ids.map((id) => ({ role: 'tool', tool_call_id: id, content: '1' })),
  ];
  const items = convertFor('responses', 'gpt-6-astra', { messages, tools: [tool] }).body.input as Json[];
  const idsOf = (type: string) =>
    items.filter((item) => item.type === type).map((item) => String(item.call_id));
  const callIds = idsOf('function_call');
  expect(callIds.every(({ length }) => length <= 64)).toBe(true);
  expect(new Set(callIds).size).toBe(3);
  expect(callIds[2]).toBe('call_1');
  expect(idsOf('function_call_output')).toEqual(callIds);
});

test('stop sequences are dropped for Grok', () => {
  const { body, lost } = convertFor(
    'chat',
    'grok-4.7',
    { max_tokens: 9, stop_sequences: ['END'] },
    'messages',
  );
  expect(body).not.toHaveProperty('stop');
  expect(lost).toContain('dropped stop');
});

describe('Thinking between tool calls', () => {
  const thinkingFields = { max_tokens: 9_000, thinking: { type: 'between_tools' } };

  test('is passed on unchanged', () => {
    const { body } = convertFor('messages', 'claude-haiku-5-5', thinkingFields, 'messages');
    expect(body.thinking).toEqual({ type: 'between_tools' });
  });

  test.each<[DialectName, string]>([
    ['chat', 'gpt-5.1'],
    ['responses', 'gpt-6-astra'],
  ])('is dropped in %s and reported', (to, model) => {
    const { lost } = convertFor(to, model, thinkingFields, 'messages');
    expect(lost).toContain('dropped thinking');
  });
});
