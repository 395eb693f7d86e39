import { parseUsdPerMillion as usd } from '#product/kernel';
import { startTestApp, type TestApp } from '../../support/app';
import { addCustomer } from '../../support/customer';
import { TestCatalogue } from './test-catalogue';
import { responsesBody } from './responses-body';
import { FixedResponseSupplier } from './fixed-response-supplier';

// "Unknown cache lifetimes are accepted unpriced". An unknown lifetime costs as much as the most expensive known one.
describe('Unknown cache lifetimes', () => {
  let app: TestApp;
  let supplier: FixedResponseSupplier;
  let key: string;

  beforeAll(async () => {
    supplier = await FixedResponseSupplier.start();
    app = await startTestApp({ environment: { SUPPLIER_ALLOW: '127.0.0.1' } });
    const catalogue = new TestCatalogue(app);
    const credentials = [{ label: 'one', kind: 'bearer' as const, secret: 'sim-canary-of-ours' }];
    const shared = { baseUrl: supplier.url, regions: ['eu'], credentials };
    await catalogue.provider({
      name: 'messenger',
      style: 'messages-style',
      settings: { profile: 'anthropic' },
      ...shared,
    });
    await catalogue.provider({
      name: 'responder',
      style: 'openai-style',
      settings: { profile: 'openai' },
      ...shared,
    });
    const rates = { input: usd('4'), output: usd('0'), cacheWrite: usd('5'), cacheWriteLong: usd('8') };
    await catalogue.model('by-messages', [{ provider: 'messenger' }], rates);
    await catalogue.model('by-responses', [{ provider: 'responder' }], rates);
    ({ key } = await addCustomer(app, 'cacher', 10n ** 12n));
  });
  afterAll(async () => {
    await app.close();
    await supplier.stop();
  });

  const costOf = async (path: string, body: object): Promise<number> => {
    const response = await fetch(`${app.url}/v1/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
    const [record] = await app.database.query<{ cost_nano: string }>(
      'SELECT cost_nano FROM request_record WHERE request_id = $1',
      [response.headers.get('x-request-id')],
    );
    return Number(record?.cost_nano);
  };
  const messagesCost = (ttl: string | undefined, usage: object): Promise<number> => {
    supplier.answer = {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'sim-large',
      content: [{ type: 'text', text: 'Hello.' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: 0, output_tokens: 1, cache_creation_input_tokens: 100, ...usage },
    };
    const text = { type: 'text', text: 'word '.repeat(200), cache_control: { type: 'ephemeral', ttl } };
    return costOf('messages', {
      model: 'by-messages',
      max_tokens: 5,
      messages: [{ role: 'user', content: [text] }],
    });
  };

  test.each([
    ['of none', undefined, {}, 500_000],
    ['of five minutes', '5m', {}, 500_000],
    ['of a day, without a report of lifetimes', '24h', {}, 800_000],
    [
      'of a day, which the report names',
      '24h',
      { cache_creation: { ephemeral_24h_input_tokens: 100 } },
      800_000,
    ],
    ['of an hour, without a report of lifetimes', '1h', {}, 800_000],
    [
      'of an hour, while the report says five minutes',
      '1h',
      { cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 0 } },
      500_000,
    ],
    [
      'of a day that only the report names',
      undefined,
      { cache_creation: { ephemeral_5m_input_tokens: 40, ephemeral_24h_input_tokens: 60 } },
      680_000,
    ],
  ])('messages request is charged for a cache lifetime: %s', async (_what, ttl, usage, cost) => {
    expect(await messagesCost(ttl, usage)).toBe(cost);
  });

  test.each([
    [undefined, 500_000],
    ['30m', 500_000],
    ['7d', 800_000],
  ])('responses request is charged for a cache lifetime of %s', async (ttl, cost) => {
    supplier.answer = {
      ...responsesBody([]),
      usage: {
        input_tokens: 100,
        output_tokens: 1,
        total_tokens: 101,
        input_tokens_details: { cached_tokens: 0, cache_write_tokens: 100 },
        output_tokens_details: { reasoning_tokens: 0 },
      },
    };
    const options = ttl === undefined ? {} : { prompt_cache_options: { ttl } };
    expect(await costOf('responses', { model: 'by-responses', input: 'word '.repeat(200), ...options })).toBe(
      cost,
    );
  });
});
