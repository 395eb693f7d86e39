import { platformScope } from '#product/kernel';
import { request as httpRequest } from 'node:http';
import { TokenEvents } from '#product/catalogue';
import { Limits } from '#product/billing';
import { UserAccount } from '#product/identity';
import { KeysService, type NewKey } from '#product/keys';
import { startTestApp, type TestApp } from '../../support/app';
import { declareRegions } from '../../support/regions';
import { startSimulator, type Simulator } from '../../support/simulator';
import { startFakeServer, type FakeServer } from '../suppliers/supplier-fixture';
import { TestCatalogue } from './test-catalogue';
import { agentRates, agentBody } from './native-agent';
import { until } from '../../support/until';

const farExpiry = (): number => Date.now() + 3_600_000;
const nearExpiry = (): number => Date.now() + 5_000;

interface NativeResponse {
  readonly status: number;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly trailers: NodeJS.Dict<string>;
  readonly text: string;
}

describe('POST /v1/native/responses', () => {
  let app: TestApp;
  let supplier: Simulator;
  let issuer: FakeServer;
  let catalogue: TestCatalogue;
  let issuedTokens = 0;

  beforeAll(async () => {
    supplier = await startSimulator();
    issuer = await startFakeServer((response) => {
      issuedTokens += 1;
      response.end(
        JSON.stringify({ access_token: `sim-new-${issuedTokens}`, refresh_token: 'r', expires_in: 3600 }),
      );
    });
    app = await startTestApp({
      sandboxUrl: supplier.url,
      environment: { SUPPLIER_ALLOW: '127.0.0.1' },
    });
    catalogue = new TestCatalogue(app);
    await addPool('agents', { one: farExpiry(), two: farExpiry() });
    await addPool('spare', { last: farExpiry() });
    await catalogue.provider({
      name: 'plain',
      style: 'openai-style',
      baseUrl: supplier.url,
      credentials: [{ label: 'key', kind: 'bearer', secret: 'sim-plain' }],
    });
    await catalogue.model(
      'sim-large-native',
      [{ provider: 'agents', upstreamModel: 'sim-large-native' }],
      agentRates,
    );
    await catalogue.model('renamed', [{ provider: 'agents' }], agentRates);
    await catalogue.model(
      'with-spare',
      [{ provider: 'agents' }, { provider: 'spare', region: 'us' }],
      agentRates,
    );
    await catalogue.model('plain-only', [{ provider: 'plain' }], agentRates);
    await catalogue.model('plain-first', [{ provider: 'plain' }, { provider: 'agents' }], agentRates);
  });
  afterAll(async () => {
    await app.close();
    await issuer.stop();
    await supplier.stop();
  });
  beforeEach(() => supplier.clearRequests());
  afterEach(() => supplier.clearFaults());

  const addPool = (name: string, tokens: Readonly<Record<string, number>>): Promise<void> =>
    catalogue.provider({
      name,
      style: 'native-oauth',
      baseUrl: `${supplier.url}/v1`,
      settings: { oauth: { token_url: issuer.url, client_id: 'agent' } },
      credentials: Object.entries(tokens).map(([label, expiresAt]) => ({
        label,
        kind: 'oauth-pool',
        secret: { accessToken: `sim-${label}`, refreshToken: `refresh-${label}`, expiresAt },
      })),
    });

  const post = (body: string, key = app.firstKeys?.demo): Promise<NativeResponse> =>
    new Promise((resolve, reject) => {
      const outgoing = httpRequest(`${app.url}/v1/native/responses`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          originator: 'codex_cli_rs',
          'session-id': 'session-1',
          'thread-id': 'thread-1',
        },
      });
      outgoing.on('error', reject);
      outgoing.on('response', (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            trailers: response.trailers,
            text: Buffer.concat(chunks).toString(),
          }),
        );
      });
      outgoing.end(body);
    });

  const errorOf = ({ text }: NativeResponse): Record<string, unknown> =>
    (JSON.parse(text) as { error: Record<string, unknown> }).error;

  const recordOf = async ({ headers }: NativeResponse): Promise<Record<string, unknown> | undefined> => {
    const rows = await app.database.query<Record<string, unknown>>(
      'SELECT * FROM request_record WHERE request_id = $1',
      [headers['x-request-id']],
    );
    return rows[0];
  };

  const createKey = (
    name: string,
    limits: Pick<NewKey, 'allowedRegions'>,
  ): Promise<{ id: number; text: string }> =>
    app.database.transaction(async (tx) => {
      const users = tx.getRepository(UserAccount);
      const email = `${name}@example.com`;
      const user = users.create({ email, displayName: name, status: 'active', billingExempt: true });
      await users.insert(user);
      const owner = { userId: user.id, organisationId: null, departmentId: null, projectId: null };
      return app.application
        .get(KeysService, { strict: false })
        .issue(platformScope, tx, { ...owner, ...limits, kind: 'client', name, createdBy: 'test' });
    });

  const tokensUsed = async (): Promise<string[]> =>
    (await supplier.requests()).map(({ headers }) =>
      (headers.authorization ?? '').replace('Bearer sim-', ''),
    );

  test('request and response are passed through byte for byte', async () => {
    const body = agentBody('sim-large-native', 'Hello [[tokens=30]] [[think]]');
    const answer = await post(body);
    expect(answer.status).toBe(200);
    const [request] = await supplier.requests();
    expect(request).toMatchObject({ path: '/v1/responses', rawBody: body });
    expect(request?.headers).toMatchObject({
      originator: 'codex_cli_rs',
      'session-id': 'session-1',
      'thread-id': 'thread-1',
      accept: 'text/event-stream',
    });
    expect(JSON.stringify(request?.headers)).not.toContain('svc_');
    const direct = await fetch(`${supplier.url}/v1/responses`, {
      method: 'POST',
      headers: { authorization: 'Bearer sim-direct', 'content-type': 'application/json' },
      body,
    });
    expect(answer.text).toBe(await direct.text());
    expect(answer.text).toContain('event: response.completed');
  });

  test('model name is replaced by the upstream name, and steering fields are removed', async () => {
    const extra = ' "region":"eu", "api_base":"http://elsewhere.example",';
    await post(agentBody('renamed', 'Hello', extra));
    const [request] = await supplier.requests();
    // Everything else is unchanged, except for spaces next to the edits.
    const withoutSpaces = (text: string): string => text.replace(/\s/g, '');
    expect(withoutSpaces(request?.rawBody ?? '')).toBe(withoutSpaces(agentBody('sim-large', 'Hello')));
    expect(request?.rawBody).toContain('"store" : false');
  });

  test('headers, trailers and the record report cost and usage', async () => {
    const answer = await post(agentBody('renamed', 'Hello [[tokens=7]]'));
    expect(answer.headers).toMatchObject({
      'x-svc-supplier': 'agents',
      'x-svc-region': 'eu',
      'x-svc-failover': 'false',
    });
    const record = await recordOf(answer);
    expect(record).toMatchObject({
      surface: 'native',
      model: 'renamed',
      served_model: 'sim-large',
      supplier: 'agents',
      output_tokens: 7,
      usage_source: 'supplier',
      stream: true,
      status: 200,
      code: null,
      finish_reason: 'completed',
    });
    const input = Number(record?.input_tokens);
    expect(input).toBeGreaterThan(0);
    expect(record?.cost_nano).toBe(String(input * 1_000 + 7 * 2_000));
    expect(answer.trailers).toMatchObject({
      'x-svc-input-tokens': String(input),
      'x-svc-output-tokens': '7',
    });
  });

  test('native route works over the built-in simulator without setup', async () => {
    const answer = await post(agentBody('sim-small', 'Hello [[tokens=5]]'));
    expect([answer.status, answer.headers['x-svc-supplier']]).toEqual([200, 'sandbox']);
    expect(answer.text).toContain('response.completed');
    expect(await recordOf(answer)).toMatchObject({ surface: 'native', output_tokens: 5 });
  });

  test.each([
    ['an unstreamed request', { stream: false, input: [{}] }, 'invalid_request', 'stream'],
    ['a request that does not say', { input: [{}] }, 'invalid_request', 'stream'],
    ['a stream that is no truth value', { stream: 'true', input: [{}] }, 'invalid_request', 'stream'],
    ['a text for a list', { stream: true, input: 'Hello' }, 'invalid_input', 'input'],
    ['an object for a list', { stream: true, input: {} }, 'invalid_input', 'input'],
    ['no input', { stream: true }, 'invalid_input', 'input'],
    ['an empty list', { stream: true, input: [] }, 'invalid_request', 'input'],
  ])('%s returns 400', async (_what, body, code, param) => {
    const answer = await post(JSON.stringify({ model: 'renamed', ...body }));
    expect([answer.status, errorOf(answer)]).toEqual([400, expect.objectContaining({ code, param })]);
    expect(await supplier.requests()).toEqual([]);
  });

  test.each([
    ['nobody knows', 'no-such-model', 'model_not_found'],
    ['no supplier serves natively', 'plain-only', 'model_not_available'],
    ['is for something else', 'sim-embed', 'model_not_available'],
  ])('model that %s returns 404 without a supplier call', async (_what, model, code) => {
    const answer = await post(agentBody(model, 'Hello'));
    expect([answer.status, errorOf(answer)]).toEqual([
      404,
      expect.objectContaining({ code, param: 'model' }),
    ]);
    expect(errorOf(answer).message).toEqual(expect.stringContaining(' - '));
    expect(await supplier.requests()).toEqual([]);
  });

  test('lane without native support is skipped without counting as a failover', async () => {
    const answer = await post(agentBody('plain-first', 'Hello'));
    expect([answer.status, answer.headers['x-svc-supplier'], answer.headers['x-svc-failover']]).toEqual([
      200,
      'agents',
      'false',
    ]);
  });

  test('region of the request or the key that no lane has is refused', async () => {
    const byRequest = await post(agentBody('renamed', 'Hello', '"region":"mars",'));
    expect([byRequest.status, errorOf(byRequest).code]).toEqual([400, 'invalid_request']);
    await declareRegions(app.database, 'mars');
    const { text } = await createKey('martian', { allowedRegions: ['mars'] });
    const byKey = await post(agentBody('renamed', 'Hello'), text);
    expect([byKey.status, errorOf(byKey).code]).toEqual([503, 'sovereign_route_unavailable']);
    expect(await supplier.requests()).toEqual([]);
  });

  test('stream that breaks off ends in response.failed and is recorded with what was delivered', async () => {
    await supplier.addFault({ fault: { kind: 'cut', after: 8 } });
    const answer = await post(agentBody('renamed', 'Hello [[tokens=40]]'));
    expect(answer.status).toBe(200);
    expect(answer.text).not.toContain('response.completed');
    const lastEvent = answer.text.trim().split('\n\n').at(-1) ?? '';
    expect(lastEvent).toMatch(/^event: response\.failed\ndata: /);
    expect(JSON.parse(lastEvent.slice(lastEvent.indexOf('{')))).toMatchObject({
      type: 'response.failed',
      response: { status: 'failed', error: { code: 'stream_interrupted' } },
    });
    const record = await recordOf(answer);
    expect(record).toMatchObject({
      surface: 'native',
      code: 'stream_interrupted',
      usage_source: 'estimated',
    });
    expect(Number(record?.cost_nano)).toBeGreaterThan(0);
  });

  test("supplier failure during a stream ends in response.failed without the supplier's message", async () => {
    await supplier.addFault({ fault: { kind: 'error-event', after: 8, message: 'ran out of room' } });
    const answer = await post(agentBody('renamed', 'Hello [[tokens=40]]'));
    expect(answer.text).not.toContain('ran out of room');
    expect(answer.text.match(/"type":"response\.failed"/g)).toHaveLength(1);
    expect(answer.text).not.toContain('response.completed');
    expect(await recordOf(answer)).toMatchObject({ code: 'stream_error', usage_source: 'estimated' });
  });

  test("supplier's validation error is passed on with its message", async () => {
    const answer = await post(
      JSON.stringify({ model: 'renamed', stream: true, input: [{ role: 'nobody', content: 'x' }] }),
    );
    expect(answer.status).toBe(400);
    expect(errorOf(answer)).toMatchObject({
      code: 'invalid_value',
      details: { supplier: { message: expect.stringContaining('nobody') as string } },
    });
  });

  test('budget too small for the complete output returns 402, and no cap is written into the request', async () => {
    const { id, text } = await createKey('careful', {});
    const limits = app.application.get(Limits, { strict: false });
    // Less than 8,000 output tokens at $2 per 1M.
    await app.database.transaction((tx) =>
      limits.set(tx, { kind: 'key', id }, { period: 'daily', limit: 10_000_000n }),
    );
    const refusal = await post(agentBody('renamed', 'Hello'), text);
    expect([refusal.status, errorOf(refusal).code]).toEqual([402, 'budget_exceeded']);
    expect(await supplier.requests()).toEqual([]);
    // Drops web search, whose hold includes several searches.
    const boundedBody = agentBody('renamed', 'Hello [[tokens=20]]', '"max_output_tokens":1000,');
    expect((await post(boundedBody.replace(', {"type":"web_search"}', ''), text)).status).toBe(200);
  });

  describe('Token pool', () => {
    const eventsOf = async (provider: string): Promise<string[]> =>
      (await app.application.get(TokenEvents, { strict: false }).find({ provider }))
        .map(({ keyName, kind }) => `${keyName} ${kind}`)
        .sort();

    /** Waits, because events are stored asynchronously. */
    const expectEvents = async (provider: string, expected: readonly string[]): Promise<void> => {
      await until(async () => (await eventsOf(provider)).length >= expected.length);
      expect(await eventsOf(provider)).toEqual(expected);
    };

    test('expiring token is refreshed before use', async () => {
      await addPool('ending', { ending: nearExpiry() });
      await catalogue.model('on-ending', [{ provider: 'ending' }], agentRates);
      const requestsBefore = issuer.bodies.length;
      expect((await post(agentBody('on-ending', 'Hello'))).status).toBe(200);
      expect(issuer.bodies.slice(requestsBefore)).toEqual([
        'grant_type=refresh_token&refresh_token=refresh-ending&client_id=agent',
      ]);
      expect(await tokensUsed()).toEqual([`new-${issuedTokens}`]);
      await expectEvents('ending', ['ending refreshed']);
    });

    test('refused token gives way to the next one within the request', async () => {
      await addPool('refusing', { refused: farExpiry(), taken: farExpiry() });
      await catalogue.model('on-refusing', [{ provider: 'refusing' }], agentRates);
      await supplier.addFault({ match: { key: 'sim-refused' }, fault: { kind: 'status', status: 401 } });
      for (let round = 0; round < 2; round += 1) {
        const answer = await post(agentBody('on-refusing', `Turn ${round}`));
        expect([answer.status, answer.headers['x-svc-failover']]).toEqual([200, 'false']);
        expect(answer.text).toContain('response.completed');
      }
      // Either token can come first; the refused one is used once, then skipped.
      expect((await tokensUsed()).filter((token) => token === 'refused')).toHaveLength(1);
      await expectEvents('refusing', ['refused refreshed', 'refused rejected']);
    });

    test('rate-limited token gives way to the next, and retry-after is returned when all are limited', async () => {
      await addPool('limited', { first: farExpiry(), second: farExpiry() });
      await catalogue.model('on-limited', [{ provider: 'limited' }], agentRates);
      const limit = { kind: 'status', status: 429, headers: { 'retry-after': '77' } } as const;
      await supplier.addFault({ match: { key: 'sim-first' }, fault: limit });
      for (const text of ['One', 'Two']) {
        expect((await post(agentBody('on-limited', text))).status).toBe(200);
      }
      expect((await tokensUsed()).filter((token) => token === 'first')).toHaveLength(1);
      await supplier.addFault({ match: { key: 'sim-second' }, fault: limit });
      const answer = await post(agentBody('on-limited', 'Three'));
      expect([answer.status, errorOf(answer).code]).toEqual([429, 'supplier_limit']);
      expect(Number(answer.headers['retry-after'])).toBeGreaterThanOrEqual(1);
      expect(Number(answer.headers['retry-after'])).toBeLessThanOrEqual(77);
    });

    test('next lane serves when a supplier refuses every token', async () => {
      for (const key of ['sim-one', 'sim-two']) {
        await supplier.addFault({ match: { key }, fault: { kind: 'status', status: 401 } });
      }
      const answer = await post(agentBody('with-spare', 'Hello'));
      expect([answer.status, answer.headers['x-svc-supplier'], answer.headers['x-svc-failover']]).toEqual([
        200,
        'spare',
        'true',
      ]);
      expect((await tokensUsed()).sort()).toEqual(['last', 'one', 'two']);
    });

    test("refused token never becomes the caller's 401", async () => {
      await addPool('lost', { lost: farExpiry() });
      await catalogue.model('on-lost', [{ provider: 'lost' }], agentRates);
      await supplier.addFault({ match: { key: 'sim-lost' }, fault: { kind: 'status', status: 401 } });
      const answer = await post(agentBody('on-lost', 'Hello'));
      expect(answer.status).toBeGreaterThanOrEqual(502);
      expect(answer.text).not.toContain('sim-lost');
    });
  });
});
