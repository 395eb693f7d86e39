import type { NewKey } from '../../../src/keys';
import { startTestApp, type TestApp } from '../../support/app';
import { declareRegions } from '../../support/regions';
import { addCustomer } from '../../support/customer';
import { startSimulator, type Simulator } from '../../support/simulator';
import { ModelShelf } from './model-shelf';

const path = '/v1/messages/count_tokens';
const asked = {
  system: 'Be brief.',
  messages: [{ role: 'user', content: 'How many tokens are these words, more or less?' }],
};

describe('counting tokens', () => {
  let app: TestApp;
  let supplier: Simulator;
  let shelf: ModelShelf;

  beforeAll(async () => {
    supplier = await startSimulator();
    app = await startTestApp({
      sandboxUrl: supplier.url,
      environment: { SUPPLIER_ALLOW: '127.0.0.1' },
    });
    shelf = new ModelShelf(app);
    const header = [{ label: 'key', kind: 'header', secret: 'sim-key' }] as const;
    // A provider's own patience, which is for answers.
    const timeouts = { firstByte: 60_000, idle: 60_000, total: 60_000 };
    await shelf.provider({
      name: 'counts',
      style: 'messages-style',
      baseUrl: supplier.url,
      timeouts,
      credentials: header,
    });
    await shelf.provider({
      name: 'plain',
      style: 'openai-style',
      baseUrl: supplier.url,
      credentials: [{ label: 'key', kind: 'bearer', secret: 'sim-plain' }],
    });
    await shelf.model('counted', [{ provider: 'counts' }]);
    await shelf.model('plain-first', [{ provider: 'plain' }, { provider: 'counts' }]);
    await shelf.model('plain-only', [{ provider: 'plain' }]);
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

  const keyFor = async (name: string, limits: Partial<NewKey>, wallet = 0n): Promise<string> =>
    (await addCustomer(app, name, wallet, limits)).key;

  const rowsOf = async (table: string): Promise<number> => {
    const [row] = await app.database.query<{ count: string }>(`SELECT count(*) FROM ${table}`);
    return Number(row?.count);
  };

  test('is exact where the supplier counts, and the same as the request itself uses', async () => {
    const { how, tokens } = await countOf(await post({ model: 'counted', ...asked }));
    expect(how).toBe('exact');
    const [request] = await supplier.requests();
    expect(request).toMatchObject({
      path,
      body: { model: 'sim-large', ...asked },
      headers: { 'x-api-key': 'sim-key' },
    });
    const sent = await post({ model: 'counted', max_tokens: 20, ...asked }, undefined, '/v1/messages');
    const { usage } = (await sent.json()) as { usage: { input_tokens: number } };
    expect(tokens).toBe(usage.input_tokens);
  });

  test('takes the whole request as well, under either header, with any query', async () => {
    const whole = { model: 'counted', max_tokens: 20, stream: true, temperature: 0.5, ...asked };
    const bearer = { authorization: `Bearer ${app.firstKeys?.demo}` };
    const plain = await countOf(await post({ model: 'counted', ...asked }));
    expect(await countOf(await post(whole, bearer))).toEqual(plain);
    expect(await countOf(await post(whole, undefined, `${path}?beta=true`))).toEqual(plain);
  });

  test('is exact over the built-in simulator', async () => {
    expect((await countOf(await post({ model: 'sim-small', ...asked }))).how).toBe('exact');
  });

  test('is asked of the first lane that counts', async () => {
    expect((await countOf(await post({ model: 'plain-first', ...asked }))).how).toBe('exact');
    expect((await supplier.requests()).map(({ headers }) => headers['x-api-key'])).toEqual(['sim-key']);
  });

  test('is estimated where nobody counts, and no supplier is asked', async () => {
    const { how, tokens } = await countOf(await post({ model: 'plain-only', ...asked }));
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
  ] as const)(
    'is estimated when the supplier %s, and the lane is none the worse for it',
    async (_what, fault) => {
      await supplier.addFault({ match: { path }, fault });
      for (let turn = 0; turn < 6; turn += 1) {
        expect((await countOf(await post({ model: 'counted', ...asked }))).how).toBe('estimate');
      }
      const sent = await post({ model: 'counted', max_tokens: 20, ...asked }, undefined, '/v1/messages');
      expect(sent.status).toBe(200);
    },
  );

  test('is estimated after three seconds when the supplier hangs, and the call to it is closed', async () => {
    await supplier.addFault({ match: { path }, fault: { kind: 'hang' } });
    const startedAt = performance.now();
    expect((await countOf(await post({ model: 'counted', ...asked }))).how).toBe('estimate');
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(2_900);
    expect(performance.now() - startedAt).toBeLessThan(30_000);
    await supplier.waitForClosed(1, 'client-closed');
  });

  test('costs nothing: no record, no entry, no money needed, none moved', async () => {
    const poor = await keyFor('poor', {});
    const before = [await rowsOf('request_record'), await rowsOf('ledger_entry')];
    for (const model of ['counted', 'plain-only']) {
      expect((await countOf(await post({ model, ...asked }, { 'x-api-key': poor }))).tokens).toBeGreaterThan(
        0,
      );
    }
    expect([await rowsOf('request_record'), await rowsOf('ledger_entry')]).toEqual(before);
    const sent = await post(
      { model: 'counted', max_tokens: 20, ...asked },
      { 'x-api-key': poor },
      '/v1/messages',
    );
    expect(sent.status).toBe(403);
  });

  test('counts as a request of the key’s minute', async () => {
    const key = await keyFor('hasty', { rateLimitRpm: 3 });
    const answers = [];
    for (let turn = 0; turn < 4; turn += 1) {
      answers.push(await post({ model: 'counted', ...asked }, { 'x-api-key': key }));
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

  test('is refused in the words of the dialect where the request itself would be', async () => {
    await declareRegions(app.database, 'mars');
    const elsewhere = await keyFor('martian', { allowedRegions: ['mars'] });
    const listed = await keyFor('listed', { allowedModels: ['sim-small'] });
    for (const [body, key, status, code, param] of [
      [{ model: 'no-such-model', ...asked }, undefined, 404, 'model_not_found', 'model'],
      [{ model: 'sim-embed', ...asked }, undefined, 404, 'model_not_available', 'model'],
      [asked, undefined, 400, 'missing_model', 'model'],
      [{ model: 'counted', messages: [] }, undefined, 400, 'invalid_request', 'messages'],
      [{ model: 'counted', messages: 'x' }, undefined, 400, 'invalid_request', 'messages'],
      [{ model: 'counted', ...asked }, listed, 403, 'model_not_allowed', 'model'],
      [{ model: 'counted', ...asked }, elsewhere, 503, 'sovereign_route_unavailable', undefined],
      [{ model: 'counted', region: 'mars', ...asked }, undefined, 400, 'invalid_request', 'region'],
      [{ model: 'counted', ...asked }, 'svc_nonsense', 401, 'invalid_api_key', undefined],
    ] as const) {
      const answer = await post(body, key === undefined ? undefined : { 'x-api-key': key });
      const { type, error } = (await answer.json()) as { type: string; error: Record<string, unknown> };
      expect([answer.status, type, error.code]).toEqual([status, 'error', code]);
      if (param !== undefined) expect(error.param).toBe(param);
      expect(answer.headers.get('x-svc-token-count')).toBeNull();
    }
    expect(await supplier.requests()).toEqual([]);
  });

  test('what the supplier finds wrong with the request is said in its words', async () => {
    const answer = await post({ model: 'counted', messages: [{ role: 'nobody', content: 'x' }] });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({
      type: 'error',
      error: { type: 'invalid_request_error', code: 'invalid_request' },
    });
  });
});
