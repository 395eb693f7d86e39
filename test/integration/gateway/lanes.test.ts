import { setTimeout as delay } from 'node:timers/promises';
import { CatalogueEditor, CatalogueService, CredentialEditor, PriceService } from '#product/catalogue';
import { Lifecycle } from '#product/gateway';
import { parseUsdPerMillion, priceRates } from '#product/kernel';
import { Metrics } from '#product/platform';
import { startTestApp, type TestApp } from '../../support/app';
import { addCustomer } from '../../support/customer';
import { type FaultRule, type Simulator, startSimulator } from '../../support/simulator';
import { until } from '../../support/until';

interface LaneLayout {
  readonly lanes?: 1 | 2;
  readonly retries?: number;
  readonly breaker?: Readonly<Record<string, number>>;
}

const laneNames = ['first', 'second'] as const;
const ROUNDS = 6;

describe('Lane failures', () => {
  let app: TestApp;
  let simulator: Simulator;
  let demo: string;
  let modelCount = 0;

  beforeAll(async () => {
    simulator = await startSimulator({ lanes: laneNames.map((name) => ({ name, region: 'eu' })) });
    app = await startTestApp({ environment: { SUPPLIER_ALLOW: '127.0.0.1' } });
    demo = app.firstKeys!.demo;
  });
  afterEach(async () => {
    await simulator.clearFaults();
    await simulator.clearRequests();
    app.log.length = 0;
  });
  afterAll(async () => {
    await app.close();
    await simulator.stop();
  });

  /** Creates a model per test, so that nothing is known about its suppliers. */
  async function createModel({ lanes = 2, retries = 0, breaker = {} }: LaneLayout = {}): Promise<string> {
    const model = `lanes-${(modelCount += 1)}`;
    const editor = new CatalogueEditor();
    const credentials = app.application.get(CredentialEditor, { strict: false });
    await app.database.transaction(async (tx) => {
      await editor.upsertModel(tx, { name: model, kind: 'chat', ownedBy: 'test', maxOutputTokens: 1_000 });
      const inputs = [];
      for (const [priority, name] of laneNames.slice(0, lanes).entries()) {
        const { url: baseUrl } = simulator.lanes.find((lane) => lane.name === name)!;
        const provider = `${model}-${name}`;
        const row = await editor.upsertProvider(tx, {
          name: provider,
          style: 'openai-style',
          baseUrl,
          breaker,
        });
        await credentials.put(tx, { providerId: row.id, label: 'test', kind: 'bearer', secret: 'sim-test' });
        inputs.push({ provider, upstreamModel: 'sim-large', region: 'eu', priority, retries });
      }
      await editor.setLanes(tx, model, inputs);
      const rate = parseUsdPerMillion('1');
      await new PriceService().addPrice(tx, {
        model,
        source: 'test',
        rates: priceRates({ input: rate, output: rate }),
      });
    });
    await app.application.get(CatalogueService).reload();
    return model;
  }

  const addFault = (fault: FaultRule['fault'], lane: string = 'first', times?: number): Promise<number> =>
    simulator.addFault({ match: { lane }, fault, ...(times === undefined ? {} : { times }) });

  let questionCount = 0;
  const sendRequest = (
    model: string,
    extra: object = {},
    key = demo,
    signal?: AbortSignal,
  ): Promise<Response> =>
    fetch(`${app.url}/v1/chat/completions`, {
      method: 'POST',
      ...(signal === undefined ? {} : { signal }),
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model,
        messages: [{ role: 'user', content: `Question ${(questionCount += 1)} [[tokens=5]]` }],
        ...extra,
      }),
    });
  const servedLanes = async (): Promise<string[]> => (await simulator.requests()).map(({ lane }) => lane);
  const attemptsOf = async (answer: Response) => {
    const [row] = await app.database.query<{ attempts: { outcome: string }[] | null; failover: boolean }>(
      'SELECT attempts, failover FROM request_record WHERE request_id = $1',
      [answer.headers.get('x-request-id')],
    );
    return { failover: row?.failover, outcomes: row?.attempts?.map(({ outcome }) => outcome) ?? null };
  };
  const logLines = (msg: RegExp): Record<string, unknown>[] =>
    app.log
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter((line) => msg.test(String(line['msg'])));

  describe('Single open lane', () => {
    const openLane = async (model: string): Promise<void> => {
      await addFault({ kind: 'status', status: 503 }, 'first', 5);
      for (let call = 0; call < 5; call += 1) expect((await sendRequest(model)).status).toBe(503);
      await simulator.clearFaults();
      await simulator.clearRequests();
    };

    test('concurrent requests wait for the probe and succeed when the lane recovers', async () => {
      const model = await createModel({ lanes: 1 });
      await openLane(model);
      await addFault({ kind: 'delay', ms: 200 });
      const answers = await Promise.all(Array.from({ length: 10 }, () => sendRequest(model)));
      expect(answers.map(({ status }) => status)).toEqual(Array<number>(10).fill(200));
    });

    test('concurrent requests get 503 with retry-after when the probe fails', async () => {
      const model = await createModel({ lanes: 1 });
      await openLane(model);
      await addFault({ kind: 'delay', ms: 200 });
      await addFault({ kind: 'status', status: 503 });
      const answers = await Promise.all(Array.from({ length: 10 }, () => sendRequest(model)));
      expect(answers.map(({ status }) => status)).toEqual(Array<number>(10).fill(503));
      for (const answer of answers) expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(await servedLanes()).toEqual(['first']);
    });

    test('waiting for a probe ends after two seconds', async () => {
      const model = await createModel({ lanes: 1 });
      await openLane(model);
      await addFault({ kind: 'hang' });
      const controller = new AbortController();
      const probe = sendRequest(model, {}, demo, controller.signal).catch(() => null);
      await simulator.waitForRequests(1);
      const startedAt = performance.now();
      const lateResponse = await sendRequest(model);
      expect(lateResponse.status).toBe(503);
      // The lane itself would stay silent for minutes.
      expect(performance.now() - startedAt).toBeLessThan(20_000);
      controller.abort();
      await probe;
      await app.application.get(Lifecycle).waitUntilIdle(5_000);
    });
  });

  test('requests do not wait for the probe of a lane that was slow before', async () => {
    const model = await createModel({ lanes: 1, breaker: { failures: 1 } });
    const controller = new AbortController();
    await addFault({ kind: 'delay', ms: 600 }, 'first', 1);
    await addFault({ kind: 'status', status: 503 }, 'first', 1);
    expect((await sendRequest(model)).status).toBe(503);
    await addFault({ kind: 'hang' });
    await simulator.clearRequests();
    const probe = sendRequest(model, {}, demo, controller.signal).catch(() => null);
    await simulator.waitForRequests(1);
    const startedAt = performance.now();
    let quickestMs = Infinity;
    const pendingRequests = Array.from({ length: 10 }, () => sendRequest(model));
    for (const pendingRequest of pendingRequests)
      void pendingRequest.then(() => (quickestMs = Math.min(quickestMs, performance.now() - startedAt)));
    const responses = await Promise.all(pendingRequests);
    // A request that waits for a probe waits two seconds, and all ten are treated alike.
    expect(quickestMs).toBeLessThan(1_900);
    expect(responses.map(({ status }) => status)).toEqual(Array<number>(10).fill(503));
    for (const response of responses) expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
    controller.abort();
    await probe;
    await app.application.get(Lifecycle).waitUntilIdle(5_000);
  });

  describe('Failures that a caller can cause', () => {
    test.each<[string, FaultRule['fault']]>([
      ['404', { kind: 'status', status: 404 }],
      ['500', { kind: 'status', status: 500 }],
      ['no JSON', { kind: 'non-json' }],
      ['nothing', { kind: 'empty-body' }],
    ])('%s opens the lane for the key that caused it only', async (_name, fault) => {
      const model = await createModel();
      const otherCustomer = await addCustomer(app, `other-${model}`, 10_000_000_000n);
      await addFault(fault, 'first', ROUNDS);
      for (let round = 0; round < ROUNDS; round += 1) expect((await sendRequest(model)).status).toBe(200);
      await simulator.clearFaults();
      await simulator.clearRequests();
      const answer = await sendRequest(model, {}, otherCustomer.key);
      expect([answer.status, answer.headers.get('x-svc-failover')]).toEqual([200, 'false']);
      expect((await sendRequest(model)).headers.get('x-svc-failover')).toBe('true');
      expect(await servedLanes()).toEqual(['first', 'second']);
    });

    test('rejected request does not count as a lane failure', async () => {
      const model = await createModel({ lanes: 1 });
      await addFault({ kind: 'status', status: 422 }, 'first', 20);
      for (let round = 0; round < 20; round += 1) expect((await sendRequest(model)).status).toBe(400);
      expect((await sendRequest(model)).status).toBe(200);
    });
  });

  describe('Lane with retries', () => {
    const rateLimit = (after: string): FaultRule['fault'] => ({
      kind: 'status',
      status: 429,
      headers: { 'retry-after': after },
    });

    test.each([
      ['a limit of a second', rateLimit('1'), 'supplier_limit'],
      ['an internal error', { kind: 'status', status: 500 } as const, 'upstream_unavailable'],
    ])('lane is retried after %s', async (_name, fault, outcome) => {
      const model = await createModel({ retries: 1 });
      await addFault(fault, 'first', 1);
      const answer = await sendRequest(model);
      expect([answer.status, answer.headers.get('x-svc-failover')]).toEqual([200, 'false']);
      expect(await servedLanes()).toEqual(['first', 'first']);
      expect(await attemptsOf(answer)).toEqual({ failover: false, outcomes: [outcome, 'answered'] });
    });

    test('lane is retried in a stream too', async () => {
      const model = await createModel({ lanes: 1, retries: 2 });
      await addFault({ kind: 'status', status: 500 }, 'first', 1);
      const answer = await sendRequest(model, { stream: true });
      expect(await answer.text()).toContain('[DONE]');
      expect(await servedLanes()).toEqual(['first', 'first']);
    });

    test.each([
      ['a longer limit', rateLimit('3'), 2, ['first', 'second']],
      ['a second internal error', { kind: 'status', status: 500 } as const, 2, ['first', 'first', 'second']],
      ['an overload', { kind: 'status', status: 503 } as const, 2, ['first', 'second']],
      ['any failure without them', { kind: 'status', status: 500 } as const, 0, ['first', 'second']],
    ])('lane fails over after %s', async (_name, fault, retries, lanes) => {
      const model = await createModel({ retries });
      await addFault(fault, 'first');
      const answer = await sendRequest(model);
      expect([answer.status, answer.headers.get('x-svc-failover')]).toEqual([200, 'true']);
      expect(await servedLanes()).toEqual(lanes);
    });

    test('retry whose client disconnects is not recorded as a failover', async () => {
      const model = await createModel({ lanes: 1, retries: 1 });
      await addFault({ kind: 'status', status: 500 }, 'first', 1);
      const controller = new AbortController();
      await simulator.addFault({ match: { lane: 'first', nth: 2 }, fault: { kind: 'hang' } });
      const pendingRequest = sendRequest(model, {}, demo, controller.signal).catch(() => null);
      await simulator.waitForRequests(2);
      controller.abort();
      await pendingRequest;
      await app.application.get(Lifecycle).waitUntilIdle(5_000);
      const rows = await app.database.query(
        'SELECT code, failover, jsonb_array_length(attempts) AS tries FROM request_record WHERE model = $1',
        [model],
      );
      expect(rows).toEqual([{ code: 'caller_left', failover: false, tries: 2 }]);
    });

    test('lane is not retried for a client that has disconnected', async () => {
      const model = await createModel({ lanes: 1, retries: 1 });
      await addFault(rateLimit('2'), 'first', 1);
      const controller = new AbortController();
      const pendingRequest = sendRequest(model, {}, demo, controller.signal).catch(() => null);
      await simulator.waitForClosed(1);
      // The response is on its way to the gateway, which then waits for two seconds.
      await delay(100);
      controller.abort();
      await pendingRequest;
      await app.application.get(Lifecycle).waitUntilIdle(10_000);
      expect(app.application.get(Lifecycle).openRequests).toBe(0);
      expect(await servedLanes()).toEqual(['first']);
    });
  });

  test('session that stays on the backup lane reports a failover', async () => {
    const model = await createModel();
    await addFault({ kind: 'status', status: 503 }, 'first', 1);
    const session = { metadata: { session_id: 'stays' } };
    for (let turn = 0; turn < 2; turn += 1) {
      const answer = await sendRequest(model, session);
      expect(answer.headers.get('x-svc-supplier')).toBe(`${model}-second`);
      expect(answer.headers.get('x-svc-failover')).toBe('true');
    }
  });

  test("supplier's retry-after is capped by the operator's maximum", async () => {
    const model = await createModel({ lanes: 1, breaker: { longestRetryAfter: 3_000 } });
    await addFault({ kind: 'status', status: 429, headers: { 'retry-after': '86400' } }, 'first', 1);
    expect((await sendRequest(model)).headers.get('retry-after')).toBe('3');
    const repeat = await sendRequest(model);
    expect(Number(repeat.headers.get('retry-after'))).toBeLessThanOrEqual(3);
    expect(await servedLanes()).toHaveLength(1);
  });

  test('breaker opens after the number of failures that the operator sets', async () => {
    const model = await createModel({ breaker: { failures: 2 } });
    await addFault({ kind: 'status', status: 503 }, 'first');
    for (let call = 0; call < 4; call += 1) expect((await sendRequest(model)).status).toBe(200);
    expect(await servedLanes()).toEqual(['first', 'second', 'first', 'second', 'second', 'second']);
  });

  describe('Operator visibility', () => {
    test("log and metrics show a failover and a lane's opening and closing with their cause", async () => {
      const model = await createModel({ breaker: { failures: 2, rest: 100 } });
      await addFault({ kind: 'reset' }, 'first', 2);
      for (let call = 0; call < 2; call += 1) await sendRequest(model);
      expect(logLines(/^failover/)).toMatchObject([
        {
          level: 'warn',
          provider: `${model}-first`,
          model: 'sim-large',
          region: 'eu',
          to_provider: `${model}-second`,
          code: 'upstream_unavailable',
          cause: expect.stringMatching(/ECONNRESET|closed/) as string,
          request_id: expect.any(String) as string,
        },
        { level: 'warn' },
      ]);
      expect(logLines(/^lane opened/)).toMatchObject([{ provider: `${model}-first`, region: 'eu' }]);
      const series = `gateway_circuit_state{provider="${model}-first",model="sim-large",region="eu"}`;
      expect(await app.application.get(Metrics).text()).toMatch(
        new RegExp(`${series.replaceAll(/[{}]/g, '\\$&')} [12]`),
      );
      await until(async () => {
        await sendRequest(model);
        return logLines(/^lane closed/).length > 0;
      });
      expect(logLines(/^lane closed/)).toMatchObject([{ provider: `${model}-first` }]);
      expect(await app.application.get(Metrics).text()).toContain(`${series} 0`);
    });

    const waitForHealth = async (model: string, wanted: string): Promise<void> => {
      await until(async () => {
        const [row] = await app.database.query<{ health: string }>(
          'SELECT health FROM provider_credential c JOIN provider p ON p.id = c.provider_id WHERE p.name = $1',
          [`${model}-first`],
        );
        return row?.health === wanted;
      });
    };

    test('refused credential raises one alert and stays marked until it is accepted again', async () => {
      const model = await createModel();
      await addFault({ kind: 'status', status: 401 }, 'first', 3);
      for (let call = 0; call < 3; call += 1) expect((await sendRequest(model)).status).toBe(200);
      expect(logLines(/^alert/)).toMatchObject([
        { level: 'error', provider: `${model}-first`, model: 'sim-large', region: 'eu', status: 401 },
      ]);
      await waitForHealth(model, 'rejected');
      expect((await sendRequest(model)).headers.get('x-svc-failover')).toBe('false');
      await waitForHealth(model, 'ok');
    });

    test('mark from another node or an earlier start is removed once the credential is accepted', async () => {
      const model = await createModel();
      await app.database.query(
        `UPDATE provider_credential SET health = 'rejected'
         WHERE provider_id = (SELECT id FROM provider WHERE name = $1)`,
        [`${model}-first`],
      );
      expect((await sendRequest(model)).headers.get('x-svc-failover')).toBe('false');
      await waitForHealth(model, 'ok');
    });

    test('failed request is logged without a stack and counted in the metrics with its provider', async () => {
      const model = await createModel();
      await addFault({ kind: 'status', status: 503 }, 'first');
      await addFault({ kind: 'status', status: 503 }, 'second');
      const answer = await sendRequest(model);
      expect(answer.status).toBe(503);
      const [line] = logLines(/^request failed/);
      expect(line).toMatchObject({
        level: 'warn',
        model,
        provider: `${model}-second`,
        key_id: expect.any(Number) as number,
        request_id: answer.headers.get('x-request-id'),
      });
      expect(line).not.toHaveProperty('error');
      const text = await app.application.get(Metrics).text();
      for (const lane of laneNames)
        expect(text).toContain(
          `gateway_upstream_attempts_total{provider="${model}-${lane}",model="sim-large",region="eu",outcome="upstream_unavailable"} 1`,
        );
    });
  });
});
