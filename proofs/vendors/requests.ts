import type { CallerName } from './testbed';

/** A request that some vendor rejects if it is forwarded unchanged. */
export interface RejectableRequest {
  readonly name: string;
  readonly body: object;
}

const parameters = {
  type: 'object',
  properties: { count: { type: 'integer' } },
  required: ['count'],
  additionalProperties: false,
};
const schemas = {
  closed: parameters,
  bounded: {
    ...parameters,
    properties: { count: { type: 'integer', minimum: 1 }, name: { type: 'string', maxLength: 9 } },
    required: ['count', 'name'],
  },
  open: { type: 'object', properties: { count: { type: 'integer' } }, required: ['count'] },
  branching: {
    ...parameters,
    properties: { count: { oneOf: [{ type: 'integer' }, { type: 'null' }] } },
  },
};
const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];
const user = { role: 'user', content: 'hello' };
/** Tool-call ids as other suppliers create them. */
const callIds = ['functions.count:0', `call_${'a'.repeat(80)}`, 'call_1'];

const requestsOfMap = (list: Readonly<Record<string, object>>): readonly RejectableRequest[] =>
  Object.entries(list).map(([name, body]) => ({ name, body }));

const requestPerValue = (
  values: readonly string[],
  name: (value: string) => string,
  body: (value: string) => object,
): readonly RejectableRequest[] => values.map((value) => ({ name: name(value), body: body(value) }));

const requestPerSchema = (name: string, body: (schema: object) => object): readonly RejectableRequest[] =>
  Object.entries(schemas).map(([kind, schema]) => ({ name: `${name}, ${kind}`, body: body(schema) }));

const chatTool = { type: 'function', function: { name: 'count', parameters } };
const chatRound = (id: string, more: object = {}): object => ({
  tools: [chatTool],
  messages: [
    user,
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id, type: 'function', function: { name: 'count', arguments: '{"count":1}' } }],
      ...more,
    },
    { role: 'tool', tool_call_id: id, content: '1' },
  ],
});
const chatFormat = (schema: object): object => ({
  response_format: { type: 'json_schema', json_schema: { name: 'count', schema, strict: true } },
});

const chat: readonly RejectableRequest[] = [
  ...requestPerValue(
    efforts,
    (effort) => `effort ${effort}`,
    (effort) => ({ reasoning_effort: effort }),
  ),
  ...requestPerValue(
    efforts,
    (effort) => `tools beside effort ${effort}`,
    (effort) => ({ reasoning_effort: effort, tools: [chatTool] }),
  ),
  ...requestPerValue(
    callIds,
    (id) => `a round of tools, ${id.slice(0, 20)}`,
    (id) => chatRound(id),
  ),
  ...requestPerValue(
    callIds.slice(0, 1),
    () => 'a round of tools beside effort high',
    (id) => ({ ...chatRound(id), reasoning_effort: 'high' }),
  ),
  ...requestPerSchema('strict answer', chatFormat),
  ...requestPerSchema('strict tool', (schema) => ({
    tools: [{ type: 'function', function: { name: 'count', parameters: schema, strict: true } }],
  })),
  ...requestsOfMap({
    plain: {},
    tools: { tools: [chatTool] },
    'a forced tool': { tools: [chatTool], tool_choice: 'required' },
    'a named tool': {
      tools: [chatTool],
      tool_choice: { type: 'function', function: { name: 'count' } },
    },
    'a forced tool beside effort high': {
      tools: [chatTool],
      tool_choice: 'required',
      reasoning_effort: 'high',
    },
    temperature: { temperature: 0.2 },
    'temperature and top_p': { temperature: 0.2, top_p: 0.9 },
    'temperature beside effort high': { temperature: 0.2, reasoning_effort: 'high' },
    top_p: { top_p: 0.9 },
    max_tokens: { max_tokens: 5_000 },
    'max_tokens above every ceiling': { max_tokens: 500_000 },
    max_completion_tokens: { max_completion_tokens: 5_000 },
    stop: { stop: ['zzz'] },
    penalties: { presence_penalty: 0.5, frequency_penalty: 0.5 },
    logit_bias: { logit_bias: { '50256': -1 } },
    logprobs: { logprobs: true, top_logprobs: 3 },
    'top_logprobs alone': { top_logprobs: 3 },
    'two answers': { n: 2 },
    seed: { seed: 7 },
    'role developer': { messages: [{ role: 'developer', content: 'Be brief.' }, user] },
    'a name in a message': { messages: [{ ...user, name: 'ann' }] },
    prefill: { messages: [user, { role: 'assistant', content: 'One' }] },
    'reasoning in the history': {
      messages: [user, { role: 'assistant', content: 'One', reasoning_content: 'hm' }, user],
    },
    'reasoning in a round of tools': chatRound('call_1', { reasoning_content: 'hm' }),
    'fields of the interface': {
      user: 'ann',
      metadata: { team: 'one' },
      store: false,
      prompt_cache_key: 'one',
      safety_identifier: 'ann',
      verbosity: 'low',
    },
    'one tool at a time': { tools: [chatTool], parallel_tool_calls: false },
  }),
];

const messagesTool = { name: 'count', input_schema: parameters };
const messagesRound = (id: string, before: readonly object[] = []): object => ({
  tools: [messagesTool],
  messages: [
    user,
    { role: 'assistant', content: [...before, { type: 'tool_use', id, name: 'count', input: { count: 1 } }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: '1' }] },
  ],
});
const thinkingBlock = (signature: string): object => ({ type: 'thinking', thinking: 'hm', signature });
const enabled = { thinking: { type: 'enabled', budget_tokens: 2_000 } };

const messages: readonly RejectableRequest[] = [
  ...requestPerValue(
    efforts.slice(2),
    (effort) => `effort ${effort}`,
    (effort) => ({ output_config: { effort } }),
  ),
  ...requestPerValue(
    efforts.slice(2),
    (effort) => `effort ${effort} without thinking`,
    (effort) => ({ output_config: { effort }, thinking: { type: 'disabled' } }),
  ),
  ...requestPerValue(
    callIds.slice(1),
    (id) => `a round of tools, ${id.slice(0, 20)}`,
    (id) => messagesRound(id),
  ),
  ...requestPerValue(
    ['', 'c2lnbmVkIGVsc2V3aGVyZQ=='],
    (signature) => `thinking signed ${signature === '' ? 'by nobody' : 'elsewhere'}`,
    (signature) => messagesRound('call_1', [thinkingBlock(signature)]),
  ),
  ...requestPerSchema('enforced answer', (schema) => ({
    output_config: { format: { type: 'json_schema', schema } },
  })),
  ...requestPerSchema('strict tool', (schema) => ({
    tools: [{ name: 'count', input_schema: schema, strict: true }],
  })),
  ...requestsOfMap({
    plain: {},
    'thinking enabled': enabled,
    'a budget of 60,000': {
      thinking: { type: 'enabled', budget_tokens: 60_000 },
      max_tokens: 64_000,
    },
    'thinking adaptive': { thinking: { type: 'adaptive' } },
    'thinking between tools': { thinking: { type: 'between_tools' }, tools: [messagesTool] },
    'thinking disabled': { thinking: { type: 'disabled' } },
    tools: { tools: [messagesTool] },
    'tools beside thinking': { ...enabled, tools: [messagesTool] },
    'a round of tools beside thinking': { ...enabled, ...messagesRound('call_1') },
    'a forced tool': { tools: [messagesTool], tool_choice: { type: 'any' } },
    'a named tool': { tools: [messagesTool], tool_choice: { type: 'tool', name: 'count' } },
    'a forced tool beside thinking': {
      ...enabled,
      tools: [messagesTool],
      tool_choice: { type: 'any' },
    },
    temperature: { temperature: 0.2 },
    'temperature and top_p': { temperature: 0.2, top_p: 0.9 },
    'temperature beside thinking': { ...enabled, temperature: 0.2 },
    top_k: { top_k: 5 },
    'max_tokens above every ceiling': { max_tokens: 128_000 },
    stop: { stop_sequences: ['zzz'] },
    prefill: { messages: [user, { role: 'assistant', content: 'One' }] },
    'a person': { metadata: { user_id: 'ann' } },
  }),
];

const responsesTool = { type: 'function', name: 'count', parameters, strict: false };
const responsesRound = (id: string): object => ({
  tools: [responsesTool],
  input: [
    user,
    { type: 'function_call', call_id: id, name: 'count', arguments: '{"count":1}' },
    { type: 'function_call_output', call_id: id, output: '1' },
  ],
});

const responses: readonly RejectableRequest[] = [
  ...requestPerValue(
    efforts,
    (effort) => `effort ${effort}`,
    (effort) => ({ reasoning: { effort } }),
  ),
  ...requestPerValue(
    efforts,
    (effort) => `tools beside effort ${effort}`,
    (effort) => ({ reasoning: { effort }, tools: [responsesTool] }),
  ),
  ...requestPerValue(
    callIds,
    (id) => `a round of tools, ${id.slice(0, 20)}`,
    (id) => responsesRound(id),
  ),
  ...requestPerSchema('strict answer', (schema) => ({
    text: { format: { type: 'json_schema', name: 'count', schema, strict: true } },
  })),
  ...requestPerSchema('strict tool', (schema) => ({
    tools: [{ ...responsesTool, parameters: schema, strict: true }],
  })),
  ...requestsOfMap({
    plain: {},
    tools: { tools: [responsesTool] },
    'a forced tool': { tools: [responsesTool], tool_choice: 'required' },
    'a named tool': { tools: [responsesTool], tool_choice: { type: 'function', name: 'count' } },
    temperature: { temperature: 0.2 },
    'temperature and top_p': { temperature: 0.2, top_p: 0.9 },
    'temperature beside effort high': { temperature: 0.2, reasoning: { effort: 'high' } },
    max_output_tokens: { max_output_tokens: 5_000 },
    'max_output_tokens above every ceiling': { max_output_tokens: 500_000 },
    'role developer': { input: [{ role: 'developer', content: 'Be brief.' }, user] },
    'reasoning of another account': {
      store: false,
      input: [
        user,
        {
          type: 'reasoning',
          id: 'rs_elsewhere',
          summary: [],
          encrypted_content: 'c2VhbGVkIGVsc2V3aGVyZQ==',
        },
        {
          type: 'message',
          id: 'msg_elsewhere',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: 'One', annotations: [] }],
        },
        user,
      ],
    },
    'one tool at a time': { tools: [responsesTool], parallel_tool_calls: false },
    'fields of the interface': {
      user: 'ann',
      metadata: { team: 'one' },
      store: false,
      prompt_cache_key: 'one',
      safety_identifier: 'ann',
      truncation: 'auto',
    },
  }),
];

export const requestsOf: Readonly<Record<CallerName, readonly RejectableRequest[]>> = {
  chat,
  messages,
  responses,
};

/** Minimum body of every request. */
export const minimumOf: Readonly<Record<CallerName, object>> = {
  chat: { messages: [user] },
  messages: { max_tokens: 8_000, messages: [user] },
  responses: { input: 'hello' },
};

export const toolOf: Readonly<Record<CallerName, object>> = {
  chat: chatTool,
  messages: messagesTool,
  responses: responsesTool,
};
