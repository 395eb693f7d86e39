import { serverToolsOf } from '../../../src/gateway/intake/server-tools';
import { operations, type TextOperation } from '../../../src/gateway/operations/operation';

/** Returns the fees that a request can incur at its supplier, with the limits that are put into it. */
function feesOf(operation: TextOperation, body: Record<string, unknown>, choices = 1) {
  const measure = operation.dialect.measureRequest(body);
  const { tools, limits, insertedLimits } = serverToolsOf(measure, operation);
  const { uses } = operation.fees?.(body, choices, tools) ?? {};
  return { uses, limits: limits?.(body) ?? null, insertedLimits };
}

test('hold covers each Messages tool as often as the request allows it', () => {
  const searchTool = { type: 'web_search_20250305', name: 'web_search' };
  const tools = [
    searchTool,
    { ...searchTool, max_uses: 3 },
    { type: 'advisor_20260301', name: 'advisor', model: 'a-model' },
    { type: 'crystal_ball_20260101', name: 'crystal_ball' },
    { type: 'code_execution_20250825', name: 'code_execution' },
    { type: 'tool_search_tool_regex_20251119', name: 'find' },
    { type: 'bash_20250124', name: 'bash' },
    { name: 'mine', input_schema: {} },
  ];
  const { uses, limits, insertedLimits } = feesOf(operations.messages, {
    tools,
    mcp_servers: [{ url: 'https://m.example' }],
  });
  expect(uses).toEqual({ web_search: 5 + 3, other_tool: 10, code_execution: 1 });
  const [, second, advisor, ...others] = tools;
  const limitedAdvisor = { ...advisor, max_uses: 5, max_tokens: 4_096 };
  expect(limits).toEqual({ tools: [{ ...searchTool, max_uses: 5 }, second, limitedAdvisor, ...others] });
  expect(insertedLimits).toEqual(['tools.max_uses', 'tools.max_tokens']);
});

test('hold covers Responses tools up to their shared call limit', () => {
  const tools = [
    { type: 'web_search', search_context_size: 'high' },
    { type: 'file_search' },
    { type: 'code_interpreter' },
    { type: 'shell', environment: { type: 'local' } },
    { type: 'computer' },
    { type: 'mcp' },
    { type: 'crystal_ball' },
  ];
  const expectedUses = {
    web_search_high: 7,
    file_search: 7,
    code_execution: 1,
    computer_use: 1,
    other_tool: 7,
  };
  expect(feesOf(operations.responses, { tools, max_tool_calls: 7 })).toEqual({
    uses: expectedUses,
    limits: null,
    insertedLimits: [],
  });
  const { uses, limits, insertedLimits } = feesOf(operations.responses, { tools: tools.slice(0, 1) });
  expect([uses, limits]).toEqual([{ web_search_high: 5 }, { max_tool_calls: 5 }]);
  expect(insertedLimits).toEqual(['max_tool_calls']);
});

test('Chat Completions search is held once per choice, and likewise for legacy completions', () => {
  const body = { web_search_options: { search_context_size: 'low' }, search_parameters: { mode: 'off' } };
  expect(feesOf(operations.chat, body, 2).uses).toEqual({ web_search_low: 2 });
  expect(feesOf(operations.completions, { search_parameters: {} }).uses).toEqual({ web_search: 20 });
  expect(feesOf(operations.chat, { tools: [{ type: 'browser_search' }] }, 2).uses).toEqual({
    other_tool: 10,
  });
});
