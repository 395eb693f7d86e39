import type { TextPiece } from '#extension';
import { describeCall } from '../../../src/gateway/intake/describe';
import { gateRequestOf } from '../../../src/gateway/intake/gate-request';
import type { Inbound } from '../../../src/gateway/intake/inbound';
import { operations } from '../../../src/gateway/operations/operation';
import { type ParsedJsonObject, readJsonObject } from '../../../src/kernel';

const caller = { keyId: 1, attribution: { userId: 2, organisationId: 3, departmentId: 4, projectId: 5 } };

const requestOf = (name: keyof typeof operations, body: object | string) => {
  const text = readJsonObject(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)));
  const inbound = { ...(text as ParsedJsonObject), headers: {}, form: null, caller, requestId: 'r' };
  return gateRequestOf(describeCall(inbound as unknown as Inbound, operations[name]));
};

const textsOf = (name: keyof typeof operations, body: object | string): string[] =>
  requestOf(name, { model: 'm', ...(typeof body === 'string' ? {} : body) }).texts.map(
    ({ role, kind, text }: TextPiece) => `${role} ${kind} ${text}`,
  );

test('request carries its caller and can be printed', () => {
  const request = requestOf('chat', {
    model: 'm',
    messages: [{ role: 'user', content: 'Hello' }],
    user: 'somebody',
    metadata: { tags: ['a'] },
    region: 'EU',
    stream: true,
  });
  expect(JSON.parse(JSON.stringify(request))).toEqual({
    requestId: 'r',
    operation: 'chat',
    model: 'm',
    stream: true,
    region: 'eu',
    endUser: 'somebody',
    tags: ['a'],
    key: { id: 1, userId: 2, organisationId: 3, departmentId: 4, projectId: 5 },
    texts: [{ role: 'user', kind: 'text', text: 'Hello' }],
  });
});

test('Chat Completions texts are read with their roles', () => {
  expect(
    textsOf('chat', {
      tools: [
        {
          type: 'function',
          function: {
            name: 'look',
            description: 'd1',
            parameters: {
              type: 'object',
              description: 'd2',
              properties: {
                description: { type: 'string', description: 'd3', enum: ['e1'] },
                examples: { type: 'array', items: { type: 'string', examples: ['e2'] } },
              },
            },
          },
        },
      ],
      messages: [
        { role: 'developer', content: 's' },
        {
          role: 'user',
          name: 'n',
          content: [
            { type: 'text', text: 'u' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
            { type: 'file', file: { filename: 'f.pdf', file_data: 'AAAA' } },
          ],
        },
        {
          role: 'assistant',
          content: 'a',
          reasoning_content: 'r',
          refusal: 'x',
          tool_calls: [
            { id: 'c1', type: 'function', function: { name: 'look', arguments: '{"q":"w"}' } },
            { id: 'c2', type: 'custom', custom: { name: 'cut', input: 'i' } },
          ],
        },
        { role: 'tool', tool_call_id: 'c1', content: [{ type: 'text', text: 't' }] },
      ],
      prediction: { type: 'content', content: 'p' },
      response_format: { type: 'json_schema', json_schema: { name: 'j', schema: { title: 'd4' } } },
      something_new: { deep: ['?'] },
    }),
  ).toEqual([
    'system definition d1',
    'system definition d2',
    'system definition description',
    'system definition d3',
    'system definition e1',
    'system definition examples',
    'system definition e2',
    'system text s',
    'user text u',
    'user text f.pdf',
    'assistant text a',
    'assistant text r',
    'assistant text x',
    'assistant arguments {"q":"w"}',
    'assistant arguments i',
    'tool result t',
    'assistant text p',
    'system definition d4',
    'user text ?',
  ]);
});

test('Messages texts are read with their roles', () => {
  expect(
    textsOf('messages', {
      system: [{ type: 'text', text: 's', cache_control: { type: 'ephemeral' } }],
      messages: [
        {
          role: 'user',
          content: [
            {
              type: 'document',
              title: 'dt',
              context: 'dc',
              source: { type: 'text', media_type: 'text/plain', data: 'dd' },
            },
            { type: 'document', source: { type: 'content', content: [{ type: 'text', text: 'de' }] } },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
            {
              type: 'search_result',
              title: 'st',
              source: 'https://s',
              content: [{ type: 'text', text: 'sc' }],
            },
          ],
        },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'k', signature: 'sig' },
            { type: 'redacted_thinking', data: 'AAAA' },
            {
              type: 'text',
              text: 'a',
              citations: [{ type: 'char_location', cited_text: 'ct', document_title: 'ct2' }],
            },
            { type: 'tool_use', id: 't1', name: 'look', input: { q: 'w' } },
            { type: 'server_tool_use', id: 't2', name: 'web_search', input: { query: 'sq' } },
            {
              type: 'web_search_tool_result',
              tool_use_id: 't2',
              content: [
                { type: 'web_search_result', url: 'https://x', title: 'wt', encrypted_content: 'AAAA' },
              ],
            },
          ],
        },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 't1',
              content: [
                { type: 'text', text: 'r1' },
                { type: 'tool_reference', tool_name: 'x' },
              ],
            },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 't1', content: 'r2' },
            { type: 'text', text: 'u' },
          ],
        },
      ],
      tools: [
        { name: 'look', description: 'd', input_schema: { type: 'object' }, input_examples: [{ q: 'ex' }] },
      ],
      max_tokens: 5,
    }),
  ).toEqual([
    'system text s',
    'user text dt',
    'user text dc',
    'user text dd',
    'user text de',
    'user text st',
    'user text https://s',
    'user text sc',
    'assistant text k',
    'assistant text a',
    'assistant text ct',
    'assistant text ct2',
    'assistant arguments {"q":"w"}',
    'assistant arguments {"query":"sq"}',
    'tool result wt',
    'tool result r1',
    'tool result r2',
    'user text u',
    'system definition d',
    'system definition ex',
  ]);
});

// "gates do not see property names of tool schemas and escaped JSON in tool arguments".
test('gate sees the property names of tool schemas', () => {
  const schema = {
    type: 'object',
    properties: { falcon_id: { type: 'object', properties: { wing_span: { type: 'number' } } } },
    $defs: { beak: { type: 'string' } },
    required: ['falcon_id'],
  };
  expect(
    textsOf('messages', {
      messages: [{ role: 'user', content: 'u' }],
      tools: [{ name: 'look', input_schema: schema }],
      max_tokens: 5,
    }),
  ).toEqual([
    'user text u',
    'system definition falcon_id',
    'system definition wing_span',
    'system definition beak',
  ]);
});

test('gate sees tool arguments without unnecessary JSON escapes', () => {
  const escapedArguments = String.raw`{"q":"caf\u00e9 \u0066alcon https:\/\/x","keep":"\"\\u0041\n\ud83d\ude00","n":10.0}`;
  const expectedArguments = String.raw`{"q":"café falcon https://x","keep":"\"\\u0041\n\ud83d\ude00","n":10.0}`;
  const call = (name: string, text: string) => ({
    role: 'assistant',
    tool_calls: [{ id: 'c1', type: 'function', function: { name, arguments: text } }],
  });
  expect(textsOf('chat', { messages: [call('look', escapedArguments)] })).toEqual([
    `assistant arguments ${expectedArguments}`,
  ]);
  expect(JSON.parse(expectedArguments)).toEqual(JSON.parse(escapedArguments));
  // Text that is not JSON has no escapes.
  const path = String.raw`C:\users\u0041`;
  expect(textsOf('chat', { messages: [call('cut', path)] })).toEqual([`assistant arguments ${path}`]);
});

test.each(['responses', 'native'] as const)('%s request yields its texts with their roles', (name) => {
  expect(
    textsOf(name, {
      stream: true,
      instructions: 's',
      prompt: {
        id: 'pmpt_1',
        version: '2',
        variables: { name: 'v1', topic: { type: 'input_text', text: 'v2' } },
      },
      input: [
        { role: 'user', content: 'u1' },
        { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 's2' }] },
        {
          type: 'message',
          role: 'assistant',
          content: [
            { type: 'output_text', text: 'a', logprobs: [{ token: 'a' }] },
            { type: 'refusal', refusal: 'x' },
          ],
        },
        {
          type: 'reasoning',
          id: 'rs_1',
          summary: [{ type: 'summary_text', text: 'rs' }],
          encrypted_content: 'AAAA',
        },
        { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{"q":1}' },
        { type: 'function_call_output', call_id: 'c1', output: 'o1' },
        { type: 'custom_tool_call', call_id: 'c2', name: 'cut', input: 'i' },
        { type: 'custom_tool_call_output', call_id: 'c2', output: [{ type: 'input_text', text: 'o2' }] },
        { type: 'local_shell_call', call_id: 'c3', action: { type: 'exec', command: ['ls', 'x'] } },
        { type: 'mcp_call', name: 'm', arguments: '{}', output: 'o3' },
      ],
      tools: [
        {
          type: 'namespace',
          name: 'n',
          description: 'd1',
          tools: [{ type: 'function', name: 'f', description: 'd2' }],
        },
        {
          type: 'mcp',
          server_label: 'l',
          server_description: 'd3',
          authorization: 'secret',
          headers: { a: 'secret' },
        },
      ],
      text: { format: { type: 'json_schema', name: 'j', schema: { description: 'd4' } } },
    }),
  ).toEqual([
    'system text s',
    'user text v1',
    'user text v2',
    'user text u1',
    'system text s2',
    'assistant text a',
    'assistant text x',
    'assistant text rs',
    'assistant arguments {"q":1}',
    'tool result o1',
    'assistant arguments i',
    'tool result o2',
    'assistant arguments {"type":"exec","command":["ls","x"]}',
    'assistant arguments {}',
    'tool result o3',
    'system definition d1',
    'system definition d2',
    'system definition d3',
    'system definition d4',
  ]);
});

test.each([
  [
    'completions',
    { prompt: ['one', 'two'], suffix: 'three' },
    ['user text one', 'user text two', 'user text three'],
  ],
  ['completions', { prompt: [1, 2] }, []],
  ['embeddings', { input: ['one', [1, 2]] }, ['user text one']],
  ['moderation', { input: [{ type: 'text', text: 'one' }] }, ['user text one']],
  [
    'rerank',
    { query: 'q', documents: ['one', { name: 'two', text: 'three' }] },
    ['user text q', 'user text one', 'user text two', 'user text three'],
  ],
  ['image', { prompt: 'one' }, ['user text one']],
  [
    'speech',
    { input: 'one', voice: 'alloy', instructions: 'softly' },
    ['user text one', 'system text softly'],
  ],
] as const)('texts of a %s request are read from %j', (name, body, expected) => {
  expect(textsOf(name, body)).toEqual(expected);
});

test('arguments keep numbers that a double would change', () => {
  const body =
    '{"model":"m","max_tokens":5,"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"b","input":{ "id": 12345678901234567890 }}]}]}';
  expect(requestOf('messages', body).texts.map(({ text }) => text)).toEqual([
    '{ "id": 12345678901234567890 }',
  ]);
});

test('texts are read once, on first access', () => {
  const request = requestOf('chat', { model: 'm', messages: [{ role: 'user', content: 'Hello' }] });
  expect(request.texts).toBe(request.texts);
});
