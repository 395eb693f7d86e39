import { type DialectName } from '../../../src/protocol';
import { complaint, convert, describeLosses } from './convert';
import { laneFacts } from '../../../src/vendors';
import { type Json } from './transcripts';

const weather = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const picture = 'iVBORw0KGgo=';
const hello = [{ role: 'user', content: 'Hi' }];

function converted(from: DialectName, to: DialectName, body: Json, target = {}): Json {
  const { body: result } = convert(from, to, { model: 'm', ...body }, target);
  expect(complaint(to, result)).toBeUndefined();
  return result;
}

describe('Chat Completions to Messages', () => {
  const toMessages = (body: Json, target = {}): Json =>
    converted('chat', 'messages', { messages: hello, ...body }, target);

  test('system and developer text is hoisted, roles alternate and empty parts are removed', () => {
    const body = toMessages({
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'developer', content: 'Use metric.' },
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: '' },
        { role: 'system', content: 'Now in German.' },
        { role: 'user', content: [{ type: 'text', text: 'And?' }] },
      ],
    });
    expect(body.system).toEqual(
      ['Be brief.', 'Use metric.', 'Now in German.'].map((text) => ({ type: 'text', text })),
    );
    expect(body.messages).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Hi' },
          { type: 'text', text: 'And?' },
        ],
      },
    ]);
    expect(body.max_tokens).toBeGreaterThan(0);
  });

  test('consecutive tool results become one user turn with the results first', () => {
    const call = (id: string, text: string): Json => ({
      id,
      type: 'function',
      function: { name: 'get_weather', arguments: text },
    });
    const body = toMessages({
      messages: [
        ...hello,
        { role: 'assistant', content: null, tool_calls: [call('a', '{"city":"Bern"}'), call('b', '')] },
        { role: 'tool', tool_call_id: 'a', content: '7°' },
        { role: 'system', content: 'Metric.' },
        { role: 'tool', tool_call_id: 'b', content: [{ type: 'text', text: '8°' }] },
        { role: 'user', content: 'So?' },
      ],
    });
    expect((body.messages as Json[]).slice(1)).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'tool_use', id: 'a', name: 'get_weather', input: { city: 'Bern' } },
          { type: 'tool_use', id: 'b', name: 'get_weather', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'a', content: '7°' },
          { type: 'tool_result', tool_use_id: 'b', content: '8°' },
          { type: 'text', text: 'So?' },
        ],
      },
    ]);
    expect(body.system).toBe('Metric.');
  });

  test('invalid identifiers are rewritten in calls and results', () => {
    const round = (id: string): Json[] => [
      { role: 'assistant', tool_calls: [{ id, type: 'function', function: { name: 'f', arguments: '{}' } }] },
      { role: 'tool', tool_call_id: id, content: 'x' },
    ];
    const body = toMessages({ messages: [...hello, ...round('call:0'), ...round('call:0')] });
    const blocks = (body.messages as { content: Json[] }[]).flatMap(({ content }) => content);
    const [first, again] = blocks.map((block) => block.id).filter((id) => id);
    expect(first).not.toBe(again);
    expect(blocks.map((block) => block.tool_use_id).filter((id) => id)).toEqual([first, again]);
  });

  test('temperature is clamped, and the output limit is filled in or kept', () => {
    expect(toMessages({ temperature: 1.7 }).temperature).toBe(1);
    expect(toMessages({}, { maxOutputTokens: 777 }).max_tokens).toBe(777);
    expect(toMessages({ max_completion_tokens: 5 }).max_tokens).toBe(5);
    expect(toMessages({ max_tokens: 6, stop: 'END', user: 'u', seed: 3 })).toMatchObject({
      max_tokens: 6,
      stop_sequences: ['END'],
      metadata: { user_id: 'u' },
    });
  });

  test.each([
    ['auto', { type: 'auto' }],
    ['required', { type: 'any' }],
    ['none', { type: 'none' }],
    [
      { type: 'function', function: { name: 'get_weather' } },
      { type: 'tool', name: 'get_weather' },
    ],
  ])('tool choice %j is converted', (tool_choice, expected) => {
    const tools = [
      { type: 'function', function: { name: 'get_weather', parameters: weather } },
      { type: 'function', function: { name: 'now' } },
    ];
    const body = toMessages({ tools, tool_choice });
    expect(body.tool_choice).toEqual(expected);
    expect(body.tools).toEqual([
      { name: 'get_weather', input_schema: weather },
      { name: 'now', input_schema: { type: 'object', properties: {} } },
    ]);
    const singleCallChoice = toMessages({ tools, tool_choice, parallel_tool_calls: false }).tool_choice;
    expect(singleCallChoice).toEqual(
      tool_choice === 'none' ? expected : { ...expected, disable_parallel_tool_use: true },
    );
  });

  test('schema becomes the output format or a forced tool', () => {
    const schema = { type: 'object', properties: { a: { type: 'object', properties: {} } }, required: ['a'] };
    const response_format = { type: 'json_schema', json_schema: { name: 'x', schema } };
    expect(toMessages({ response_format }).output_config).toEqual({
      format: {
        type: 'json_schema',
        schema: {
          ...schema,
          properties: { a: { type: 'object', properties: {}, additionalProperties: false } },
          additionalProperties: false,
        },
      },
    });
    const encoded = convert(
      'chat',
      'messages',
      { model: 'm', messages: hello, response_format },
      { structuredOutput: 'tool' },
    );
    expect(encoded.body.tool_choice).toEqual({ type: 'tool', name: 'json_answer' });
    expect(encoded.reply.textTool).toBe('json_answer');
    const openSchema = { ...schema, additionalProperties: { type: 'string' } };
    const looseBody = toMessages({
      response_format: { type: 'json_schema', json_schema: { name: 'x', schema: openSchema } },
    });
    expect(looseBody.tools).toMatchObject([{ name: 'json_answer', input_schema: openSchema }]);
  });

  test('effort becomes thinking where the rules for thinking allow it', () => {
    expect(toMessages({ reasoning_effort: 'high', max_tokens: 20_000, temperature: 0.2 })).toMatchObject({
      thinking: { type: 'enabled', budget_tokens: 10_000 },
    });
    expect(toMessages({ reasoning_effort: 'high', max_tokens: 20_000, temperature: 0.2 })).not.toHaveProperty(
      'temperature',
    );
    expect(
      toMessages({ reasoning_effort: 'xhigh' }, { facts: laneFacts('claude-opus-4-6', {}) }),
    ).toMatchObject({
      thinking: { type: 'adaptive' },
      output_config: { effort: 'high' },
    });
    expect(toMessages({ reasoning_effort: 'none' }).thinking).toEqual({ type: 'disabled' });
    expect(toMessages({ reasoning_effort: 'high', max_tokens: 900 }).thinking).toBeUndefined();
    const forcedTool = { tools: [{ type: 'function', function: { name: 'f' } }], tool_choice: 'required' };
    expect(
      toMessages({ reasoning_effort: 'high', max_tokens: 9000, ...forcedTool }).thinking,
    ).toBeUndefined();
    const round = [
      ...hello,
      {
        role: 'assistant',
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'a', content: 'x' },
    ];
    expect(toMessages({ reasoning_effort: 'high', messages: round }).thinking).toBeUndefined();
  });

  test('images and files are converted', () => {
    const content = [
      { type: 'text', text: 'See' },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${picture}` } },
      { type: 'image_url', image_url: { url: 'https://pictures.example/a.png' } },
      { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' } },
    ];
    expect((toMessages({ messages: [{ role: 'user', content }] }).messages as Json[])[0]!.content).toEqual([
      { type: 'text', text: 'See' },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: picture } },
      { type: 'image', source: { type: 'url', url: 'https://pictures.example/a.png' } },
      {
        type: 'document',
        source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' },
        title: 'a.pdf',
      },
    ]);
  });

  test('conversation without a user turn, or opened by the assistant, is repaired', () => {
    expect(toMessages({ messages: [{ role: 'system', content: 'Say hi.' }] })).toMatchObject({
      messages: [{ role: 'user', content: 'Say hi.' }],
    });
    const openedMessages = toMessages({ messages: [{ role: 'assistant', content: 'Welcome. ' }] })
      .messages as Json[];
    expect(openedMessages.map(({ role }) => role)).toEqual(['user', 'assistant']);
  });
});

describe('Messages to Chat Completions', () => {
  const toChat = (body: Json, target = {}): Json =>
    converted('messages', 'chat', { max_tokens: 100, messages: hello, ...body }, target);

  const round: Json[] = [
    ...hello,
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'Hm.', signature: 'signed:Hm.' },
        { type: 'text', text: 'Looking.' },
        { type: 'tool_use', id: 'a', name: 'look', input: { at: 1 } },
        { type: 'tool_use', id: 'b', name: 'look', input: {} },
      ],
    },
    { role: 'system', content: 'Careful.' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'And then?' },
        {
          type: 'tool_result',
          tool_use_id: 'a',
          content: [
            { type: 'text', text: 'Seen.' },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: picture } },
          ],
        },
        { type: 'tool_result', tool_use_id: 'b', is_error: true, content: 'Failed.' },
      ],
    },
  ];

  test('results follow their calls, their images are moved and instructions come later', () => {
    expect((toChat({ messages: round }).messages as Json[]).slice(1)).toEqual([
      {
        role: 'assistant',
        content: 'Looking.',
        tool_calls: [
          { id: 'a', type: 'function', function: { name: 'look', arguments: '{"at":1}' } },
          { id: 'b', type: 'function', function: { name: 'look', arguments: '{}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'a', content: 'Seen.' },
      { role: 'tool', tool_call_id: 'b', content: 'Failed.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Returned by the tool call a:' },
          { type: 'image_url', image_url: { url: `data:image/png;base64,${picture}` } },
        ],
      },
      { role: 'system', content: 'Careful.' },
      { role: 'user', content: 'And then?' },
    ]);
    expect(describeLosses(convert('messages', 'chat', { model: 'm', messages: round }))).toEqual([
      'approximated messages.*.content.*.content.*',
      'dropped messages.*.content.*',
      'dropped messages.*.content.*.is_error',
      'dropped messages.*.content.*.signature',
    ]);
    expect(
      (toChat({ messages: round }, { reasoningHistory: true, model: 'sim-reason' }).messages as Json[])[1],
    ).toMatchObject({ reasoning_content: 'Hm.' });
  });

  test('unsupported fields of a coding agent are removed and all counted', () => {
    const mark = { type: 'ephemeral' };
    const body: Json = {
      model: 'm',
      max_tokens: 32_000,
      system: [
        { type: 'text', text: 'You are an agent.', cache_control: mark },
        { type: 'text', text: 'Rules.', cache_control: { ...mark, ttl: '1h' } },
      ],
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'Hi', cache_control: mark }] },
        { role: 'system', content: 'Tools may load later.' },
        { role: 'user', content: 'Go on.' },
      ],
      tools: [
        { name: 'search', description: 'd', input_schema: weather, cache_control: mark },
        { name: 'later', input_schema: weather, defer_loading: true },
        { type: 'web_search_20250305', name: 'web_search', max_uses: 3 },
      ],
      thinking: { type: 'adaptive', display: 'summarized' },
      output_config: { effort: 'max' },
      context_management: { edits: [{ type: 'clear_thinking_20251015' }] },
      metadata: { user_id: JSON.stringify({ account: 'x'.repeat(80), session_id: 's' }) },
      top_k: 5,
      stream: true,
    };
    const encoded = convert('messages', 'chat', body);
    expect(complaint('chat', encoded.body)).toBeUndefined();
    expect(encoded.body).toMatchObject({
      reasoning_effort: 'high',
      stream_options: { include_usage: true },
      tools: [{ function: { name: 'search' } }, { function: { name: 'later' } }],
    });
    expect(describeLosses(encoded)).toEqual([
      'approximated output_config.effort',
      'approximated thinking',
      'dropped context_management',
      'dropped messages.*.content.*.cache_control',
      'dropped metadata.user_id',
      'dropped system.*.cache_control 2',
      'dropped thinking.display',
      'dropped tools.*',
      'dropped tools.*.cache_control',
      'dropped tools.*.defer_loading',
      'dropped top_k',
    ]);
    expect(complaint('messages', convert('messages', 'messages', body).body)).toBeUndefined();
    expect(convert('messages', 'chat', body, { facts: laneFacts('gpt-4o', {}) }).body).not.toHaveProperty(
      'reasoning_effort',
    );
  });

  test('tool choice and single calls are converted', () => {
    const tools = [{ name: 'look', input_schema: weather }];
    const convertChoice = (tool_choice: Json): Json => toChat({ tools, tool_choice });
    expect(convertChoice({ type: 'any' }).tool_choice).toBe('required');
    expect(convertChoice({ type: 'auto', disable_parallel_tool_use: true })).toMatchObject({
      tool_choice: 'auto',
      parallel_tool_calls: false,
    });
    expect(convertChoice({ type: 'tool', name: 'look' }).tool_choice).toEqual({
      type: 'function',
      function: { name: 'look' },
    });
  });

  test('output format is strict if the schema is closed', () => {
    const closedSchema = {
      type: 'object',
      properties: { a: { type: 'string' } },
      required: ['a'],
      additionalProperties: false,
    };
    const convertFormat = (schema: Json): unknown =>
      toChat({ output_config: { format: { type: 'json_schema', schema } } }).response_format;
    expect(convertFormat(closedSchema)).toEqual({
      type: 'json_schema',
      json_schema: { name: 'answer', schema: closedSchema, strict: true },
    });
    expect(convertFormat(weather)).toEqual({
      type: 'json_schema',
      json_schema: { name: 'answer', schema: weather },
    });
  });

  test('long tool names are shortened and restored', () => {
    const name = `mcp__${'server'.repeat(12)}__tool`;
    const body = {
      model: 'm',
      messages: hello,
      tools: [{ name, input_schema: weather }],
      tool_choice: { type: 'tool', name },
    };
    const { body: sent, reply } = convert('messages', 'chat', body);
    const [{ function: declared }] = sent.tools as [{ function: { name: string } }];
    expect(complaint('chat', sent)).toBeUndefined();
    expect(declared.name.length).toBeLessThanOrEqual(64);
    expect(reply.tools.originOf(declared.name)).toEqual({ name });
  });
});
