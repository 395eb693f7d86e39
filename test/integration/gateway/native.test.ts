import { platformScope } from '#product/kernel';
import { request as httpRequest } from 'node:http';
import { TokenEvents } from '#product/catalogue';
import { Limits } from '#product/billing';
import { UserAccount } from '#product/identity';
import { KeysService, type NewKey } from '#product/keys';
import { startTestApp, type TestApp } from '../../support/app';
import { declareRegions } from '../../support/regions';
import { startSimulator, type Simulator } from '../../support/simulator';
import { fakeServer, type FakeServer } from '../suppliers/supplier-house';
import { ModelShelf } from './model-shelf';
import { agentRates, asAgent } from './native-agent';
import { until } from '../../support/until';

const later = (): number => Date.now() + 3_600_000;
const soon = (): number => Date.now() + 5_000;

interface Answer {
  readonly status: number;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly trailers: NodeJS.Dict<string>;
  readonly text: string;
}

describe('the native route', () => {
  let app: TestApp;
  let supplier: Simulator;
  let issuer: FakeServer;
  let shelf: ModelShelf;
  let issued = 0;

  beforeAll(async () => {
    supplier = await startSimulator();
    issuer = await fakeServer((response) => {
      issued += 1;
      response.end(
        JSON.stringify({ access_token: `sim-new-${issued}`, refresh_token: 'r', expires_in: 3600 }),
      );
    });
    app = await startTestApp({
      sandboxUrl: supplier.url,
      environment: { SUPPLIER_ALLOW: '127.0.0.1' },
    });
    shelf = new ModelShelf(app);
    await pool('agents', { one: later(), two: later() });
    await pool('spare', { last: later() });
    await shelf.provider({
      name: 'plain',
      style: 'openai-style',
      baseUrl: supplier.url,
      credentials: [{ label: 'key', kind: 'bearer', secret: 'sim-plain' }],
    });
    await shelf.model(
      'sim-large-native',
      [{ provider: 'agents', upstreamModel: 'sim-large-native' }],
      agentRates,
    );
    await shelf.model('renamed', [{ provider: 'agents' }], agentRates);
    await shelf.model(
      'with-spare',
      [{ provider: 'agents' }, { provider: 'spare', region: 'us' }],
      agentRates,
    );
    await shelf.model('plain-only', [{ provider: 'plain' }], agentRates);
    await shelf.model('plain-first', [{ provider: 'plain' }, { provider: 'agents' }], agentRates);
  });
  afterAll(async () => {
    await app.close();
    await issuer.stop();
    await supplier.stop();
  });
  beforeEach(() => supplier.clearRequests());
  afterEach(() => supplier.clearFaults());

  const pool = (name: string, tokens: Readonly<Record<string, number>>): Promise<void> =>
    shelf.provider({
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

  const post = (body: string, key = app.firstKeys?.demo): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const sent = httpRequest(`${app.url}/v1/native/responses`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          originator: 'codex_cli_rs',
          'session-id': 'session-1',
          'thread-id': 'thread-1',
        },
      });
      sent.on('error', reject);
      sent.on('response', (response) => {
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
      sent.end(body);
    });

  const errorOf = ({ text }: Answer): Record<string, unknown> =>
    (JSON.parse(text) as { error: Record<string, unknown> }).error;

  const recordOf = async ({ headers }: Answer): Promise<Record<string, unknown> | undefined> => {
    const rows = await app.database.query<Record<string, unknown>>(
      'SELECT * FROM request_record WHERE request_id = $1',
      [headers['x-request-id']],
    );
    return rows[0];
  };

  const keyWith = (
    name: string,
    limits: Pick<NewKey, 'allowedRegions'>,
  ): Promise<{ id: number; text: string }> =>
    app.database.transaction(async (tx) => {
      const people = tx.getRepository(UserAccount);
      const email = `${name}@example.com`;
      const user = people.create({ email, displayName: name, status: 'active', billingExempt: true });
      await people.insert(user);
      const owner = { userId: user.id, organisationId: null, departmentId: null, projectId: null };
      return app.application
        .get(KeysService, { strict: false })
        .issue(platformScope, tx, { ...owner, ...limits, kind: 'client', name, createdBy: 'test' });
    });

  const tokensUsed = async (): Promise<string[]> =>
    (await supplier.requests()).map(({ headers }) =>
      (headers.authorization ?? '').replace('Bearer sim-', ''),
    );

  test('passes the request and its answer on, byte for byte', async () => {
    const body = asAgent('sim-large-native', 'Hello [[tokens=30]] [[think]]');
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

  test('replaces the name of the model where the supplier has another, and takes out what would steer', async () => {
    const extra = ' "region":"eu", "api_base":"http://elsewhere.example",';
    await post(asAgent('renamed', 'Hello', extra));
    const [request] = await supplier.requests();
    // The rest is as it came, but for the space around what was spliced.
    const spaceless = (text: string): string => text.replace(/\s/g, '');
    expect(spaceless(request?.rawBody ?? '')).toBe(spaceless(asAgent('sim-large', 'Hello')));
    expect(request?.rawBody).toContain('"store" : false');
  });

  test('tells in headers, trailers and the record what it came to', async () => {
    const answer = await post(asAgent('renamed', 'Hello [[tokens=7]]'));
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

  test('works at once over the built-in simulator', async () => {
    const answer = await post(asAgent('sim-small', 'Hello [[tokens=5]]'));
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
  ])('%s is 400', async (_what, body, code, param) => {
    const answer = await post(JSON.stringify({ model: 'renamed', ...body }));
    expect([answer.status, errorOf(answer)]).toEqual([400, expect.objectContaining({ code, param })]);
    expect(await supplier.requests()).toEqual([]);
  });

  test.each([
    ['nobody knows', 'no-such-model', 'model_not_found'],
    ['no supplier serves natively', 'plain-only', 'model_not_available'],
    ['is for something else', 'sim-embed', 'model_not_available'],
  ])('a model that %s is 404, and no supplier hears of it', async (_what, model, code) => {
    const answer = await post(asAgent(model, 'Hello'));
    expect([answer.status, errorOf(answer)]).toEqual([
      404,
      expect.objectContaining({ code, param: 'model' }),
    ]);
    expect(errorOf(answer).message).toEqual(expect.stringContaining(' - '));
    expect(await supplier.requests()).toEqual([]);
  });

  test('a lane that does not serve it is none, so the next one is no failover', async () => {
    const answer = await post(asAgent('plain-first', 'Hello'));
    expect([answer.status, answer.headers['x-svc-supplier'], answer.headers['x-svc-failover']]).toEqual([
      200,
      'agents',
      'false',
    ]);
  });

  test('a region that cannot be met is refused, be it the call’s or the key’s', async () => {
    const called = await post(asAgent('renamed', 'Hello', '"region":"mars",'));
    expect([called.status, errorOf(called).code]).toEqual([400, 'invalid_request']);
    await declareRegions(app.database, 'mars');
    const { text } = await keyWith('martian', { allowedRegions: ['mars'] });
    const keyed = await post(asAgent('renamed', 'Hello'), text);
    expect([keyed.status, errorOf(keyed).code]).toEqual([503, 'sovereign_route_unavailable']);
    expect(await supplier.requests()).toEqual([]);
  });

  test('a stream that breaks off ends in response.failed, on record with what was delivered', async () => {
    await supplier.addFault({ fault: { kind: 'cut', after: 8 } });
    const answer = await post(asAgent('renamed', 'Hello [[tokens=40]]'));
    expect(answer.status).toBe(200);
    expect(answer.text).not.toContain('response.completed');
    const last = answer.text.trim().split('\n\n').at(-1) ?? '';
    expect(last).toMatch(/^event: response\.failed\ndata: /);
    expect(JSON.parse(last.slice(last.indexOf('{')))).toMatchObject({
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

  test("a supplier's failure in the middle ends in response.failed without the supplier's words", async () => {
    await supplier.addFault({ fault: { kind: 'error-event', after: 8, message: 'ran out of room' } });
    const answer = await post(asAgent('renamed', 'Hello [[tokens=40]]'));
    expect(answer.text).not.toContain('ran out of room');
    expect(answer.text.match(/"type":"response\.failed"/g)).toHaveLength(1);
    expect(answer.text).not.toContain('response.completed');
    expect(await recordOf(answer)).toMatchObject({ code: 'stream_error', usage_source: 'estimated' });
  });

  test('what the supplier finds wrong is said in its words', async () => {
    const answer = await post(
      JSON.stringify({ model: 'renamed', stream: true, input: [{ role: 'nobody', content: 'x' }] }),
    );
    expect(answer.status).toBe(400);
    expect(errorOf(answer)).toMatchObject({
      code: 'invalid_value',
      details: { supplier: { message: expect.stringContaining('nobody') as string } },
    });
  });

  test('a budget that cannot take the whole answer is a refusal: no bound is written into the request', async () => {
    const { id, text } = await keyWith('careful', {});
    const limits = app.application.get(Limits, { strict: false });
    // An answer of 8,000 tokens at two dollars a million.
    await app.database.transaction((tx) =>
      limits.set(tx, { kind: 'key', id }, { period: 'daily', limit: 10_000_000n }),
    );
    const refused = await post(asAgent('renamed', 'Hello'), text);
    expect([refused.status, errorOf(refused).code]).toEqual([402, 'budget_exceeded']);
    expect(await supplier.requests()).toEqual([]);
    // Without the tool that the supplier runs, which needs the price of several readings.
    const bounded = asAgent('renamed', 'Hello [[tokens=20]]', '"max_output_tokens":1000,');
    expect((await post(bounded.replace(', {"type":"web_search"}', ''), text)).status).toBe(200);
  });

  describe('with a pool of tokens', () => {
    const eventsOf = async (provider: string): Promise<string[]> =>
      (await app.application.get(TokenEvents, { strict: false }).find({ provider }))
        .map(({ keyName, kind }) => `${keyName} ${kind}`)
        .sort();

    /** Events are written beside the calls. */
    const eventsAre = async (provider: string, expected: readonly string[]): Promise<void> => {
      await until(async () => (await eventsOf(provider)).length >= expected.length);
      expect(await eventsOf(provider)).toEqual(expected);
    };

    test('one that has ended is renewed before it is used', async () => {
      await pool('ending', { ending: soon() });
      await shelf.model('on-ending', [{ provider: 'ending' }], agentRates);
      const before = issuer.bodies.length;
      expect((await post(asAgent('on-ending', 'Hello'))).status).toBe(200);
      expect(issuer.bodies.slice(before)).toEqual([
        'grant_type=refresh_token&refresh_token=refresh-ending&client_id=agent',
      ]);
      expect(await tokensUsed()).toEqual([`new-${issued}`]);
      await eventsAre('ending', ['ending refreshed']);
    });

    test('one that is refused gives way to the next, in the same request', async () => {
      await pool('refusing', { refused: later(), taken: later() });
      await shelf.model('on-refusing', [{ provider: 'refusing' }], agentRates);
      await supplier.addFault({ match: { key: 'sim-refused' }, fault: { kind: 'status', status: 401 } });
      for (let turn = 0; turn < 2; turn += 1) {
        const answer = await post(asAgent('on-refusing', `Turn ${turn}`));
        expect([answer.status, answer.headers['x-svc-failover']]).toEqual([200, 'false']);
        expect(answer.text).toContain('response.completed');
      }
      // Either of the two may be first; the refused one is asked once and then rests.
      expect((await tokensUsed()).filter((token) => token === 'refused')).toHaveLength(1);
      await eventsAre('refusing', ['refused refreshed', 'refused rejected']);
    });

    test('one that is used up gives way as well, and the caller is told when when all are', async () => {
      await pool('limited', { first: later(), second: later() });
      await shelf.model('on-limited', [{ provider: 'limited' }], agentRates);
      const limit = { kind: 'status', status: 429, headers: { 'retry-after': '77' } } as const;
      await supplier.addFault({ match: { key: 'sim-first' }, fault: limit });
      for (const text of ['One', 'Two']) {
        expect((await post(asAgent('on-limited', text))).status).toBe(200);
      }
      expect((await tokensUsed()).filter((token) => token === 'first')).toHaveLength(1);
      await supplier.addFault({ match: { key: 'sim-second' }, fault: limit });
      const answer = await post(asAgent('on-limited', 'Three'));
      expect([answer.status, errorOf(answer).code]).toEqual([429, 'supplier_limit']);
      expect(Number(answer.headers['retry-after'])).toBeGreaterThanOrEqual(1);
      expect(Number(answer.headers['retry-after'])).toBeLessThanOrEqual(77);
    });

    test('when a supplier refuses them all, the next lane serves', async () => {
      for (const key of ['sim-one', 'sim-two']) {
        await supplier.addFault({ match: { key }, fault: { kind: 'status', status: 401 } });
      }
      const answer = await post(asAgent('with-spare', 'Hello'));
      expect([answer.status, answer.headers['x-svc-supplier'], answer.headers['x-svc-failover']]).toEqual([
        200,
        'spare',
        'true',
      ]);
      expect((await tokensUsed()).sort()).toEqual(['last', 'one', 'two']);
    });

    test('what is wrong with a token is never the caller’s 401', async () => {
      await pool('lost', { lost: later() });
      await shelf.model('on-lost', [{ provider: 'lost' }], agentRates);
      await supplier.addFault({ match: { key: 'sim-lost' }, fault: { kind: 'status', status: 401 } });
      const answer = await post(asAgent('on-lost', 'Hello'));
      expect(answer.status).toBeGreaterThanOrEqual(502);
      expect(answer.text).not.toContain('sim-lost');
    });
  });
});
