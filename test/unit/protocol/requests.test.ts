import { type DialectName } from '../../../src/protocol';
import { complaint, convert, losses } from './convert';
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

describe('chat to messages', () => {
  const to = (body: Json, target = {}): Json =>
    converted('chat', 'messages', { messages: hello, ...body }, target);

  test('system and developer text is hoisted from anywhere, roles alternate, nothing is empty', () => {
    const body = to({
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

  test('tool results in a row become one user turn, results first', () => {
    const call = (id: string, text: string): Json => ({
      id,
      type: 'function',
      function: { name: 'get_weather', arguments: text },
    });
    const body = to({
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

  test('identifiers that this dialect would refuse are rewritten on both sides', () => {
    const round = (id: string): Json[] => [
      { role: 'assistant', tool_calls: [{ id, type: 'function', function: { name: 'f', arguments: '{}' } }] },
      { role: 'tool', tool_call_id: id, content: 'x' },
    ];
    const body = to({ messages: [...hello, ...round('call:0'), ...round('call:0')] });
    const blocks = (body.messages as { content: Json[] }[]).flatMap(({ content }) => content);
    const [first, again] = blocks.map((block) => block.id).filter((id) => id);
    expect(first).not.toBe(again);
    expect(blocks.map((block) => block.tool_use_id).filter((id) => id)).toEqual([first, again]);
  });

  test('limits: the temperature is clamped, the output limit filled in or kept', () => {
    expect(to({ temperature: 1.7 }).temperature).toBe(1);
    expect(to({}, { maxOutputTokens: 777 }).max_tokens).toBe(777);
    expect(to({ max_completion_tokens: 5 }).max_tokens).toBe(5);
    expect(to({ max_tokens: 6, stop: 'END', user: 'u', seed: 3 })).toMatchObject({
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
  ])('tool choice %j', (tool_choice, expected) => {
    const tools = [
      { type: 'function', function: { name: 'get_weather', parameters: weather } },
      { type: 'function', function: { name: 'now' } },
    ];
    const body = to({ tools, tool_choice });
    expect(body.tool_choice).toEqual(expected);
    expect(body.tools).toEqual([
      { name: 'get_weather', input_schema: weather },
      { name: 'now', input_schema: { type: 'object', properties: {} } },
    ]);
    const alone = to({ tools, tool_choice, parallel_tool_calls: false }).tool_choice;
    expect(alone).toEqual(
      tool_choice === 'none' ? expected : { ...expected, disable_parallel_tool_use: true },
    );
  });

  test('a schema becomes the output format, or a tool that must be called', () => {
    const schema = { type: 'object', properties: { a: { type: 'object', properties: {} } }, required: ['a'] };
    const response_format = { type: 'json_schema', json_schema: { name: 'x', schema } };
    expect(to({ response_format }).output_config).toEqual({
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
    const open = { ...schema, additionalProperties: { type: 'string' } };
    const loose = to({ response_format: { type: 'json_schema', json_schema: { name: 'x', schema: open } } });
    expect(loose.tools).toMatchObject([{ name: 'json_answer', input_schema: open }]);
  });

  test('effort becomes thinking where the rules of thinking allow it', () => {
    expect(to({ reasoning_effort: 'high', max_tokens: 20_000, temperature: 0.2 })).toMatchObject({
      thinking: { type: 'enabled', budget_tokens: 10_000 },
    });
    expect(to({ reasoning_effort: 'high', max_tokens: 20_000, temperature: 0.2 })).not.toHaveProperty(
      'temperature',
    );
    expect(to({ reasoning_effort: 'xhigh' }, { facts: laneFacts('claude-opus-4-6', {}) })).toMatchObject({
      thinking: { type: 'adaptive' },
      output_config: { effort: 'high' },
    });
    expect(to({ reasoning_effort: 'none' }).thinking).toEqual({ type: 'disabled' });
    expect(to({ reasoning_effort: 'high', max_tokens: 900 }).thinking).toBeUndefined();
    const forced = { tools: [{ type: 'function', function: { name: 'f' } }], tool_choice: 'required' };
    expect(to({ reasoning_effort: 'high', max_tokens: 9000, ...forced }).thinking).toBeUndefined();
    const round = [
      ...hello,
      {
        role: 'assistant',
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'a', content: 'x' },
    ];
    expect(to({ reasoning_effort: 'high', messages: round }).thinking).toBeUndefined();
  });

  test('pictures and files', () => {
    const content = [
      { type: 'text', text: 'See' },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${picture}` } },
      { type: 'image_url', image_url: { url: 'https://pictures.example/a.png' } },
      { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' } },
    ];
    expect((to({ messages: [{ role: 'user', content }] }).messages as Json[])[0]!.content).toEqual([
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

  test('a conversation without a user, or one that the assistant opened, is mended', () => {
    expect(to({ messages: [{ role: 'system', content: 'Say hi.' }] })).toMatchObject({
      messages: [{ role: 'user', content: 'Say hi.' }],
    });
    const opened = to({ messages: [{ role: 'assistant', content: 'Welcome. ' }] }).messages as Json[];
    expect(opened.map(({ role }) => role)).toEqual(['user', 'assistant']);
  });
});

describe('messages to chat', () => {
  const to = (body: Json, target = {}): Json =>
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

  test('results come right behind their calls, pictures in them move, instructions wait', () => {
    expect((to({ messages: round }).messages as Json[]).slice(1)).toEqual([
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
    expect(losses(convert('messages', 'chat', { model: 'm', messages: round }))).toEqual([
      'approximated messages.*.content.*.content.*',
      'dropped messages.*.content.*',
      'dropped messages.*.content.*.is_error',
      'dropped messages.*.content.*.signature',
    ]);
    expect(
      (to({ messages: round }, { reasoningHistory: true, model: 'sim-reason' }).messages as Json[])[1],
    ).toMatchObject({ reasoning_content: 'Hm.' });
  });

  test('what a coding agent sends leaks nothing that this dialect does not know, and all of it is counted', () => {
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
    expect(losses(encoded)).toEqual([
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

  test('choices of tools, and one call at a time', () => {
    const tools = [{ name: 'look', input_schema: weather }];
    const choose = (tool_choice: Json): Json => to({ tools, tool_choice });
    expect(choose({ type: 'any' }).tool_choice).toBe('required');
    expect(choose({ type: 'auto', disable_parallel_tool_use: true })).toMatchObject({
      tool_choice: 'auto',
      parallel_tool_calls: false,
    });
    expect(choose({ type: 'tool', name: 'look' }).tool_choice).toEqual({
      type: 'function',
      function: { name: 'look' },
    });
  });

  test('the output format is strict where the schema is', () => {
    const closed = {
      type: 'object',
      properties: { a: { type: 'string' } },
      required: ['a'],
      additionalProperties: false,
    };
    const ask = (schema: Json): unknown =>
      to({ output_config: { format: { type: 'json_schema', schema } } }).response_format;
    expect(ask(closed)).toEqual({
      type: 'json_schema',
      json_schema: { name: 'answer', schema: closed, strict: true },
    });
    expect(ask(weather)).toEqual({ type: 'json_schema', json_schema: { name: 'answer', schema: weather } });
  });

  test('names too long for this dialect are shortened and given back', () => {
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
