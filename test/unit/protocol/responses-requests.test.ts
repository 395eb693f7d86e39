import { type DialectName } from '../../../src/protocol';
import { complaint, convert, describeLosses, refusal } from './convert';
import { type Json } from './transcripts';

const weather = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const hello = [{ role: 'user', content: 'Hi' }];

function converted(from: DialectName, to: DialectName, body: Json, target = {}): Json {
  const { body: result } = convert(from, to, { model: 'm', ...body }, target);
  expect(complaint(to, result)).toBeUndefined();
  return result;
}

describe('Responses requests', () => {
  const turn: Json = {
    model: 'm',
    input: [
      { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'You are an agent.' }] },
      { type: 'message', id: 'msg_1', role: 'user', content: [{ type: 'input_text', text: 'Patch it.' }] },
      {
        type: 'reasoning',
        id: 'rs_1',
        summary: [{ type: 'summary_text', text: 'Hm.' }],
        encrypted_content: 'e',
      },
      {
        type: 'function_call',
        id: 'fc_1',
        call_id: 'a',
        name: 'read',
        namespace: 'files',
        arguments: '{"path":"x"}',
      },
      { type: 'custom_tool_call', call_id: 'b', name: 'apply_patch', input: '*** Begin' },
      { type: 'function_call_output', call_id: 'a', output: 'text of x' },
      { type: 'custom_tool_call_output', call_id: 'b', output: 'applied' },
    ],
    tools: [
      {
        type: 'namespace',
        name: 'files',
        description: 'Files',
        tools: [{ type: 'function', name: 'read', parameters: weather, strict: false }],
      },
      {
        type: 'custom',
        name: 'apply_patch',
        description: 'Patch',
        format: { type: 'grammar', syntax: 'lark', definition: 'x' },
      },
      { type: 'web_search', external_web_access: false },
    ],
    tool_choice: 'auto',
    parallel_tool_calls: true,
    reasoning: { effort: 'medium', summary: 'auto' },
    store: false,
    include: ['reasoning.encrypted_content'],
    prompt_cache_key: 'k',
    client_metadata: { a: 'b' },
    stream: true,
  };

  test('become Chat Completions with namespaces and plain-text tools as functions', () => {
    const body = converted('responses', 'chat', turn, { developerRole: false });
    expect(body.messages).toEqual([
      { role: 'system', content: 'You are an agent.' },
      { role: 'user', content: 'Patch it.' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'a', type: 'function', function: { name: 'files__read', arguments: '{"path":"x"}' } },
          {
            id: 'b',
            type: 'function',
            function: { name: 'apply_patch', arguments: '{"input":"*** Begin"}' },
          },
        ],
      },
      { role: 'tool', tool_call_id: 'a', content: 'text of x' },
      { role: 'tool', tool_call_id: 'b', content: 'applied' },
    ]);
    expect(body).toMatchObject({
      reasoning_effort: 'medium',
      prompt_cache_key: 'k',
      parallel_tool_calls: true,
    });
    expect(describeLosses(convert('responses', 'chat', turn))).toEqual([
      'approximated tools.*',
      'approximated tools.*.tools.*',
      'dropped client_metadata',
      'dropped include',
      'dropped input.*',
      'dropped input.*.signature',
      'dropped reasoning.summary',
      'dropped tools.*',
    ]);
  });

  test('become Messages with system, tools and tool results', () => {
    const body = converted('responses', 'messages', turn);
    expect(body).toMatchObject({
      system: 'You are an agent.',
      tools: [{ name: 'files__read' }, { name: 'apply_patch' }],
      messages: [
        { role: 'user', content: 'Patch it.' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'a' }, { input: { input: '*** Begin' } }] },
        { role: 'user', content: [{ tool_use_id: 'a' }, { tool_use_id: 'b', content: 'applied' }] },
      ],
    });
  });

  test.each(['chat', 'messages'] as const)(
    'converted from %s are not stored, and too small limits are raised',
    (from) => {
      const body = converted(from, 'responses', { messages: hello, max_tokens: 1 });
      expect(body).toEqual({
        model: 'm',
        input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] }],
        max_output_tokens: 16,
        store: false,
      });
    },
  );

  test.each([true, false])('store: %p is handled by the gateway and not forwarded', (store) => {
    expect(converted('responses', 'chat', { model: 'm', input: 'Hi', store })).not.toHaveProperty('store');
  });

  test.each([
    ['previous_response_id', 'resp_1'],
    ['conversation', 'conv_1'],
    ['background', true],
    ['prompt', { id: 'p' }],
  ])('%s is rejected as unsupported', (param, value) => {
    const fault = refusal('responses', 'chat', { model: 'm', input: 'Hi', [param]: value });
    expect([fault.code, fault.options.param]).toEqual(['unsupported_parameter', param]);
  });
});

test('thread is rejected with the error that its client handles', () => {
  const fault = refusal('messages', 'chat', {
    model: 'm',
    max_tokens: 9,
    messages: hello,
    thread: { type: 'create' },
  });
  expect(fault.code).toBe('unsupported_parameter');
  expect(fault.status).toBe(400);
  expect(fault.options).toMatchObject({
    param: 'thread',
    details: { error_code: 'thread_unsupported_request', unsupported: ['thread'] },
  });
});

test.each<[DialectName, DialectName, Json, string]>([
  ['chat', 'messages', { messages: hello, n: 2 }, 'n'],
  ['chat', 'messages', { messages: hello, modalities: ['text', 'audio'] }, 'modalities'],
  ['chat', 'messages', { messages: hello, functions: [] }, 'functions'],
  [
    'chat',
    'messages',
    { messages: [{ role: 'user', content: [{ type: 'video', video: 1 }] }] },
    'messages.0.content.0.type',
  ],
  [
    'chat',
    'messages',
    {
      messages: [
        { role: 'user', content: [{ type: 'input_audio', input_audio: { data: 'x', format: 'wav' } }] },
      ],
    },
    'messages.0.content.0',
  ],
  [
    'chat',
    'responses',
    { messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'file_1' } }] }] },
    'messages.0.content.0',
  ],
  ['messages', 'chat', { messages: hello, inference_geo: 'us' }, 'inference_geo'],
  ['messages', 'chat', { messages: hello, mcp_servers: [{ url: 'x' }] }, 'mcp_servers'],
  [
    'messages',
    'chat',
    {
      messages: hello,
      tools: [{ type: 'computer_20250124', name: 'computer' }],
      tool_choice: { type: 'any' },
    },
    'tool_choice',
  ],
  [
    'messages',
    'chat',
    {
      messages: [
        { role: 'user', content: [{ type: 'document', source: { type: 'url', url: 'https://x.example' } }] },
      ],
    },
    'messages.0.content.0.source',
  ],
  ['responses', 'messages', { input: [{ type: 'item_reference', id: 'x' }] }, 'input.0'],
])('%s to %s rejects a feature that it requires: %j', (from, to, body, param) => {
  const fault = refusal(from, to, { model: 'm', ...body });
  expect([fault.code, fault.options.param]).toEqual(['unsupported_parameter', param]);
});

test("caller's field cannot reach the prototype of a body", () => {
  const body = JSON.parse(
    '{"model":"m","messages":[{"role":"user","content":"Hi"}],"__proto__":{"polluted":1},"constructor":1}',
  ) as Json;
  const encoded = convert('chat', 'chat', body);
  expect((encoded.body as { polluted?: number }).polluted).toBeUndefined();
});

test('choice of an unavailable tool is rejected, and removed from a list of allowed tools', () => {
  const tools = [
    { type: 'web_search' },
    { type: 'function', name: 'look', parameters: weather, strict: false },
  ];
  const base = { model: 'm', input: 'Hi', tools };
  const singleChoice = refusal('responses', 'chat', { ...base, tool_choice: { type: 'web_search' } });
  expect([singleChoice.code, singleChoice.options.param]).toEqual(['unsupported_parameter', 'tool_choice']);
  const allowedTools = {
    type: 'allowed_tools',
    mode: 'auto',
    tools: [{ type: 'web_search' }, { type: 'function', name: 'look' }],
  };
  expect(convert('responses', 'chat', { ...base, tool_choice: allowedTools }).body.tool_choice).toEqual({
    type: 'allowed_tools',
    allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'look' } }] },
  });
});
