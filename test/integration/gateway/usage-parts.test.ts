import { parseUsdPerMillion as usd } from '#product/kernel';
import { startTestApp, type TestApp } from '../../support/app';
import { addCustomer } from '../../support/customer';
import { TestCatalogue } from './test-catalogue';
import { events, FixedResponseSupplier } from './fixed-response-supplier';

/** Figures of the vendor's example: https://platform.claude.com/docs/en/build-with-claude/compaction-threshold */
const usage = {
  input_tokens: 23_000,
  output_tokens: 1_000,
  iterations: [
    { type: 'compaction', input_tokens: 180_000, output_tokens: 3_500 },
    { type: 'message', input_tokens: 23_000, output_tokens: 1_000 },
  ],
};
const advisorUsage = {
  input_tokens: 412,
  output_tokens: 531,
  iterations: [
    { type: 'message', input_tokens: 412, output_tokens: 531 },
    {
      type: 'advisor_message',
      model: 'claude-opus-4-8',
      input_tokens: 823,
      cache_read_input_tokens: 100,
      cache_creation_input_tokens: 300,
      cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 200 },
      output_tokens: 1_612,
    },
  ],
};
const compactionRequest = { context_management: { edits: [{ type: 'compact_20260112' }] } };
const advisor = { type: 'advisor_20260301', name: 'advisor', model: 'claude-opus-4-8' };

describe('Usage parts billed in addition to the response', () => {
  let app: TestApp;
  let supplier: FixedResponseSupplier;

  beforeAll(async () => {
    supplier = await FixedResponseSupplier.start();
    app = await startTestApp({ environment: { SUPPLIER_ALLOW: '127.0.0.1' } });
    const catalogue = new TestCatalogue(app);
    await catalogue.provider({
      name: 'maker',
      style: 'messages-style',
      settings: { profile: 'anthropic' },
      baseUrl: supplier.url,
      regions: ['eu'],
      credentials: [{ label: 'one', kind: 'bearer', secret: 'sim-canary-of-ours' }],
    });
    await catalogue.model('sonnet', [{ provider: 'maker', upstreamModel: 'claude-sonnet-4-6' }], {
      input: usd('3'),
      output: usd('15'),
      tiers: [{ aboveInputTokens: 100_000, input: usd('6'), output: usd('30') }],
      modes: {
        'advisor=claude-opus-4-8': {
          rates: {
            input: usd('5'),
            output: usd('25'),
            cacheRead: usd('0.5'),
            cacheWrite: usd('6.25'),
            cacheWriteLong: usd('10'),
          },
        },
      },
    });
  });
  afterAll(async () => {
    await app.close();
    await supplier.stop();
  });

  const responseWith = (reported: object): object => ({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude-sonnet-4-6',
    content: [{ type: 'text', text: 'Hello.' }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: reported,
  });
  const streamWith = (reported: object): string =>
    events(
      {
        type: 'message_start',
        message: { ...responseWith({ input_tokens: 10, output_tokens: 1 }), content: [], stop_reason: null },
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello.' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: reported },
      { type: 'message_stop' },
    );

  async function sendRequest(key: string, body: object) {
    const answer = await fetch(`${app.url}/v1/messages`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'sonnet',
        max_tokens: 2_000,
        messages: [{ role: 'user', content: 'x' }],
        ...body,
      }),
    });
    const text = await answer.text();
    const id = answer.headers.get('x-request-id');
    const [record] = await app.database.query<{ cost_nano: string; parts: unknown; input_tokens: number }>(
      'SELECT cost_nano, parts, input_tokens FROM request_record WHERE request_id = $1',
      [id],
    );
    return { status: answer.status, text, record, id };
  }

  test.each([false, true])(
    'compaction is charged at the price tier it reaches, streamed: %s',
    async (stream) => {
      supplier.answer = stream ? streamWith(usage) : responseWith(usage);
      const { key } = await addCustomer(app, `compacting-${stream}`, 1_000_000_000_000n);
      const { status, record } = await sendRequest(key, { ...compactionRequest, stream });
      expect(status).toBe(200);
      // 23,000 × $3 + 1,000 × $15 for the message, plus 180,000 × $6 + 3,500 × $30 for the compaction, per 1M tokens.
      expect(BigInt(record!.cost_nano)).toBe(84_000_000n + 1_185_000_000n);
      expect(record).toMatchObject({
        input_tokens: 23_000,
        parts: [{ kind: 'compaction', model: null, inputTokens: 180_000, outputTokens: 3_500 }],
      });
    },
  );

  test.each([false, true])("advisor is charged at its own model's rates, streamed: %s", async (stream) => {
    supplier.answer = stream ? streamWith(advisorUsage) : responseWith(advisorUsage);
    const { key } = await addCustomer(app, `advised-${stream}`, 1_000_000_000_000n);
    const { status, record } = await sendRequest(key, { tools: [advisor], stream });
    expect(status).toBe(200);
    const answer = 412n * 3_000n + 531n * 15_000n;
    const advice = 823n * 5_000n + 100n * 500n + 100n * 6_250n + 200n * 10_000n + 1_612n * 25_000n;
    expect(BigInt(record!.cost_nano)).toBe(answer + advice);
    expect(supplier.requests.at(-1)).toMatchObject({
      tools: [{ ...advisor, max_uses: 5, max_tokens: 4_096 }],
    });
  });

  test('possible cost of advisor and compaction is held before the request is sent', async () => {
    const { key } = await addCustomer(app, 'with-a-cent', 10_000_000n);
    supplier.answer = responseWith({ input_tokens: 10, output_tokens: 5 });
    expect((await sendRequest(key, { max_tokens: 100 })).status).toBe(200);
    supplier.requests.length = 0;
    expect((await sendRequest(key, { max_tokens: 100, tools: [advisor] })).status).toBe(403);
    const longRequest = { messages: [{ role: 'user', content: 'x'.repeat(2_000) }], max_tokens: 100 };
    expect((await sendRequest(key, { ...longRequest, ...compactionRequest })).status).toBe(403);
    expect(supplier.requests).toHaveLength(0);
  });

  test('generation lists every part, so that the payer can recompute the cost', async () => {
    supplier.answer = responseWith(advisorUsage);
    const { key } = await addCustomer(app, 'recomputing', 1_000_000_000_000n);
    const { id } = await sendRequest(key, { tools: [advisor] });
    const generation = await fetch(`${app.url}/v1/generations/${id}`, { headers: { 'x-api-key': key } });
    expect(await generation.json()).toMatchObject({
      parts: [
        {
          kind: 'advisor_message',
          model: 'claude-opus-4-8',
          uncached_input_tokens: 823,
          cache_read_tokens: 100,
          cache_write_5m_tokens: 100,
          cache_write_1h_tokens: 200,
          visible_output_tokens: 1_612,
        },
      ],
    });
  });
});
