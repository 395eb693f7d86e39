import { Limits } from '#product/billing';
import { parseUsd, parseUsdPerMillion } from '#product/kernel';
import { pngOf } from '../../../support/pictures';
import { addCustomer, type Customer } from '../../../support/customer';
import { TestCatalogue } from '../test-catalogue';
import { app, closeFixture, openFixture, supplier } from '../gateway-fixture';

const dollar = 1_000_000_000n;

/** `sim-large` reads 200,000 tokens at $3 per 1M and writes at $15 per 1M. */
describe('Holds', () => {
  let poor: Customer;

  beforeAll(async () => {
    await openFixture({ SHARED_CONTENT: 'conv_1, file-1' });
    poor = await addCustomer(app, 'poor', 1n);
    await new TestCatalogue(app).model('searching', [{ provider: 'sandbox', region: 'local' }], {
      input: parseUsdPerMillion('4'),
      output: parseUsdPerMillion('15'),
      uses: { web_search: parseUsd('0.01') },
    });
  });
  beforeEach(() => supplier.clearRequests());
  afterAll(closeFixture);

  const post = (key: string, path: string, body: object): Promise<Response> =>
    fetch(`${app.url}/v1/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sim-large', ...body }),
    });
  const chat = (content: unknown, rest: object = {}) =>
    ['chat/completions', { max_tokens: 100, messages: [{ role: 'user', content }], ...rest }] as const;
  const messages = (content: unknown, rest: object = {}) =>
    ['messages', { max_tokens: 100, messages: [{ role: 'user', content }], ...rest }] as const;
  const responses = (input: unknown, rest: object = {}) =>
    ['responses', { max_output_tokens: 100, input, ...rest }] as const;

  /** Amount that a request needs, read from the refusal of an empty key. */
  const requiredUsd = async (path: string, body: object): Promise<number> => {
    const answer = await post(poor.key, path, body);
    expect(answer.status).toBe(403);
    const { error } = (await answer.json()) as { error: { details: { needed_usd: string } } };
    return Number(error.details.needed_usd);
  };

  const createLimitedKey = async (name: string, limit: bigint): Promise<string> => {
    const { key, keyId } = await addCustomer(app, name, dollar);
    await app.database.transaction((tx) =>
      app.application
        .get(Limits, { strict: false })
        .set(tx, { kind: 'key', id: keyId }, { period: 'daily', limit }),
    );
    return key;
  };

  const searchModel = { model: 'searching' };
  const picture = { type: 'image_url', image_url: { url: 'https://pictures.example/a.png' } };
  const pdf = { type: 'input_file', file_url: 'https://papers.example/a.pdf' };

  test.each([
    ['four pictures by address', 0.19, chat([picture, picture, picture, picture])],
    [
      'a search of the web',
      3.5,
      messages('x', { ...searchModel, tools: [{ type: 'web_search_20250305', name: 'web_search' }] }),
    ],
    ['a conversation of the supplier', 0.6, responses('x', { conversation: 'conv_1' })],
    ['a PDF by address', 0.6, responses([{ role: 'user', content: [pdf] }])],
    ['a file by its id', 0.6, chat([{ type: 'file', file: { file_id: 'file-1' } }])],
    // Some tokenizers make one token of every digit.
    ['digits', 0.3, chat('7'.repeat(100_000))],
    // Rejected prediction tokens are billed as output, and the same text is also read as input.
    [
      'a prediction',
      0.18,
      chat('x', { prediction: { type: 'content', content: [{ type: 'text', text: '7'.repeat(10_000) }] } }),
    ],
  ])(
    'hold for %s covers everything that the supplier can charge, at least $%d',
    async (_what, least, [path, body]) => {
      expect(await requiredUsd(path, body)).toBeGreaterThanOrEqual(least);
      expect(await supplier.requests()).toEqual([]);
    },
  );

  test('500 kB screenshot needs a hold of cents and is served', async () => {
    const data = pngOf({ width: 1_920, height: 1_080 }, 500_000).toString('base64');
    const url = `data:image/png;base64,${data}`;
    const screenshotRequest = chat([
      { type: 'image_url', image_url: { url } },
      { type: 'text', text: 'what is it' },
    ]);
    expect(await requiredUsd(...screenshotRequest)).toBeLessThan(0.11);
    const answer = await post(await createLimitedKey('painter', (dollar * 11n) / 100n), ...screenshotRequest);
    expect(answer.status).toBe(200);
  });

  test("default limit is added to a tool without one, and the caller's own limit is kept", async () => {
    const key = await createLimitedKey('searcher', dollar / 2n);
    const tools = [{ type: 'web_search_20250305', name: 'web_search', max_uses: 1 }];
    const refusal = await post(key, ...messages('x', { ...searchModel, tools }));
    expect(refusal.status).toBe(402);
    expect(await refusal.json()).toMatchObject({ error: { code: 'budget_exceeded' } });
  });

  describe('Requests near the end of a budget', () => {
    const uncappedRequest = chat('x [[tokens=400]]', { max_tokens: undefined });

    test('output is capped to the budget, and x-svc-output-cap reports the cap', async () => {
      const answer = await post(await createLimitedKey('capped', 10_000_000n), ...uncappedRequest);
      expect(answer.status).toBe(200);
      const cap = Number(answer.headers.get('x-svc-output-cap'));
      expect(cap).toBeGreaterThanOrEqual(256);
      // $0.01 buys 666 tokens.
      expect(cap).toBeLessThanOrEqual(666);
      const [sent] = await supplier.requests();
      const body = sent?.body as { max_completion_tokens?: number; max_tokens?: number };
      expect(body.max_completion_tokens ?? body.max_tokens).toBe(cap);
    });

    test('stream reports the cap in its headers and with its usage', async () => {
      const [path, body] = uncappedRequest;
      const options = { stream: true, stream_options: { include_usage: true } };
      const answer = await post(await createLimitedKey('capped-stream', 10_000_000n), path, {
        ...body,
        ...options,
      });
      const cap = Number(answer.headers.get('x-svc-output-cap'));
      expect(cap).toBeGreaterThanOrEqual(256);
      expect(await answer.text()).toContain(`"output_cap":${cap}`);
    });

    test('budget below the minimum cap returns 402 for a key and 403 for a wallet', async () => {
      const refusal = await post(await createLimitedKey('spent', 3_000_000n), ...uncappedRequest);
      expect([refusal.status, await refusal.json()]).toMatchObject([
        402,
        { error: { code: 'budget_exceeded' } },
      ]);
      const { key } = await addCustomer(app, 'drained', 3_000_000n);
      const walletRefusal = await post(key, ...uncappedRequest);
      expect([walletRefusal.status, await walletRefusal.json()]).toMatchObject([
        403,
        { error: { code: 'billing_limit_reached' } },
      ]);
      expect(await supplier.requests()).toEqual([]);
    });

    test('request with a small max_tokens is served without a cap', async () => {
      const shortRequest = chat('x [[tokens=20]]', { max_tokens: 60 });
      const answer = await post(await createLimitedKey('modest', 3_000_000n), ...shortRequest);
      expect(answer.status).toBe(200);
      expect(answer.headers.get('x-svc-output-cap')).toBeNull();
    });
  });
});
