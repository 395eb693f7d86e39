import { parseUsd, parseUsdPerMillion as usd } from '#product/kernel';
import { Metrics } from '#product/platform';
import { startTestApp, type TestApp } from '../../support/app';
import { addCustomer } from '../../support/customer';
import { until } from '../../support/until';
import { TestCatalogue } from './test-catalogue';
import { events, FixedResponseSupplier } from './fixed-response-supplier';

describe('Usage report with invalid details', () => {
  let app: TestApp;
  let supplier: FixedResponseSupplier;
  let key: string;

  beforeAll(async () => {
    supplier = await FixedResponseSupplier.start();
    app = await startTestApp({ environment: { SUPPLIER_ALLOW: '127.0.0.1' } });
    const catalogue = new TestCatalogue(app);
    const provider = {
      baseUrl: supplier.url,
      regions: ['eu'],
      credentials: [{ label: 'one', kind: 'bearer' as const, secret: 'sim-canary-of-ours' }],
    };
    await catalogue.provider({ ...provider, name: 'chatty', style: 'openai-style', settings: {} });
    await catalogue.provider({ ...provider, name: 'wordy', style: 'messages-style', settings: {} });
    await catalogue.provider({ ...provider, name: 'ranker', style: 'cohere-rerank', settings: {} });
    const rates = { input: usd('1'), output: usd('2'), uses: { web_search: parseUsd('0.01') } };
    await catalogue.model('writer', [{ provider: 'chatty', upstreamModel: 'writer-1' }], rates);
    await catalogue.model('searcher', [{ provider: 'wordy', upstreamModel: 'searcher-1' }], rates);
    const perUnitRates = { perCallNano: parseUsd('0.002') };
    await catalogue.model(
      'ranking',
      [{ provider: 'ranker', upstreamModel: 'ranker-1' }],
      perUnitRates,
      'rerank',
    );
    ({ key } = await addCustomer(app, 'payer', 100_000_000_000n));
  });
  afterAll(async () => {
    await app.close();
    await supplier.stop();
  });

  const metricOf = async (name: string): Promise<string[]> =>
    (await app.application.get(Metrics).text()).split('\n').filter((line) => line.startsWith(name));

  async function sendRequest(path: string, body: object) {
    const answer = await fetch(`${app.url}/v1/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    expect(answer.status).toBe(200);
    await answer.text();
    const [record] = await app.database.query<Record<string, unknown>>(
      'SELECT input_tokens, output_tokens, reasoning_tokens, cost_nano, usage_source, uses, excess, calls FROM request_record WHERE request_id = $1',
      [answer.headers.get('x-request-id')],
    );
    return record!;
  }

  const messages = [{ role: 'user', content: 'x'.repeat(2_000) }];
  const chatResponse = (usage: object): object => ({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'writer-1',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
    usage,
  });
  const chatStream = (usage: object): string => {
    const chunk = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'writer-1' };
    return `${events(
      { ...chunk, choices: [{ index: 0, delta: { role: 'assistant', content: 'Hello.' } }] },
      { ...chunk, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
      { ...chunk, choices: [], usage },
    )}data: [DONE]\n\n`;
  };

  /*
   * "One odd detail in a usage report (a number as text, −1, a fraction, a missing prompt count, reasoning one above
   * output) discards the complete report and charges 0.3–10 % without a log line; grand totals above their parts are
   * lost silently (4–50 %)".
   */
  describe.each([
    [
      'a number as text',
      { prompt_tokens: 600, completion_tokens: 400, total_tokens: '1000' },
      'total_tokens',
    ],
    ['a prompt of −1', { prompt_tokens: -1, completion_tokens: 400, total_tokens: 1_000 }, 'prompt_tokens'],
    [
      'a fraction',
      {
        prompt_tokens: 600,
        completion_tokens: 400,
        total_tokens: 1_000,
        completion_tokens_details: { reasoning_tokens: 1.5 },
      },
      'completion_tokens_details.reasoning_tokens',
    ],
    ['a missing prompt count', { completion_tokens: 400, total_tokens: 1_000 }, null],
    [
      'a grand total above its parts',
      {
        prompt_tokens: 600,
        completion_tokens: 300,
        total_tokens: 1_000,
        completion_tokens_details: { reasoning_tokens: 10 },
      },
      'total_tokens is not the sum of its parts',
    ],
  ])('Usage report with %s', (_name, usage, named) => {
    test.each([false, true])('report is charged for its valid figures, streaming: %s', async (stream) => {
      supplier.answer = stream ? chatStream(usage) : chatResponse(usage);
      const record = await sendRequest('chat/completions', {
        model: 'writer',
        messages,
        max_tokens: 2_000,
        stream,
      });
      expect(record).toMatchObject({ input_tokens: 600, usage_source: 'supplier', excess: null });
      expect(BigInt(String(record.cost_nano))).toBe(600n * 1_000n + 400n * 2_000n);
      if (named === null) return;
      await until(() => app.log.some((line) => line.includes(named) && line.includes('chatty')));
    });
  });

  test('ignored details are counted by supplier, model and field', async () => {
    const lines = await metricOf('gateway_ignored_usage_details_total');
    expect(lines.join('\n')).toContain('provider="chatty",model="writer-1",field="prompt_tokens"} 2');
  });

  test('reasoning one token above the output is charged at the larger figure', async () => {
    supplier.answer = messagesResponse({
      input_tokens: 600,
      output_tokens: 400,
      output_tokens_details: { thinking_tokens: 401 },
    });
    const record = await sendRequest('messages', { model: 'searcher', messages, max_tokens: 2_000 });
    expect(record).toMatchObject({ input_tokens: 600, reasoning_tokens: 401, output_tokens: 0 });
  });

  const messagesResponse = (usage: object): object => ({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'searcher-1',
    content: [{ type: 'text', text: 'Hello.' }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage,
  });
  const searchTools = { tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 4 }] };
  const millionSearches = {
    input_tokens: 600,
    output_tokens: 400,
    server_tool_use: { web_search_requests: 1_000_000 },
  };

  /*
   * "Tool uses and search units have no plausibility bound: one report of 1,000,000 takes a wallet of $1 to −$9,999.
   * Bounded by what was requested and by the hold; the excess is quarantined for an operator".
   */
  test('report of 1,000,000 tool uses is charged for the requested ones', async () => {
    supplier.answer = messagesResponse(millionSearches);
    const record = await sendRequest('messages', {
      model: 'searcher',
      messages,
      max_tokens: 500,
      ...searchTools,
    });
    expect(record).toMatchObject({ uses: { web_search: 4 }, excess: { web_search: 999_996 } });
    expect(BigInt(String(record.cost_nano))).toBe(600n * 1_000n + 400n * 2_000n + 4n * 10_000_000n);
    await until(() => app.log.some((line) => line.includes('wordy reported more web_search')));
    const lines = await metricOf('gateway_excess_usage_total');
    expect(lines.join('\n')).toContain('provider="wordy",model="searcher-1",kind="web_search"} 1');
  });

  test('report of unrequested tool uses is charged up to the hold', async () => {
    supplier.answer = messagesResponse(millionSearches);
    const record = await sendRequest('messages', { model: 'searcher', messages, max_tokens: 20_000 });
    const cost = BigInt(String(record.cost_nano));
    // The hold covers at most 2,400 input and 20,000 output tokens, which leaves room for four searches.
    expect(cost).toBeLessThan(50_000_000n);
    expect(record).toMatchObject({ uses: { web_search: 4 }, excess: { web_search: 999_996 } });
  });

  test('report of 1,000,000 search units is charged for those that the documents can use', async () => {
    supplier.answer = {
      results: [{ index: 0, relevance_score: 0.5 }],
      meta: { billed_units: { search_units: 1_000_000 } },
    };
    const record = await sendRequest('rerank', { model: 'ranking', query: 'x', documents: ['y'] });
    expect(record).toMatchObject({ calls: 1, cost_nano: '2000000', excess: { calls: 999_999 } });
  });
});
