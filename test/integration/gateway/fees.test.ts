import { parseUsd, parseUsdPerMillion } from '#product/kernel';
import { until } from '../../support/until';
import { app, closeFeeFixture, createModel, openFeeFixture, sendRequest, supplier } from './fee-fixture';
import { events } from './fixed-response-supplier';
import { responsesBody } from './responses-body';

const usd = parseUsdPerMillion;

describe('Supplier fees in addition to text tokens', () => {
  beforeAll(openFeeFixture);
  afterAll(closeFeeFixture);

  const chatResponse = (rest: object = {}, message: object = {}): object => ({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'sim-large',
    choices: [
      { index: 0, message: { role: 'assistant', content: 'Hello.', ...message }, finish_reason: 'stop' },
    ],
    usage: { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100 },
    ...rest,
  });
  const messages = [{ role: 'user', content: 'x' }];

  test.each([
    ['chat/completions', { web_search_options: {} }, /web_search/],
    ['chat/completions', { service_tier: 'priority' }, /service_tier "priority"/],
    ['chat/completions', { service_tier: 'flex' }, /service_tier "flex"/],
    ['responses', { tools: [{ type: 'web_search' }] }, /web_search/],
    ['responses', { tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }] }, /file_search/],
    ['responses', { tools: [{ type: 'code_interpreter', container: { type: 'auto' } }] }, /code_execution/],
    ['responses', { tools: [{ type: 'image_generation' }] }, /image_generation/],
    ['responses', { tools: [{ type: 'x_search' }] }, /x_search/],
  ])(
    '%s request with %j returns 503 before it is sent when the model has no price for it',
    async (path, rest, named) => {
      const model = await createModel({});
      const prompt =
        path === 'responses' ? { input: 'x', max_output_tokens: 50 } : { messages, max_tokens: 50 };
      const { status, error, record } = await sendRequest(path, { model, ...prompt, ...rest });
      expect(status).toBe(503);
      expect(error).toMatchObject({
        code: 'supplier_price_unresolved',
        message: expect.stringMatching(named),
      });
      expect(error?.message).toContain(model);
      expect(supplier.requests).toHaveLength(0);
      expect(record).toMatchObject({ cost_nano: '0', code: 'supplier_price_unresolved' });
    },
  );

  test.each([
    [{ tools: [{ type: 'web_search_20250305', name: 'web_search' }] }, /web_search/],
    [
      { tools: [{ type: 'advisor_20260301', name: 'advisor', model: 'claude-opus-4-8' }] },
      /advisor "claude-opus-4-8"/,
    ],
    [{ speed: 'fast' }, /speed "fast"/],
    [{ inference_geo: 'us' }, /inference_geo "us"/],
  ])(
    'messages request with %j returns 503 before it is sent when the model has no price for it',
    async (rest, named) => {
      const model = await createModel({}, 'wordy');
      const { status, error } = await sendRequest('messages', { model, messages, max_tokens: 50, ...rest });
      expect(status).toBe(503);
      expect(error?.message).toMatch(named);
      expect(supplier.requests).toHaveLength(0);
    },
  );

  test('served tier is charged, not the requested one', async () => {
    const model = await createModel({
      modes: {
        'service_tier=priority': { multiplier: 2_000_000n },
        'service_tier=flex': { multiplier: 1_000_000n, rates: { input: usd('0.5'), output: usd('1') } },
        'service_tier=batch': { multiplier: 500_000n },
      },
    });
    const recordFor = async (asked: string, served?: string) => {
      supplier.answer = chatResponse(served === undefined ? {} : { service_tier: served });
      const body = { model, messages, max_tokens: 50, service_tier: asked };
      return (await sendRequest('chat/completions', body)).record;
    };
    expect(await recordFor('priority', 'priority')).toMatchObject({
      cost_nano: '2400000',
      modes: { service_tier: 'priority' },
    });
    expect(await recordFor('priority', 'default')).toMatchObject({ cost_nano: '1200000', modes: null });
    expect(await recordFor('priority')).toMatchObject({ cost_nano: '2400000' });
    expect(await recordFor('flex', 'flex')).toMatchObject({ cost_nano: '600000' });
    expect(await recordFor('auto', 'priority')).toMatchObject({ cost_nano: '2400000' });
    expect(await recordFor('batch', 'batch')).toMatchObject({ cost_nano: '600000' });
    expect(await recordFor('batch')).toMatchObject({ cost_nano: '1200000' });
  });

  test('unrequested tier without a price costs the highest multiplier', async () => {
    const model = await createModel({ modes: { 'service_tier=priority': { multiplier: 2_000_000n } } });
    supplier.answer = chatResponse({ service_tier: 'ultrafast' });
    const { record } = await sendRequest('chat/completions', { model, messages, max_tokens: 50 });
    expect(record).toMatchObject({ cost_nano: '2400000', modes: { service_tier: 'ultrafast' } });
  });

  test('searches are charged per use: chat by the request, messages and responses by the report', async () => {
    const uses = { web_search: parseUsd('0.01'), web_search_high: parseUsd('0.05') };
    const chatModel = await createModel({ uses });
    supplier.answer = chatResponse();
    const options = { web_search_options: { search_context_size: 'high' } };
    const chatResult = await sendRequest('chat/completions', {
      model: chatModel,
      messages,
      max_tokens: 50,
      ...options,
    });
    expect(chatResult.record).toMatchObject({ cost_nano: '51200000', uses: { web_search_high: 1 } });

    const messagesModel = await createModel({ uses }, 'wordy');
    const tools = [{ type: 'web_search_20250305', name: 'web_search', max_uses: 4 }];
    const usage = { input_tokens: 1_000, output_tokens: 100, server_tool_use: { web_search_requests: 3 } };
    supplier.answer = {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'sim-large',
      content: [{ type: 'text', text: 'Hello.' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage,
    };
    const messagesResult = await sendRequest('messages', {
      model: messagesModel,
      messages,
      max_tokens: 50,
      tools,
    });
    expect(messagesResult.record).toMatchObject({ cost_nano: '31200000', uses: { web_search: 3 } });

    supplier.answer = events(
      {
        type: 'message_start',
        message: {
          id: 'msg_1',
          type: 'message',
          role: 'assistant',
          model: 'sim-large',
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: { input_tokens: 1_000, output_tokens: 1 },
        },
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello.' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage },
      { type: 'message_stop' },
    );
    const streamResult = await sendRequest('messages', {
      model: messagesModel,
      messages,
      max_tokens: 50,
      tools,
      stream: true,
    });
    expect(streamResult.record).toMatchObject({ cost_nano: '31200000', uses: { web_search: 3 } });
  });

  test('tool named like a member of Object.prototype has no price', async () => {
    const model = await createModel({ uses: { other_tool: parseUsd('0.02') } });
    supplier.answer = responsesBody([]);
    for (const type of ['constructor', 'mystery'])
      expect(
        await sendRequest('responses', { model, input: 'x', max_output_tokens: 50, tools: [{ type }] }),
      ).toMatchObject({ status: 200, record: { uses: null } });
    const details = { constructor: 2, mystery_calls: 1 };
    supplier.answer = responsesBody([], { server_side_tool_usage_details: details });
    expect(
      (await sendRequest('responses', { model, input: 'x', max_output_tokens: 20_000 })).record,
    ).toMatchObject({
      uses: { other_tool: 1 },
    });
  });

  const xCall = (id: string, name: string): object => ({
    ...{ type: 'custom_tool_call', id, call_id: id, name, input: '{}', status: 'completed' },
  });

  // Usage object as xAI returns it: docs.x.ai/developers/pricing and recordings, read on 2026-11-26.
  test('post searches are charged by the report, or by the calls in the response without a report', async () => {
    const uses = { x_search: parseUsd('0.005'), other_tool: parseUsd('0.5') };
    const model = await createModel({ uses });
    const body = { model, input: 'x', max_output_tokens: 50, tools: [{ type: 'x_search' }] };
    const calls = [xCall('xs_1', 'x_keyword_search'), xCall('xs_2', 'x_semantic_search')];
    supplier.answer = responsesBody(calls, {
      num_sources_used: 9,
      num_server_side_tools_used: 3,
      server_side_tool_usage_details: { web_search_calls: 0, x_search_calls: 3, mcp_calls: 2 },
    });
    const reportedResult = await sendRequest('responses', body);
    expect(reportedResult.record).toMatchObject({ cost_nano: '16200000', uses: { x_search: 3 } });
    supplier.answer = responsesBody(calls);
    const unreportedResult = await sendRequest('responses', body);
    expect(unreportedResult.record).toMatchObject({ cost_nano: '11200000', uses: { x_search: 2 } });
    const otherToolModel = await createModel({ uses: { other_tool: parseUsd('0.02') } });
    supplier.answer = responsesBody(calls);
    const otherToolResult = await sendRequest('responses', { ...body, model: otherToolModel });
    expect(otherToolResult.record).toMatchObject({ cost_nano: '41200000', uses: { x_search: 2 } });
  });

  // platform.openai.com/docs/pricing: $0.03, $0.12, $0.48 and $1.92 per container by its memory, read on 2026-11-26.
  test.each([
    ['4g', 'code_execution_4g', '0.12'],
    ['16g', 'code_execution_16g', '0.48'],
    ['64g', 'code_execution_64g', '1.92'],
  ] as const)('container of %s has its own price', async (memory, name, price) => {
    const tools = [{ type: 'code_interpreter', container: { type: 'auto', memory_limit: memory } }];
    const smallModel = await createModel({ uses: { code_execution: parseUsd('0.03') } });
    const body = { input: 'x', max_output_tokens: 50, tools };
    const refusal = await sendRequest('responses', { ...body, model: smallModel });
    expect(refusal).toMatchObject({ status: 503, error: { code: 'supplier_price_unresolved' } });
    expect(refusal.error?.message).toContain(name);
    expect(supplier.requests).toHaveLength(0);
    const model = await createModel({ uses: { code_execution: parseUsd('0.03'), [name]: parseUsd(price) } });
    supplier.answer = responsesBody([
      { type: 'code_interpreter_call', id: 'ci_1', container_id: 'cntr_1', code: '1', status: 'completed' },
    ]);
    const { record } = await sendRequest('responses', { ...body, model });
    expect(record).toMatchObject({ uses: { [name]: 1 } });
    expect(BigInt(String(record?.cost_nano))).toBe(parseUsd(price) + 1_200_000n);
  });

  // A call of sonar-deep-research as customers were billed: github.com/bgeneto/open-webui-cost-tracker issue 6.
  test('report whose parts exceed its totals is charged at the larger figures and logged', async () => {
    const uses = { web_search: parseUsd('0.005') };
    const model = await createModel({ uses, input: usd('2'), output: usd('8'), reasoning: usd('3') });
    supplier.answer = chatResponse({
      usage: {
        prompt_tokens: 108,
        completion_tokens: 3_256,
        total_tokens: 3_364,
        citation_tokens: 7_299,
        num_search_queries: 74,
        reasoning_tokens: 73_248,
      },
    });
    const { record } = await sendRequest('chat/completions', { model, messages, max_tokens: 80_000 });
    expect(record).toMatchObject({
      usage_source: 'supplier',
      input_tokens: 7_407,
      output_tokens: 3_256,
      reasoning_tokens: 73_248,
      uses: { web_search: 74 },
      cost_nano: String(7_407 * 2_000 + 3_256 * 8_000 + 73_248 * 3_000 + 74 * 5_000_000),
    });
    await until(() => app.log.some((line) => line.includes('a part is larger than the total it belongs to')));
  });

  test('unreported tool call costs the same streaming and non-streaming', async () => {
    const model = await createModel({});
    const functionCall = { name: 'look_up_the_weather', arguments: '{"city":"Zug"}' };
    const calls = [{ id: 'call_1', type: 'function', function: functionCall }];
    const body = { model, messages, max_tokens: 50 };
    supplier.answer = {
      ...chatResponse({ usage: undefined }),
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: null, tool_calls: calls },
          finish_reason: 'tool_calls',
        },
      ],
    };
    const completeResult = await sendRequest('chat/completions', body);
    const chunk = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'sim-large' };
    const delta = { role: 'assistant', tool_calls: [{ index: 0, ...calls[0] }] };
    supplier.answer = `${events(
      { ...chunk, choices: [{ index: 0, delta, finish_reason: null }] },
      { ...chunk, choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] },
    )}data: [DONE]\n\n`;
    const streamResult = await sendRequest('chat/completions', { ...body, stream: true });
    const expectedTokens = Math.ceil((functionCall.name.length + functionCall.arguments.length) / 4);
    for (const { record } of [completeResult, streamResult])
      expect(record).toMatchObject({ output_tokens: expectedTokens, usage_source: 'estimated' });
  });
});
