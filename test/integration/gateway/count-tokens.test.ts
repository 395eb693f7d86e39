import type { NewKey } from '../../../src/keys';
import { startTestApp, type TestApp } from '../../support/app';
import { declareRegions } from '../../support/regions';
import { addCustomer } from '../../support/customer';
import { startSimulator, type Simulator } from '../../support/simulator';
import { TestCatalogue } from './test-catalogue';

const path = '/v1/messages/count_tokens';
const conversation = {
  system: 'Be brief.',
  messages: [{ role: 'user', content: 'How many tokens are these words, more or less?' }],
};

describe('Token counting', () => {
  let app: TestApp;
  let supplier: Simulator;
  let catalogue: TestCatalogue;

  beforeAll(async () => {
    supplier = await startSimulator();
    app = await startTestApp({
      sandboxUrl: supplier.url,
      environment: { SUPPLIER_ALLOW: '127.0.0.1' },
    });
    catalogue = new TestCatalogue(app);
    const header = [{ label: 'key', kind: 'header', secret: 'sim-key' }] as const;
    // Timeouts of the provider for responses; counting has its own.
    const timeouts = { firstByte: 60_000, idle: 60_000, total: 60_000 };
    await catalogue.provider({
      name: 'counts',
      style: 'messages-style',
      baseUrl: supplier.url,
      timeouts,
      credentials: header,
    });
    await catalogue.provider({
      name: 'plain',
      style: 'openai-style',
      baseUrl: supplier.url,
      credentials: [{ label: 'key', kind: 'bearer', secret: 'sim-plain' }],
    });
    await catalogue.model('counted', [{ provider: 'counts' }]);
    await catalogue.model('plain-first', [{ provider: 'plain' }, { provider: 'counts' }]);
    await catalogue.model('plain-only', [{ provider: 'plain' }]);
  });
  afterAll(async () => {
    await app.close();
    await supplier.stop();
  });
  beforeEach(() => supplier.clearRequests());
  afterEach(() => supplier.clearFaults());

  const post = (
    body: object,
    headers: Readonly<Record<string, string>> = { 'x-api-key': app.firstKeys?.demo ?? '' },
    at = path,
  ): Promise<Response> =>
    fetch(`${app.url}${at}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01', ...headers },
      body: JSON.stringify(body),
    });

  const countOf = async (answer: Response): Promise<{ how: string | null; tokens: number }> => {
    expect(answer.status).toBe(200);
    const body = (await answer.json()) as { input_tokens: number };
    expect(Object.keys(body)).toEqual(['input_tokens']);
    return { how: answer.headers.get('x-svc-token-count'), tokens: body.input_tokens };
  };

  const createKey = async (name: string, limits: Partial<NewKey>, wallet = 0n): Promise<string> =>
    (await addCustomer(app, name, wallet, limits)).key;

  const rowsOf = async (table: string): Promise<number> => {
    const [row] = await app.database.query<{ count: string }>(`SELECT count(*) FROM ${table}`);
    return Number(row?.count);
  };

  test('count is exact when the supplier counts, and equals the input tokens of the request itself', async () => {
    const { how, tokens } = await countOf(await post({ model: 'counted', ...conversation }));
    expect(how).toBe('exact');
    const [request] = await supplier.requests();
    expect(request).toMatchObject({
      path,
      body: { model: 'sim-large', ...conversation },
      headers: { 'x-api-key': 'sim-key' },
    });
    const messageResponse = await post(
      { model: 'counted', max_tokens: 20, ...conversation },
      undefined,
      '/v1/messages',
    );
    const { usage } = (await messageResponse.json()) as { usage: { input_tokens: number } };
    expect(tokens).toBe(usage.input_tokens);
  });

  test('complete request body, either key header and any query give the same count', async () => {
    const completeRequest = {
      model: 'counted',
      max_tokens: 20,
      stream: true,
      temperature: 0.5,
      ...conversation,
    };
    const bearer = { authorization: `Bearer ${app.firstKeys?.demo}` };
    const plainCount = await countOf(await post({ model: 'counted', ...conversation }));
    expect(await countOf(await post(completeRequest, bearer))).toEqual(plainCount);
    expect(await countOf(await post(completeRequest, undefined, `${path}?beta=true`))).toEqual(plainCount);
  });

  test('count is exact over the built-in simulator', async () => {
    expect((await countOf(await post({ model: 'sim-small', ...conversation }))).how).toBe('exact');
  });

  test('count comes from the first lane that can count', async () => {
    expect((await countOf(await post({ model: 'plain-first', ...conversation }))).how).toBe('exact');
    expect((await supplier.requests()).map(({ headers }) => headers['x-api-key'])).toEqual(['sim-key']);
  });

  test('count is estimated without a supplier call when no lane can count', async () => {
    const { how, tokens } = await countOf(await post({ model: 'plain-only', ...conversation }));
    expect(how).toBe('estimate');
    expect(tokens).toBeGreaterThan(10);
    expect(tokens).toBeLessThan(40);
    expect(await supplier.requests()).toEqual([]);
  });

  test.each([
    ['fails', { kind: 'status', status: 500 }],
    ['refuses our key', { kind: 'status', status: 401 }],
    ['does not know the route', { kind: 'status', status: 404 }],
    ['is too busy', { kind: 'status', status: 429 }],
    ['hangs up', { kind: 'reset' }],
    ['answers with a page', { kind: 'non-json' }],
    ['answers with nothing', { kind: 'empty-body' }],
    ['answers something else', { kind: 'status', status: 200, body: { input_tokens: '12' } }],
    ['answers without end', { kind: 'huge-body', bytes: 1_000_000 }],
  ] as const)('count is estimated when the supplier %s, and the lane stays healthy', async (_what, fault) => {
    await supplier.addFault({ match: { path }, fault });
    for (let round = 0; round < 6; round += 1) {
      expect((await countOf(await post({ model: 'counted', ...conversation }))).how).toBe('estimate');
    }
    const messageResponse = await post(
      { model: 'counted', max_tokens: 20, ...conversation },
      undefined,
      '/v1/messages',
    );
    expect(messageResponse.status).toBe(200);
  });

  test('count is estimated after three seconds when the supplier hangs, and the call to it is closed', async () => {
    await supplier.addFault({ match: { path }, fault: { kind: 'hang' } });
    const startedAt = performance.now();
    expect((await countOf(await post({ model: 'counted', ...conversation }))).how).toBe('estimate');
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(2_900);
    expect(performance.now() - startedAt).toBeLessThan(30_000);
    await supplier.waitForClosed(1, 'client-closed');
  });

  test('counting needs no money and leaves neither a record nor a ledger entry', async () => {
    const emptyWalletKey = await createKey('poor', {});
    const countsBefore = [await rowsOf('request_record'), await rowsOf('ledger_entry')];
    for (const model of ['counted', 'plain-only']) {
      expect(
        (await countOf(await post({ model, ...conversation }, { 'x-api-key': emptyWalletKey }))).tokens,
      ).toBeGreaterThan(0);
    }
    expect([await rowsOf('request_record'), await rowsOf('ledger_entry')]).toEqual(countsBefore);
    const messageResponse = await post(
      { model: 'counted', max_tokens: 20, ...conversation },
      { 'x-api-key': emptyWalletKey },
      '/v1/messages',
    );
    expect(messageResponse.status).toBe(403);
  });

  test("counting uses the key's requests per minute", async () => {
    const key = await createKey('hasty', { rateLimitRpm: 3 });
    const answers = [];
    for (let round = 0; round < 4; round += 1) {
      answers.push(await post({ model: 'counted', ...conversation }, { 'x-api-key': key }));
    }
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
    expect(answers.map(({ headers }) => headers.get('x-ratelimit-remaining-requests'))).toEqual([
      '2',
      '1',
      '0',
      '0',
    ]);
    const last = answers[3];
    expect(Number(last?.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await last?.json()).toMatchObject({ type: 'error', error: { type: 'rate_limit_error' } });
  });

  test("counting returns the same errors as the request itself, in the caller's dialect", async () => {
    await declareRegions(app.database, 'mars');
    const otherRegionKey = await createKey('martian', { allowedRegions: ['mars'] });
    const restrictedKey = await createKey('listed', { allowedModels: ['sim-small'] });
    for (const [body, key, status, code, param] of [
      [{ model: 'no-such-model', ...conversation }, undefined, 404, 'model_not_found', 'model'],
      [{ model: 'sim-embed', ...conversation }, undefined, 404, 'model_not_available', 'model'],
      [conversation, undefined, 400, 'missing_model', 'model'],
      [{ model: 'counted', messages: [] }, undefined, 400, 'invalid_request', 'messages'],
      [{ model: 'counted', messages: 'x' }, undefined, 400, 'invalid_request', 'messages'],
      [{ model: 'counted', ...conversation }, restrictedKey, 403, 'model_not_allowed', 'model'],
      [{ model: 'counted', ...conversation }, otherRegionKey, 503, 'sovereign_route_unavailable', undefined],
      [{ model: 'counted', region: 'mars', ...conversation }, undefined, 400, 'invalid_request', 'region'],
      [{ model: 'counted', ...conversation }, 'svc_nonsense', 401, 'invalid_api_key', undefined],
    ] as const) {
      const answer = await post(body, key === undefined ? undefined : { 'x-api-key': key });
      const { type, error } = (await answer.json()) as { type: string; error: Record<string, unknown> };
      expect([answer.status, type, error.code]).toEqual([status, 'error', code]);
      if (param !== undefined) expect(error.param).toBe(param);
      expect(answer.headers.get('x-svc-token-count')).toBeNull();
    }
    expect(await supplier.requests()).toEqual([]);
  });

  test("supplier's validation error is returned in the caller's dialect", async () => {
    const answer = await post({ model: 'counted', messages: [{ role: 'nobody', content: 'x' }] });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({
      type: 'error',
      error: { type: 'invalid_request_error', code: 'invalid_request' },
    });
  });
});
