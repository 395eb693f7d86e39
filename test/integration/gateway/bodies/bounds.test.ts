import { Limits } from '#product/billing';
import { parseUsd, parseUsdPerMillion } from '#product/kernel';
import { pngOf } from '../../../support/pictures';
import { addCustomer, type Customer } from '../../../support/customer';
import { ModelShelf } from '../model-shelf';
import { app, closeHouse, openHouse, supplier } from '../gateway-house';

const dollar = 1_000_000_000n;

/** `sim-large` reads 200,000 tokens at three dollars a million and writes at fifteen. */
describe('money has to be free for a request', () => {
  let poor: Customer;

  beforeAll(async () => {
    await openHouse({ SHARED_CONTENT: 'conv_1, file-1' });
    poor = await addCustomer(app, 'poor', 1n);
    await new ModelShelf(app).model('searching', [{ provider: 'sandbox', region: 'local' }], {
      input: parseUsdPerMillion('4'),
      output: parseUsdPerMillion('15'),
      uses: { web_search: parseUsd('0.01') },
    });
  });
  beforeEach(() => supplier.clearRequests());
  afterAll(closeHouse);

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

  /** By the refusal of a key that has nothing. */
  const needed = async (path: string, body: object): Promise<number> => {
    const answer = await post(poor.key, path, body);
    expect(answer.status).toBe(403);
    const { error } = (await answer.json()) as { error: { details: { needed_usd: string } } };
    return Number(error.details.needed_usd);
  };

  const limited = async (name: string, limit: bigint): Promise<string> => {
    const { key, keyId } = await addCustomer(app, name, dollar);
    await app.database.transaction((tx) =>
      app.application
        .get(Limits, { strict: false })
        .set(tx, { kind: 'key', id: keyId }, { period: 'daily', limit }),
    );
    return key;
  };

  const searching = { model: 'searching' };
  const picture = { type: 'image_url', image_url: { url: 'https://pictures.example/a.png' } };
  const pdf = { type: 'input_file', file_url: 'https://papers.example/a.pdf' };

  test.each([
    ['four pictures by address', 0.19, chat([picture, picture, picture, picture])],
    [
      'a search of the web',
      3.5,
      messages('x', { ...searching, tools: [{ type: 'web_search_20250305', name: 'web_search' }] }),
    ],
    ['a conversation of the supplier', 0.6, responses('x', { conversation: 'conv_1' })],
    ['a PDF by address', 0.6, responses([{ role: 'user', content: [pdf] }])],
    ['a file by its id', 0.6, chat([{ type: 'file', file: { file_id: 'file-1' } }])],
    // Tokenizers exist that make a token of every digit.
    ['digits', 0.3, chat('7'.repeat(100_000))],
    // A part that does not come true is billed as output; the same text is read as well.
    [
      'a prediction',
      0.18,
      chat('x', { prediction: { type: 'content', content: [{ type: 'text', text: '7'.repeat(10_000) }] } }),
    ],
  ])('%s: all that the supplier may charge, $%d at least', async (_what, least, [path, body]) => {
    expect(await needed(path, body)).toBeGreaterThanOrEqual(least);
    expect(await supplier.requests()).toEqual([]);
  });

  test('a screenshot of half a megabyte: cents, and it is answered', async () => {
    const data = pngOf({ width: 1_920, height: 1_080 }, 500_000).toString('base64');
    const url = `data:image/png;base64,${data}`;
    const asked = chat([
      { type: 'image_url', image_url: { url } },
      { type: 'text', text: 'what is it' },
    ]);
    expect(await needed(...asked)).toBeLessThan(0.11);
    const answer = await post(await limited('painter', (dollar * 11n) / 100n), ...asked);
    expect(answer.status).toBe(200);
  });

  test('a tool without a limit gets one, a limit of the caller stays', async () => {
    const key = await limited('searcher', dollar / 2n);
    const tools = [{ type: 'web_search_20250305', name: 'web_search', max_uses: 1 }];
    const refused = await post(key, ...messages('x', { ...searching, tools }));
    expect(refused.status).toBe(402);
    expect(await refused.json()).toMatchObject({ error: { code: 'budget_exceeded' } });
  });

  describe('near the end of a budget', () => {
    const open = chat('x [[tokens=400]]', { max_tokens: undefined });

    test('an answer is capped no lower than is worth it, and the caller is told', async () => {
      const answer = await post(await limited('capped', 10_000_000n), ...open);
      expect(answer.status).toBe(200);
      const cap = Number(answer.headers.get('x-svc-output-cap'));
      expect(cap).toBeGreaterThanOrEqual(256);
      // 0.01 dollars buy 666 tokens.
      expect(cap).toBeLessThanOrEqual(666);
      const [sent] = await supplier.requests();
      const body = sent?.body as { max_completion_tokens?: number; max_tokens?: number };
      expect(body.max_completion_tokens ?? body.max_tokens).toBe(cap);
    });

    test('a stream says it at its head and with its usage', async () => {
      const [path, body] = open;
      const options = { stream: true, stream_options: { include_usage: true } };
      const answer = await post(await limited('capped-stream', 10_000_000n), path, { ...body, ...options });
      const cap = Number(answer.headers.get('x-svc-output-cap'));
      expect(cap).toBeGreaterThanOrEqual(256);
      expect(await answer.text()).toContain(`"output_cap":${cap}`);
    });

    test('less than is worth it is a refusal: of the key 402, of the wallet 403', async () => {
      const refused = await post(await limited('spent', 3_000_000n), ...open);
      expect([refused.status, await refused.json()]).toMatchObject([
        402,
        { error: { code: 'budget_exceeded' } },
      ]);
      const { key } = await addCustomer(app, 'drained', 3_000_000n);
      const drained = await post(key, ...open);
      expect([drained.status, await drained.json()]).toMatchObject([
        403,
        { error: { code: 'billing_limit_reached' } },
      ]);
      expect(await supplier.requests()).toEqual([]);
    });

    test('who asks for less gets it', async () => {
      const few = chat('x [[tokens=20]]', { max_tokens: 60 });
      const answer = await post(await limited('modest', 3_000_000n), ...few);
      expect(answer.status).toBe(200);
      expect(answer.headers.get('x-svc-output-cap')).toBeNull();
    });
  });
});
