import { parseUsd, parseUsdPerMillion } from '#product/kernel';
import { startTestApp, type TestApp } from '../../support/app';
import { until } from '../../support/until';
import { ModelShelf } from './model-shelf';
import { events, ScriptedSupplier } from './scripted-supplier';
import { responsesAnswer } from './responses-answer';

const usd = parseUsdPerMillion;

describe('suppliers bill fees beside the tokens of text', () => {
  let app: TestApp;
  let supplier: ScriptedSupplier;
  let shelf: ModelShelf;
  let made = 0;

  beforeAll(async () => {
    supplier = await ScriptedSupplier.start();
    app = await startTestApp({ environment: { SUPPLIER_ALLOW: '127.0.0.1', SHARED_CONTENT: 'vs_1' } });
    shelf = new ModelShelf(app);
    for (const [name, style, settings] of [
      ['chatty', 'openai-style', { profile: 'openai' }],
      ['wordy', 'messages-style', {}],
    ] as const) {
      await shelf.provider({
        name,
        style,
        settings,
        baseUrl: supplier.url,
        regions: ['eu'],
        credentials: [{ label: 'one', kind: 'bearer', secret: 'sim-canary-of-ours' }],
      });
    }
  });
  afterAll(async () => {
    await app.close();
    await supplier.stop();
  });

  async function modelWith(
    rates: NonNullable<Parameters<ModelShelf['model']>[2]>,
    provider = 'chatty',
    kind: 'chat' | 'image' = 'chat',
  ): Promise<string> {
    const name = `fee-${(made += 1)}`;
    await shelf.model(name, [{ provider }], { input: usd('1'), output: usd('2'), ...rates }, kind);
    return name;
  }

  async function ask(path: string, body: object) {
    supplier.requests.length = 0;
    const answer = await fetch(`${app.url}/v1/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.firstKeys?.demo}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const text = await answer.text();
    const id = answer.headers.get('x-request-id');
    const [record] = await app.database.query<Record<string, unknown>>(
      'SELECT * FROM request_record WHERE request_id = $1',
      [id],
    );
    const error = answer.ok ? null : (JSON.parse(text) as { error: { code: string; message: string } }).error;
    return { status: answer.status, text, record, error };
  }

  const chatAnswer = (rest: object = {}, message: object = {}): object => ({
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
  ])('%s with %j and no price of it is refused before it is sent', async (path, rest, named) => {
    const model = await modelWith({});
    const said = path === 'responses' ? { input: 'x', max_output_tokens: 50 } : { messages, max_tokens: 50 };
    const { status, error, record } = await ask(path, { model, ...said, ...rest });
    expect(status).toBe(503);
    expect(error).toMatchObject({ code: 'supplier_price_unresolved', message: expect.stringMatching(named) });
    expect(error?.message).toContain(model);
    expect(supplier.requests).toHaveLength(0);
    expect(record).toMatchObject({ cost_nano: '0', code: 'supplier_price_unresolved' });
  });

  test.each([
    [{ tools: [{ type: 'web_search_20250305', name: 'web_search' }] }, /web_search/],
    [
      { tools: [{ type: 'advisor_20260301', name: 'advisor', model: 'claude-opus-4-8' }] },
      /advisor "claude-opus-4-8"/,
    ],
    [{ speed: 'fast' }, /speed "fast"/],
    [{ inference_geo: 'us' }, /inference_geo "us"/],
  ])('messages with %j and no price of it is refused before it is sent', async (rest, named) => {
    const model = await modelWith({}, 'wordy');
    const { status, error } = await ask('messages', { model, messages, max_tokens: 50, ...rest });
    expect(status).toBe(503);
    expect(error?.message).toMatch(named);
    expect(supplier.requests).toHaveLength(0);
  });

  test('the tier that was served is charged, not the one that was asked for', async () => {
    const model = await modelWith({
      modes: {
        'service_tier=priority': { multiplier: 2_000_000n },
        'service_tier=flex': { multiplier: 1_000_000n, rates: { input: usd('0.5'), output: usd('1') } },
        'service_tier=batch': { multiplier: 500_000n },
      },
    });
    const charged = async (asked: string, served?: string) => {
      supplier.answer = chatAnswer(served === undefined ? {} : { service_tier: served });
      const body = { model, messages, max_tokens: 50, service_tier: asked };
      return (await ask('chat/completions', body)).record;
    };
    expect(await charged('priority', 'priority')).toMatchObject({
      cost_nano: '2400000',
      modes: { service_tier: 'priority' },
    });
    expect(await charged('priority', 'default')).toMatchObject({ cost_nano: '1200000', modes: null });
    expect(await charged('priority')).toMatchObject({ cost_nano: '2400000' });
    expect(await charged('flex', 'flex')).toMatchObject({ cost_nano: '600000' });
    expect(await charged('auto', 'priority')).toMatchObject({ cost_nano: '2400000' });
    expect(await charged('batch', 'batch')).toMatchObject({ cost_nano: '600000' });
    expect(await charged('batch')).toMatchObject({ cost_nano: '1200000' });
  });

  test('a tier that nobody asked for and no price names costs what the dearest costs', async () => {
    const model = await modelWith({ modes: { 'service_tier=priority': { multiplier: 2_000_000n } } });
    supplier.answer = chatAnswer({ service_tier: 'ultrafast' });
    const { record } = await ask('chat/completions', { model, messages, max_tokens: 50 });
    expect(record).toMatchObject({ cost_nano: '2400000', modes: { service_tier: 'ultrafast' } });
  });

  test('searches are charged by the use: chat as asked, messages and responses as counted', async () => {
    const uses = { web_search: parseUsd('0.01'), web_search_high: parseUsd('0.05') };
    const chat = await modelWith({ uses });
    supplier.answer = chatAnswer();
    const options = { web_search_options: { search_context_size: 'high' } };
    const asked = await ask('chat/completions', { model: chat, messages, max_tokens: 50, ...options });
    expect(asked.record).toMatchObject({ cost_nano: '51200000', uses: { web_search_high: 1 } });

    const wordy = await modelWith({ uses }, 'wordy');
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
    const counted = await ask('messages', { model: wordy, messages, max_tokens: 50, tools });
    expect(counted.record).toMatchObject({ cost_nano: '31200000', uses: { web_search: 3 } });

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
    const streamed = await ask('messages', { model: wordy, messages, max_tokens: 50, tools, stream: true });
    expect(streamed.record).toMatchObject({ cost_nano: '31200000', uses: { web_search: 3 } });
  });

  test('pictures are charged by size and quality, or by their tokens', async () => {
    const images = { '1024x1024': parseUsd('0.04'), 'hd/1024x1792': parseUsd('0.12') };
    const sized = await modelWith({ images, input: 0n, output: 0n }, 'chatty', 'image');
    supplier.answer = { created: 1, data: [{ b64_json: 'aGk=' }, { b64_json: 'aGk=' }] };
    const hd = { prompt: 'x', quality: 'hd', size: '1024x1792', n: 2 };
    const asked = await ask('images/generations', { model: sized, ...hd });
    expect(asked.record).toMatchObject({ cost_nano: '240000000', images: { 'hd/1024x1792': 2 } });
    const unknown = await ask('images/generations', { model: sized, prompt: 'x', size: '9x9' });
    expect(unknown).toMatchObject({ status: 503, error: { code: 'supplier_price_unresolved' } });
    // A word that every object of JavaScript answers to is no price.
    for (const strange of [{ size: 'constructor' }, { quality: 'Constructor', size: '9x9' }])
      expect(await ask('images/generations', { model: sized, prompt: 'x', ...strange })).toMatchObject({
        status: 503,
        error: { code: 'supplier_price_unresolved' },
      });

    const byToken = await modelWith(
      { input: usd('5'), image: usd('10'), imageOutput: usd('40'), output: 0n },
      'chatty',
      'image',
    );
    supplier.answer = {
      created: 1,
      data: [{ b64_json: 'aGk=' }],
      usage: {
        input_tokens: 340,
        output_tokens: 4_160,
        total_tokens: 4_500,
        input_tokens_details: { text_tokens: 17, image_tokens: 323 },
      },
    };
    const { record } = await ask('images/generations', { model: byToken, prompt: 'x' });
    expect(record).toMatchObject({
      image_output_tokens: 4_160,
      image_tokens: 323,
      cost_nano: String(17 * 5_000 + 323 * 10_000 + 4_160 * 40_000),
    });
    supplier.answer = { created: 1, data: [{ b64_json: 'aGk=' }, { b64_json: 'aGk=' }] };
    const low = { model: byToken, prompt: 'x', quality: 'low', n: 2 };
    expect((await ask('images/generations', low)).record).toMatchObject({
      image_output_tokens: 816,
      usage_source: 'estimated',
      cost_nano: String(816 * 40_000),
    });
    const strange = { model: byToken, prompt: 'x', quality: 'constructor', n: 2 };
    expect((await ask('images/generations', strange)).record).toMatchObject({
      image_output_tokens: 2 * 6_240,
      cost_nano: String(2 * 6_240 * 40_000),
    });
  });

  test('a tool that bears the name of a member of every object is a tool without a price', async () => {
    const model = await modelWith({ uses: { other_tool: parseUsd('0.02') } });
    supplier.answer = responsesAnswer([]);
    for (const type of ['constructor', 'mystery'])
      expect(
        await ask('responses', { model, input: 'x', max_output_tokens: 50, tools: [{ type }] }),
      ).toMatchObject({ status: 200, record: { uses: null } });
    const details = { constructor: 2, mystery_calls: 1 };
    supplier.answer = responsesAnswer([], { server_side_tool_usage_details: details });
    expect((await ask('responses', { model, input: 'x', max_output_tokens: 20_000 })).record).toMatchObject({
      uses: { other_tool: 1 },
    });
  });

  const xCall = (id: string, name: string): object => ({
    ...{ type: 'custom_tool_call', id, call_id: id, name, input: '{}', status: 'completed' },
  });

  // As xAI answers: docs.x.ai/developers/pricing and recordings of its usage object, read on 2026-11-26.
  test('searches of posts are charged as the report counts them, else as the answer shows them', async () => {
    const uses = { x_search: parseUsd('0.005'), other_tool: parseUsd('0.5') };
    const model = await modelWith({ uses });
    const body = { model, input: 'x', max_output_tokens: 50, tools: [{ type: 'x_search' }] };
    const calls = [xCall('xs_1', 'x_keyword_search'), xCall('xs_2', 'x_semantic_search')];
    supplier.answer = responsesAnswer(calls, {
      num_sources_used: 9,
      num_server_side_tools_used: 3,
      server_side_tool_usage_details: { web_search_calls: 0, x_search_calls: 3, mcp_calls: 2 },
    });
    const counted = await ask('responses', body);
    expect(counted.record).toMatchObject({ cost_nano: '16200000', uses: { x_search: 3 } });
    supplier.answer = responsesAnswer(calls);
    const shown = await ask('responses', body);
    expect(shown.record).toMatchObject({ cost_nano: '11200000', uses: { x_search: 2 } });
    const unnamed = await modelWith({ uses: { other_tool: parseUsd('0.02') } });
    supplier.answer = responsesAnswer(calls);
    const general = await ask('responses', { ...body, model: unnamed });
    expect(general.record).toMatchObject({ cost_nano: '41200000', uses: { x_search: 2 } });
  });

  // platform.openai.com/docs/pricing: $0.03, $0.12, $0.48 and $1.92 a container by its memory, read on 2026-11-26.
  test.each([
    ['4g', 'code_execution_4g', '0.12'],
    ['16g', 'code_execution_16g', '0.48'],
    ['64g', 'code_execution_64g', '1.92'],
  ] as const)('a container of %s has a price of its own', async (memory, name, price) => {
    const tools = [{ type: 'code_interpreter', container: { type: 'auto', memory_limit: memory } }];
    const small = await modelWith({ uses: { code_execution: parseUsd('0.03') } });
    const body = { input: 'x', max_output_tokens: 50, tools };
    const refused = await ask('responses', { ...body, model: small });
    expect(refused).toMatchObject({ status: 503, error: { code: 'supplier_price_unresolved' } });
    expect(refused.error?.message).toContain(name);
    expect(supplier.requests).toHaveLength(0);
    const model = await modelWith({ uses: { code_execution: parseUsd('0.03'), [name]: parseUsd(price) } });
    supplier.answer = responsesAnswer([
      { type: 'code_interpreter_call', id: 'ci_1', container_id: 'cntr_1', code: '1', status: 'completed' },
    ]);
    const { record } = await ask('responses', { ...body, model });
    expect(record).toMatchObject({ uses: { [name]: 1 } });
    expect(BigInt(String(record?.cost_nano))).toBe(parseUsd(price) + 1_200_000n);
  });

  test('pictures of the best quality have a price of their own, on both routes', async () => {
    // "`hd` pictures with `per_call` alone are under-billed ($0.04 of $0.12)".
    for (const price of [{ images: { '1024x1024': parseUsd('0.04') } }, { perCallNano: parseUsd('0.04') }]) {
      const plain = await modelWith({ ...price, input: 0n, output: 0n }, 'chatty', 'image');
      for (const quality of ['high', 'hd']) {
        const { status, error } = await ask('images/generations', { model: plain, prompt: 'x', quality });
        expect([status, error?.message]).toEqual([503, expect.stringContaining(`image ${quality}/1024`)]);
      }
    }
    const tools = [{ type: 'image_generation', quality: 'high' }];
    const cheap = await modelWith({ uses: { image_generation: parseUsd('0.01') } });
    const body = { input: 'x', max_output_tokens: 50, tools };
    expect((await ask('responses', { ...body, model: cheap })).error?.message).toContain('generation_high');
    const uses = { image_generation: parseUsd('0.01'), image_generation_high: parseUsd('0.17') };
    const model = await modelWith({ uses });
    const picture = { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: 'aGk=' };
    supplier.answer = responsesAnswer([picture]);
    expect((await ask('responses', { ...body, model })).record).toMatchObject({ cost_nano: '171200000' });
    // Nobody asked for a quality, and the supplier chose.
    supplier.answer = responsesAnswer([{ ...picture, quality: 'high' }]);
    const chosen = await ask('responses', { ...body, model, tools: [{ type: 'image_generation' }] });
    expect(chosen.record).toMatchObject({ uses: { image_generation_high: 1 }, cost_nano: '171200000' });
  });

  test.each([
    ['no report', {}, 0],
    // The readable input counts, and only the output is estimated.
    ['a report that cannot be read', { usage: { input_tokens: 5, output_tokens: 'many' } }, 5],
  ])('pictures sold by their tokens are never free: %s', async (_what, told, inputTokens) => {
    const model = await modelWith({ input: usd('5'), output: usd('40') }, 'chatty', 'image');
    supplier.answer = { created: 1, data: [{ b64_json: 'aGk=' }], ...told };
    const { record } = await ask('images/generations', { model, prompt: 'x', quality: 'medium' });
    expect(record).toMatchObject({
      image_output_tokens: 1_584,
      usage_source: 'estimated',
      cost_nano: String(63_360_000 + inputTokens * 5_000),
    });
  });

  // A call of sonar-deep-research as its customers were billed it: github.com/bgeneto/open-webui-cost-tracker issue 6.
  test('a report whose parts exceed its totals is charged at the larger figures, and told', async () => {
    const uses = { web_search: parseUsd('0.005') };
    const model = await modelWith({ uses, input: usd('2'), output: usd('8'), reasoning: usd('3') });
    supplier.answer = chatAnswer({
      usage: {
        prompt_tokens: 108,
        completion_tokens: 3_256,
        total_tokens: 3_364,
        citation_tokens: 7_299,
        num_search_queries: 74,
        reasoning_tokens: 73_248,
      },
    });
    const { record } = await ask('chat/completions', { model, messages, max_tokens: 80_000 });
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

  test('a call of a tool that nobody reports costs whole what it costs streamed', async () => {
    const model = await modelWith({});
    const called = { name: 'look_up_the_weather', arguments: '{"city":"Zug"}' };
    const calls = [{ id: 'call_1', type: 'function', function: called }];
    const body = { model, messages, max_tokens: 50 };
    supplier.answer = {
      ...chatAnswer({ usage: undefined }),
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: null, tool_calls: calls },
          finish_reason: 'tool_calls',
        },
      ],
    };
    const whole = await ask('chat/completions', body);
    const chunk = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'sim-large' };
    const delta = { role: 'assistant', tool_calls: [{ index: 0, ...calls[0] }] };
    supplier.answer = `${events(
      { ...chunk, choices: [{ index: 0, delta, finish_reason: null }] },
      { ...chunk, choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] },
    )}data: [DONE]\n\n`;
    const streamed = await ask('chat/completions', { ...body, stream: true });
    const written = Math.ceil((called.name.length + called.arguments.length) / 4);
    for (const { record } of [whole, streamed])
      expect(record).toMatchObject({ output_tokens: written, usage_source: 'estimated' });
  });
});
