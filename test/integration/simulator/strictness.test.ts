import { startSimulator, type Simulator } from '../../support/simulator';
import { call, chatTools, jsonOf, messagesTools, openaiHeaders, type RawResponse } from './client';

interface StrictOpenaiError {
  error: { message: string; type: string; param: string | null; code: string | null };
}
interface StrictMessagesError {
  type: string;
  error: { type: string; message: string; details?: unknown };
}

let simulator: Simulator;
beforeAll(async () => void (simulator = await startSimulator()));
afterAll(() => simulator.stop());

const user = { role: 'user', content: 'hello' };
const toolCallMessage = {
  role: 'assistant',
  content: null,
  tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'get_time', arguments: '{}' } }],
};
const toolResultMessage = { role: 'tool', tool_call_id: 'call_1', content: 'noon' };

function sendChat(more: object): Promise<RawResponse> {
  return call(`${simulator.url}/v1/chat/completions`, { model: 'sim-small', messages: [user], ...more });
}

test.each<[string, object, number, string | null, string | RegExp]>([
  ['an unknown field', { top_k: 4 }, 400, 'unknown_parameter', "Unknown parameter: 'top_k'."],
  ['thinking', { thinking: { type: 'enabled' } }, 400, 'unknown_parameter', /'thinking'/],
  [
    'cache_control in a message',
    { messages: [{ role: 'user', content: [{ type: 'text', text: 'x', cache_control: {} }] }] },
    400,
    'unknown_parameter',
    /'messages\[0\]\.content\[0\]\.cache_control'/,
  ],
  [
    'defer_loading on a tool',
    { tools: [{ ...chatTools[0], defer_loading: true }] },
    400,
    'unknown_parameter',
    /'tools\[0\]\.defer_loading'/,
  ],
  [
    'a tool without an object schema',
    withTool({ type: 'string' }),
    400,
    'invalid_function_parameters',
    /type: "object"/,
  ],
  ['a call without its answer', { messages: [user, toolCallMessage, user] }, 400, 'invalid_value', /call_1/],
  ['a call at the end', { messages: [user, toolCallMessage] }, 400, 'invalid_value', /call_1/],
  [
    'an answer without its call',
    { messages: [user, toolResultMessage] },
    400,
    'invalid_value',
    /role 'tool'/,
  ],
  [
    'an answer with another id',
    { messages: [user, toolCallMessage, { ...toolResultMessage, tool_call_id: 'call_2' }] },
    400,
    'invalid_value',
    /role 'tool'/,
  ],
  ['temperature over 2', { temperature: 2.1 }, 400, 'invalid_value', /temperature/],
  [
    'stream options without a stream',
    { stream_options: { include_usage: true } },
    400,
    'invalid_value',
    /stream_options/,
  ],
  ['a tool choice without tools', { tool_choice: 'auto' }, 400, 'invalid_value', /tool_choice/],
  ['both limits', { max_tokens: 9, max_completion_tokens: 9 }, 400, 'invalid_value', /same time/],
  ['no messages', { messages: [] }, 400, 'invalid_value', /empty array/],
  [
    'a role that every object knows',
    { messages: [{ role: 'constructor', content: 'x' }] },
    400,
    'invalid_value',
    /constructor/,
  ],
  [
    'a part of a type that every object knows',
    { messages: [{ role: 'user', content: [{ type: 'toString' }] }] },
    400,
    'invalid_value',
    /toString/,
  ],
  ['null content', { messages: [{ role: 'user', content: null }] }, 400, 'invalid_type', /content/],
  [
    'an image from an assistant',
    { messages: [{ role: 'assistant', content: [imagePart()] }] },
    400,
    'invalid_value',
    /assistant/,
  ],
  ['an unknown model', { model: 'gpt-x' }, 404, 'model_not_found', /`gpt-x` does not exist/],
  [
    'a prompt over the window',
    { model: 'sim-1k', messages: [{ role: 'user', content: 'x'.repeat(4004) }] },
    400,
    'context_length_exceeded',
    /maximum context length is 1000 tokens.*1001 tokens/,
  ],
  [
    'a filtered prompt',
    { messages: [{ role: 'user', content: '[[filter]]' }] },
    400,
    'content_filter',
    /filtered/,
  ],
  ['a loose strict schema', withLooseSchema(), 400, 'invalid_json_schema', /additionalProperties/],
  [
    'reasoning_content to a model that shows none',
    { messages: [user, { role: 'assistant', content: 'x', reasoning_content: 'y' }] },
    400,
    'unknown_parameter',
    /reasoning_content/,
  ],
])('chat refuses %s', async (_name, more, status, code, message) => {
  const response = await sendChat(more);
  const { error } = jsonOf<StrictOpenaiError>(response);
  expect({ status: response.status, code: error.code, type: error.type }).toEqual({
    status,
    code,
    type: 'invalid_request_error',
  });
  expect(error.message).toMatch(message);
});

function withTool(parameters: object): object {
  return { tools: [{ type: 'function', function: { name: 'f', parameters } }] };
}

function imagePart(): object {
  return { type: 'image_url', image_url: { url: 'https://example.com/a.png' } };
}

function withLooseSchema(): object {
  const schema = { type: 'object', properties: {} };
  return { response_format: { type: 'json_schema', json_schema: { name: 'x', strict: true, schema } } };
}

const toolUse = { type: 'tool_use', id: 'toolu_1', name: 'get_time', input: {} };
const result = { type: 'tool_result', tool_use_id: 'toolu_1', content: 'noon' };
const toolUseMessage = { role: 'assistant', content: [toolUse] };

function sendMessages(more: object): Promise<RawResponse> {
  const body = { model: 'sim-small', max_tokens: 100, messages: [user], ...more };
  return call(`${simulator.url}/v1/messages`, body);
}

test.each<[string, object, number, string, string | RegExp]>([
  ['no max_tokens', { max_tokens: undefined }, 400, 'invalid_request_error', 'max_tokens: Field required'],
  [
    'an unknown field',
    { frequency_penalty: 1 },
    400,
    'invalid_request_error',
    'frequency_penalty: Extra inputs are not permitted',
  ],
  ['temperature over 1', { temperature: 1.5 }, 400, 'invalid_request_error', 'temperature: range: 0..1'],
  [
    'an assistant first',
    { messages: [{ role: 'assistant', content: 'x' }] },
    400,
    'invalid_request_error',
    /first message/,
  ],
  ['the same role twice', { messages: [user, user] }, 400, 'invalid_request_error', /roles must alternate/],
  [
    'an empty text block',
    { messages: [{ role: 'user', content: [{ type: 'text', text: '' }] }] },
    400,
    'invalid_request_error',
    /must be non-empty/,
  ],
  [
    'a blank text block',
    { messages: [{ role: 'user', content: [{ type: 'text', text: ' ' }] }] },
    400,
    'invalid_request_error',
    /non-whitespace/,
  ],
  [
    'empty content',
    { messages: [{ role: 'user', content: '' }] },
    400,
    'invalid_request_error',
    /non-empty content/,
  ],
  [
    'a tool_use without its result',
    { messages: [user, toolUseMessage, user] },
    400,
    'invalid_request_error',
    /without `tool_result` blocks immediately after: toolu_1/,
  ],
  [
    'a result without its tool_use',
    { messages: [{ role: 'user', content: [result] }] },
    400,
    'invalid_request_error',
    /unexpected `tool_use_id`/,
  ],
  [
    'a result after text',
    { messages: [user, toolUseMessage, { role: 'user', content: [{ type: 'text', text: 'x' }, result] }] },
    400,
    'invalid_request_error',
    /must come first/,
  ],
  [
    'thinking with a forged signature',
    {
      messages: [
        user,
        { role: 'assistant', content: [{ type: 'thinking', thinking: 'x', signature: 'y' }] },
        user,
      ],
    },
    400,
    'invalid_request_error',
    /Invalid `signature`/,
  ],
  [
    'thinking over the limit',
    { thinking: { type: 'enabled', budget_tokens: 2000 } },
    400,
    'invalid_request_error',
    /must be greater than/,
  ],
  [
    'a cooled thinker',
    { max_tokens: 3000, temperature: 0, thinking: { type: 'enabled', budget_tokens: 2000 } },
    400,
    'invalid_request_error',
    /may only be set to 1/,
  ],
  [
    'five cache marks',
    {
      messages: [
        {
          role: 'user',
          content: Array.from({ length: 5 }, () => ({
            type: 'text',
            text: 'x',
            cache_control: { type: 'ephemeral' },
          })),
        },
      ],
    },
    400,
    'invalid_request_error',
    /Found 5/,
  ],
  ['a tool of the other style', { tools: chatTools }, 400, 'invalid_request_error', /tools\.0/],
  [
    'two tools of one name',
    { tools: [messagesTools[0], messagesTools[0]] },
    400,
    'invalid_request_error',
    /unique/,
  ],
  ['a thread', { thread: { type: 'create' } }, 400, 'invalid_request_error', /thread/],
  ['an unknown model', { model: 'claude-x' }, 404, 'not_found_error', 'model: claude-x'],
  [
    'a prompt over the window',
    { model: 'sim-1k', messages: [{ role: 'user', content: 'x'.repeat(4004) }] },
    400,
    'invalid_request_error',
    'prompt is too long: 1001 tokens > 1000 maximum',
  ],
])('messages refuses %s', async (_name, more, status, type, message) => {
  const response = await sendMessages(more);
  const body = jsonOf<StrictMessagesError>(response);
  expect({ status: response.status, type: body.type, kind: body.error.type }).toEqual({
    status,
    type: 'error',
    kind: type,
  });
  expect(body.error.message).toMatch(message);
});

test("chat accepts its own replies, also as completed by the vendor's client", async () => {
  const [{ function: called, ...asked }] = toolCallMessage.tool_calls as [
    (typeof toolCallMessage.tool_calls)[0],
  ];
  const completedCall = { ...asked, function: { ...called, parsed_arguments: {} } };
  const completedMessage = {
    ...toolCallMessage,
    tool_calls: [completedCall],
    refusal: null,
    annotations: [],
    parsed: null,
  };
  expect(
    (await sendChat({ messages: [user, completedMessage, toolResultMessage], tools: chatTools })).status,
  ).toBe(200);
});

test('messages accepts system messages inside a conversation, deferred tools, adaptive thinking and any query', async () => {
  const tools = [{ ...messagesTools[0], defer_loading: true, cache_control: { type: 'ephemeral' } }];
  const body = {
    model: 'sim-small',
    max_tokens: 100,
    tools,
    system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral', ttl: '1h' } }],
    thinking: { type: 'adaptive', display: 'summarized' },
    context_management: { edits: [] },
    output_config: { effort: 'high' },
    metadata: { user_id: '{"session_id":"x"}' },
    messages: [user, { role: 'system', content: 'Now be kind.' }, { role: 'assistant', content: 'ok' }, user],
  };
  const response = await call(`${simulator.url}/v1/messages?beta=true`, body);
  expect([response.status, response.bytes.toString()]).toEqual([200, expect.stringContaining('end_turn')]);
});

test('lenient roles allow two consecutive messages of one role', async () => {
  const lenientSimulator = await startSimulator({ roles: 'lenient' });
  const body = { model: 'sim-small', max_tokens: 10, messages: [user, user] };
  const response = await call(`${lenientSimulator.url}/v1/messages`, body);
  await lenientSimulator.stop();
  expect(response.status).toBe(200);
});

test.each<[string, object, RegExp]>([
  ['a chat body', { messages: [user] }, /Missing required parameter: 'input'/],
  ['an unknown field', { input: 'x', max_tokens: 9 }, /Unknown parameter: 'max_tokens'/],
  ['an input that is no list', { input: { role: 'user' } }, /Invalid type for 'input'/],
  [
    'an output without its call',
    { input: [{ type: 'function_call_output', call_id: 'c', output: 'x' }] },
    /No tool call found/,
  ],
  [
    'a call without its output',
    { input: [{ type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' }] },
    /No tool output found/,
  ],
  [
    'input text from an assistant',
    { input: [{ role: 'assistant', content: [{ type: 'input_text', text: 'x' }] }] },
    /assistant/,
  ],
  [
    'tools that a user adds',
    { input: [{ type: 'additional_tools', role: 'user', tools: [] }, user] },
    /Invalid value: 'user'/,
  ],
  [
    'added tools in the form of chat',
    { input: [{ type: 'additional_tools', role: 'developer', tools: chatTools }, user] },
    /Missing required parameter: 'input\[0\]\.tools\[0\]\.name'/,
  ],
  ['a nested chat tool', { input: 'x', tools: chatTools }, /Missing required parameter: 'tools\[0\]\.name'/],
])('responses refuses %s', async (_name, more, message) => {
  const response = await call(`${simulator.url}/v1/responses`, { model: 'sim-small', ...more });
  expect(response.status).toBe(400);
  expect(jsonOf<StrictOpenaiError>(response).error.message).toMatch(message);
});

test('unknown routes, wrong methods and malformed JSON return the error of the vendor', async () => {
  expect((await call(`${simulator.url}/v1/nothing`, {})).status).toBe(404);
  const getOptions = { method: 'GET', headers: openaiHeaders };
  expect((await call(`${simulator.url}/v1/chat/completions`, undefined, getOptions)).status).toBe(405);
  const malformed = await call(`${simulator.url}/v1/messages`, '{"model":');
  expect([malformed.status, jsonOf<StrictMessagesError>(malformed).error.type]).toEqual([
    400,
    'invalid_request_error',
  ]);
});
