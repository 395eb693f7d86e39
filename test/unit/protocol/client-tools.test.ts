import { type CanonicalEvent, dialects } from '../../../src/protocol';
import { convert, tryConvert } from './convert';
import { encode, options } from './transcripts';

const hello = { role: 'user', content: 'Hi' };

describe('Client-side tools', () => {
  test.each([
    ['bash_20250124', 'bash', ['command', 'restart']],
    ['text_editor_20250728', 'str_replace_based_edit_tool', ['command', 'insert_text', 'path']],
    ['text_editor_20250124', 'str_replace_editor', ['command', 'new_str', 'path']],
    ['memory_20250818', 'memory', ['command', 'new_path', 'old_path']],
  ])('Messages tool %s becomes a function in other dialects', (type, name, fields) => {
    const requestBody = { model: 'm', max_tokens: 90, messages: [hello], tools: [{ type, name }] };
    for (const to of ['chat', 'responses'] as const) {
      const { body, dropped } = convert('messages', to, requestBody);
      const [tool] = body.tools as { function?: object; name?: string }[];
      const convertedTool = (tool!.function ?? tool) as { name: string; parameters: { properties: object } };
      expect(convertedTool.name).toBe(name);
      expect(Object.keys(convertedTool.parameters.properties)).toEqual(expect.arrayContaining(fields));
      expect(dropped).toEqual([]);
    }
    // The tool keeps its type in its own dialect.
    expect(convert('messages', 'messages', requestBody).body.tools).toEqual(requestBody.tools);
  });

  const calls = [
    [
      'local_shell',
      { command: ['ls', '-l'], timeout_ms: 9 },
      { type: 'local_shell_call', action: { type: 'exec', env: {}, command: ['ls', '-l'], timeout_ms: 9 } },
    ],
    [
      'shell',
      { commands: ['ls', 'pwd'] },
      { type: 'shell_call', action: { commands: ['ls', 'pwd'], timeout_ms: null, max_output_length: null } },
    ],
    [
      'apply_patch',
      { type: 'update_file', path: 'a.ts', diff: '@@\n-a\n+b' },
      { type: 'apply_patch_call', operation: { type: 'update_file', path: 'a.ts', diff: '@@\n-a\n+b' } },
    ],
  ] as const;

  test.each(calls)('Responses tool %s is called as the client expects', (name, args, item) => {
    for (const to of ['chat', 'messages'] as const) {
      const { body, reply } = convert('responses', to, { model: 'm', input: 'Hi', tools: [{ type: name }] });
      expect(JSON.stringify(body.tools)).toContain(`"name":"${name}"`);
      // Response of a supplier of the other dialect, streaming and complete.
      const events = [
        { type: 'message-start', id: 'x', model: 'm' },
        { type: 'tool-start', index: 0, id: 'call_1', name },
        { type: 'tool-arguments-delta', index: 0, text: JSON.stringify(args).slice(0, 9) },
        { type: 'tool-arguments-delta', index: 0, text: JSON.stringify(args).slice(9) },
        { type: 'tool-end', index: 0 },
        { type: 'message-end', finish: { unified: 'tool-calls', raw: null } },
      ] as const;
      const supplierStream = Buffer.from(encode(dialects[to].streamEncoder(options), [...events]));
      const decodedEvents: CanonicalEvent[] = [];
      const decoder = dialects[to].streamDecoder({ emit: (event) => decodedEvents.push(event), ...reply });
      decoder.push(supplierStream);
      decoder.end();
      const clientStream = encode(dialects.responses.streamEncoder(options), decodedEvents);
      const calledItems = clientStream
        .split('\n')
        .filter((line) => line.startsWith('data: {'))
        .map(
          (line) =>
            JSON.parse(line.slice(6)) as { type: string; item?: object; response?: { output: object[] } },
        );
      const expected = { ...item, call_id: 'call_1', status: 'completed' };
      expect(calledItems.find(({ type }) => type === 'response.output_item.done')?.item).toMatchObject(
        expected,
      );
      expect(calledItems.at(-1)?.response?.output).toEqual([expect.objectContaining(expected)]);
      expect(calledItems.some(({ type }) => type.includes('function_call'))).toBe(false);
    }
  });

  test.each(calls)('%s of an earlier turn and its result are converted for any model', (name, args, item) => {
    const input = [
      hello,
      { ...item, id: 'x_1', call_id: 'call_1', status: 'completed' },
      {
        type: item.type.replace('_call', '_call_output'),
        call_id: 'call_1',
        status: 'completed',
        output: 'done',
      },
    ];
    const requestBody = { model: 'm', input, tools: [{ type: name }] };
    const { body } = convert('responses', 'messages', requestBody);
    expect(body.messages).toMatchObject([
      hello,
      { role: 'assistant', content: [{ type: 'tool_use', name, input: args }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1' }] },
    ]);
    expect(convert('responses', 'responses', requestBody).body.input).toEqual(
      expect.arrayContaining([input[1], input[2]]),
    );
  });

  test('hosted shell is not a client-side tool', () => {
    const tools = [{ type: 'shell', environment: { type: 'container_auto' } }];
    const ownTool = { type: 'function', name: 'look', parameters: { type: 'object', properties: {} } };
    const { dropped } = convert('responses', 'chat', { model: 'm', input: 'Hi', tools: [ownTool, ...tools] });
    expect(dropped).toEqual([expect.objectContaining({ loss: 'dropped', name: 'tools.shell' })]);
  });

  test.each([
    ['messages', 'chat', { type: 'web_search_20250305', name: 'web_search' }],
    ['messages', 'responses', { type: 'code_execution_20250522', name: 'code_execution' }],
    ['responses', 'chat', { type: 'mcp', server_label: 'x' }],
    ['responses', 'messages', { type: 'file_search', vector_store_ids: ['v'] }],
  ] as const)('request with only %s cannot drop it for %s: %j', (from, to, tool) => {
    const requestBody = from === 'messages' ? { max_tokens: 90, messages: [hello] } : { input: 'Hi' };
    expect(tryConvert(from, to, { model: 'm', ...requestBody, tools: [tool] })).toMatchObject({
      code: 'unsupported_parameter',
      options: { param: 'tools' },
    });
  });
});
