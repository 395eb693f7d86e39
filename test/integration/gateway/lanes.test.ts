import { setTimeout as delay } from 'node:timers/promises';
import { CatalogueEditor, CatalogueService, CredentialEditor, PriceService } from '#product/catalogue';
import { Lifecycle } from '#product/gateway';
import { parseUsdPerMillion, priceRates } from '#product/kernel';
import { Metrics } from '#product/platform';
import { startTestApp, type TestApp } from '../../support/app';
import { addCustomer } from '../../support/customer';
import { type FaultRule, type Simulator, startSimulator } from '../../support/simulator';
import { until } from '../../support/until';

interface Layout {
  readonly lanes?: 1 | 2;
  readonly retries?: number;
  readonly breaker?: Readonly<Record<string, number>>;
}

const names = ['first', 'second'] as const;
const ROUNDS = 6;

describe('lanes that fail', () => {
  let app: TestApp;
  let simulator: Simulator;
  let demo: string;
  let made = 0;

  beforeAll(async () => {
    simulator = await startSimulator({ lanes: names.map((name) => ({ name, region: 'eu' })) });
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

  /** A model of its own for every test, whose suppliers nothing is known of yet. */
  async function fresh({ lanes = 2, retries = 0, breaker = {} }: Layout = {}): Promise<string> {
    const model = `lanes-${(made += 1)}`;
    const editor = new CatalogueEditor();
    const credentials = app.application.get(CredentialEditor, { strict: false });
    await app.database.transaction(async (tx) => {
      await editor.upsertModel(tx, { name: model, kind: 'chat', ownedBy: 'test', maxOutputTokens: 1_000 });
      const inputs = [];
      for (const [priority, name] of names.slice(0, lanes).entries()) {
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

  const fail = (fault: FaultRule['fault'], lane: string = 'first', times?: number): Promise<number> =>
    simulator.addFault({ match: { lane }, fault, ...(times === undefined ? {} : { times }) });

  let asked = 0;
  const ask = (model: string, extra: object = {}, key = demo, signal?: AbortSignal): Promise<Response> =>
    fetch(`${app.url}/v1/chat/completions`, {
      method: 'POST',
      ...(signal === undefined ? {} : { signal }),
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model,
        messages: [{ role: 'user', content: `Question ${(asked += 1)} [[tokens=5]]` }],
        ...extra,
      }),
    });
  const served = async (): Promise<string[]> => (await simulator.requests()).map(({ lane }) => lane);
  const attemptsOf = async (answer: Response) => {
    const [row] = await app.database.query<{ attempts: { outcome: string }[] | null; failover: boolean }>(
      'SELECT attempts, failover FROM request_record WHERE request_id = $1',
      [answer.headers.get('x-request-id')],
    );
    return { failover: row?.failover, outcomes: row?.attempts?.map(({ outcome }) => outcome) ?? null };
  };
  const lines = (msg: RegExp): Record<string, unknown>[] =>
    app.log
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter((line) => msg.test(String(line['msg'])));

  describe('no other lane can answer', () => {
    const open = async (model: string): Promise<void> => {
      await fail({ kind: 'status', status: 503 }, 'first', 5);
      for (let call = 0; call < 5; call += 1) expect((await ask(model)).status).toBe(503);
      await simulator.clearFaults();
      await simulator.clearRequests();
    };

    test('all wait for the one that finds out that the lane is well again', async () => {
      const model = await fresh({ lanes: 1 });
      await open(model);
      await fail({ kind: 'delay', ms: 200 });
      const answers = await Promise.all(Array.from({ length: 10 }, () => ask(model)));
      expect(answers.map(({ status }) => status)).toEqual(Array<number>(10).fill(200));
    });

    test('they are told to come back when it is not', async () => {
      const model = await fresh({ lanes: 1 });
      await open(model);
      await fail({ kind: 'delay', ms: 200 });
      await fail({ kind: 'status', status: 503 });
      const answers = await Promise.all(Array.from({ length: 10 }, () => ask(model)));
      expect(answers.map(({ status }) => status)).toEqual(Array<number>(10).fill(503));
      for (const answer of answers) expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(await served()).toEqual(['first']);
    });

    test('two seconds is the longest they wait, and leaving ends the wait', async () => {
      const model = await fresh({ lanes: 1 });
      await open(model);
      await fail({ kind: 'hang' });
      const leaver = new AbortController();
      const probe = ask(model, {}, demo, leaver.signal).catch(() => null);
      await simulator.waitForRequests(1);
      const startedAt = performance.now();
      const late = await ask(model);
      expect(late.status).toBe(503);
      // The lane itself would stay silent for minutes.
      expect(performance.now() - startedAt).toBeLessThan(20_000);
      leaver.abort();
      await probe;
      await app.application.get(Lifecycle).waitUntilIdle(5_000);
    });
  });

  test('nobody waits for the probe of a lane that was silent before', async () => {
    const model = await fresh({ lanes: 1, breaker: { failures: 1 } });
    const leaver = new AbortController();
    await fail({ kind: 'delay', ms: 600 }, 'first', 1);
    await fail({ kind: 'status', status: 503 }, 'first', 1);
    expect((await ask(model)).status).toBe(503);
    await fail({ kind: 'hang' });
    await simulator.clearRequests();
    const probe = ask(model, {}, demo, leaver.signal).catch(() => null);
    await simulator.waitForRequests(1);
    const startedAt = performance.now();
    let quickestMs = Infinity;
    const asking = Array.from({ length: 10 }, () => ask(model));
    for (const one of asking)
      void one.then(() => (quickestMs = Math.min(quickestMs, performance.now() - startedAt)));
    const others = await Promise.all(asking);
    // A request that waits for a probe waits two seconds; the service treats all ten alike.
    expect(quickestMs).toBeLessThan(1_900);
    expect(others.map(({ status }) => status)).toEqual(Array<number>(10).fill(503));
    for (const other of others) expect(Number(other.headers.get('retry-after'))).toBeGreaterThan(0);
    leaver.abort();
    await probe;
    await app.application.get(Lifecycle).waitUntilIdle(5_000);
  });

  describe('a caller can cause some failures', () => {
    test.each<[string, FaultRule['fault']]>([
      ['404', { kind: 'status', status: 404 }],
      ['500', { kind: 'status', status: 500 }],
      ['no JSON', { kind: 'non-json' }],
      ['nothing', { kind: 'empty-body' }],
    ])('%s takes a lane from its key alone', async (_name, fault) => {
      const model = await fresh();
      const other = await addCustomer(app, `other-${model}`, 10_000_000_000n);
      await fail(fault, 'first', ROUNDS);
      for (let round = 0; round < ROUNDS; round += 1) expect((await ask(model)).status).toBe(200);
      await simulator.clearFaults();
      await simulator.clearRequests();
      const answer = await ask(model, {}, other.key);
      expect([answer.status, answer.headers.get('x-svc-failover')]).toEqual([200, 'false']);
      expect((await ask(model)).headers.get('x-svc-failover')).toBe('true');
      expect(await served()).toEqual(['first', 'second']);
    });

    test('a refusal of the request itself counts for nobody', async () => {
      const model = await fresh({ lanes: 1 });
      await fail({ kind: 'status', status: 422 }, 'first', 20);
      for (let round = 0; round < 20; round += 1) expect((await ask(model)).status).toBe(400);
      expect((await ask(model)).status).toBe(200);
    });
  });

  describe('a lane with retries', () => {
    const limit = (after: string): FaultRule['fault'] => ({
      kind: 'status',
      status: 429,
      headers: { 'retry-after': after },
    });

    test.each([
      ['a limit of a second', limit('1'), 'supplier_limit'],
      ['an internal error', { kind: 'status', status: 500 } as const, 'upstream_unavailable'],
    ])('is asked again after %s', async (_name, fault, outcome) => {
      const model = await fresh({ retries: 1 });
      await fail(fault, 'first', 1);
      const answer = await ask(model);
      expect([answer.status, answer.headers.get('x-svc-failover')]).toEqual([200, 'false']);
      expect(await served()).toEqual(['first', 'first']);
      expect(await attemptsOf(answer)).toEqual({ failover: false, outcomes: [outcome, 'answered'] });
    });

    test('is asked again in a stream, too', async () => {
      const model = await fresh({ lanes: 1, retries: 2 });
      await fail({ kind: 'status', status: 500 }, 'first', 1);
      const answer = await ask(model, { stream: true });
      expect(await answer.text()).toContain('[DONE]');
      expect(await served()).toEqual(['first', 'first']);
    });

    test.each([
      ['a longer limit', limit('3'), 2, ['first', 'second']],
      ['a second internal error', { kind: 'status', status: 500 } as const, 2, ['first', 'first', 'second']],
      ['an overload', { kind: 'status', status: 503 } as const, 2, ['first', 'second']],
      ['any failure without them', { kind: 'status', status: 500 } as const, 0, ['first', 'second']],
    ])('is left after %s', async (_name, fault, retries, lanes) => {
      const model = await fresh({ retries });
      await fail(fault, 'first');
      const answer = await ask(model);
      expect([answer.status, answer.headers.get('x-svc-failover')]).toEqual([200, 'true']);
      expect(await served()).toEqual(lanes);
    });

    test('is no failover either where the caller leaves the second try', async () => {
      const model = await fresh({ lanes: 1, retries: 1 });
      await fail({ kind: 'status', status: 500 }, 'first', 1);
      const leaver = new AbortController();
      await simulator.addFault({ match: { lane: 'first', nth: 2 }, fault: { kind: 'hang' } });
      const asking = ask(model, {}, demo, leaver.signal).catch(() => null);
      await simulator.waitForRequests(2);
      leaver.abort();
      await asking;
      await app.application.get(Lifecycle).waitUntilIdle(5_000);
      const rows = await app.database.query(
        'SELECT code, failover, jsonb_array_length(attempts) AS tries FROM request_record WHERE model = $1',
        [model],
      );
      expect(rows).toEqual([{ code: 'caller_left', failover: false, tries: 2 }]);
    });

    test('is not asked again for a caller who has left', async () => {
      const model = await fresh({ lanes: 1, retries: 1 });
      await fail(limit('2'), 'first', 1);
      const leaver = new AbortController();
      const asking = ask(model, {}, demo, leaver.signal).catch(() => null);
      await simulator.waitForClosed(1);
      // The answer is on its way to the gateway, which then waits for two seconds.
      await delay(100);
      leaver.abort();
      await asking;
      await app.application.get(Lifecycle).waitUntilIdle(10_000);
      expect(app.application.get(Lifecycle).openRequests).toBe(0);
      expect(await served()).toEqual(['first']);
    });
  });

  test('a session that stays on the lane that stood in is told so', async () => {
    const model = await fresh();
    await fail({ kind: 'status', status: 503 }, 'first', 1);
    const session = { metadata: { session_id: 'stays' } };
    for (let turn = 0; turn < 2; turn += 1) {
      const answer = await ask(model, session);
      expect(answer.headers.get('x-svc-supplier')).toBe(`${model}-second`);
      expect(answer.headers.get('x-svc-failover')).toBe('true');
    }
  });

  test('a supplier cannot ask for a longer rest than its operator allows', async () => {
    const model = await fresh({ lanes: 1, breaker: { longestRetryAfter: 3_000 } });
    await fail({ kind: 'status', status: 429, headers: { 'retry-after': '86400' } }, 'first', 1);
    expect((await ask(model)).headers.get('retry-after')).toBe('3');
    const again = await ask(model);
    expect(Number(again.headers.get('retry-after'))).toBeLessThanOrEqual(3);
    expect(await served()).toHaveLength(1);
  });

  test('operators may say after how many failures a lane rests', async () => {
    const model = await fresh({ breaker: { failures: 2 } });
    await fail({ kind: 'status', status: 503 }, 'first');
    for (let call = 0; call < 4; call += 1) expect((await ask(model)).status).toBe(200);
    expect(await served()).toEqual(['first', 'second', 'first', 'second', 'second', 'second']);
  });

  describe('operators see', () => {
    test('a failover, the opening and the closing of a lane, with their cause', async () => {
      const model = await fresh({ breaker: { failures: 2, rest: 100 } });
      await fail({ kind: 'reset' }, 'first', 2);
      for (let call = 0; call < 2; call += 1) await ask(model);
      expect(lines(/^failover/)).toMatchObject([
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
      expect(lines(/^lane opened/)).toMatchObject([{ provider: `${model}-first`, region: 'eu' }]);
      const series = `gateway_circuit_state{provider="${model}-first",model="sim-large",region="eu"}`;
      expect(await app.application.get(Metrics).text()).toMatch(
        new RegExp(`${series.replaceAll(/[{}]/g, '\\$&')} [12]`),
      );
      await until(async () => {
        await ask(model);
        return lines(/^lane closed/).length > 0;
      });
      expect(lines(/^lane closed/)).toMatchObject([{ provider: `${model}-first` }]);
      expect(await app.application.get(Metrics).text()).toContain(`${series} 0`);
    });

    const becomes = async (model: string, wanted: string): Promise<void> => {
      await until(async () => {
        const [row] = await app.database.query<{ health: string }>(
          'SELECT health FROM provider_credential c JOIN provider p ON p.id = c.provider_id WHERE p.name = $1',
          [`${model}-first`],
        );
        return row?.health === wanted;
      });
    };

    test('a refused credential: once, with a mark that it keeps until it is taken again', async () => {
      const model = await fresh();
      await fail({ kind: 'status', status: 401 }, 'first', 3);
      for (let call = 0; call < 3; call += 1) expect((await ask(model)).status).toBe(200);
      expect(lines(/^alert/)).toMatchObject([
        { level: 'error', provider: `${model}-first`, model: 'sim-large', region: 'eu', status: 401 },
      ]);
      await becomes(model, 'rejected');
      expect((await ask(model)).headers.get('x-svc-failover')).toBe('false');
      await becomes(model, 'ok');
    });

    test('a mark of another node, or of before the start, goes once the credential is taken', async () => {
      const model = await fresh();
      await app.database.query(
        `UPDATE provider_credential SET health = 'rejected'
         WHERE provider_id = (SELECT id FROM provider WHERE name = $1)`,
        [`${model}-first`],
      );
      expect((await ask(model)).headers.get('x-svc-failover')).toBe('false');
      await becomes(model, 'ok');
    });

    test('a request that nobody answered names who failed it: in its line, without a stack, and in the metrics', async () => {
      const model = await fresh();
      await fail({ kind: 'status', status: 503 }, 'first');
      await fail({ kind: 'status', status: 503 }, 'second');
      const answer = await ask(model);
      expect(answer.status).toBe(503);
      const [line] = lines(/^request failed/);
      expect(line).toMatchObject({
        level: 'warn',
        model,
        provider: `${model}-second`,
        key_id: expect.any(Number) as number,
        request_id: answer.headers.get('x-request-id'),
      });
      expect(line).not.toHaveProperty('error');
      const text = await app.application.get(Metrics).text();
      for (const lane of names)
        expect(text).toContain(
          `gateway_upstream_attempts_total{provider="${model}-${lane}",model="sim-large",region="eu",outcome="upstream_unavailable"} 1`,
        );
    });
  });
});
