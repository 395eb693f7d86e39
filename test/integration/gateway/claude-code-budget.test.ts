import { Limits } from '#product/billing';
import { startTestApp, type TestApp } from '../../support/app';
import { addCustomer, type Customer } from '../../support/customer';
import { startSimulator, type Simulator } from '../../support/simulator';

type Json = Record<string, unknown>;
const CENT = 10_000_000n;
const agentHeaders = { 'user-agent': 'claude-cli/2.1.332 (external, cli)' };
const PREFIX = 'anthropic-ratelimit-unified-';

describe('Claude Code budgets', () => {
  let app: TestApp;
  let supplier: Simulator;
  let customerCount = 0;

  beforeAll(async () => {
    supplier = await startSimulator();
    app = await startTestApp({ sandboxUrl: supplier.url });
  });
  afterAll(async () => {
    await app.close();
    await supplier.stop();
  });

  const setBudget = (keyId: number, limit: bigint, period: 'daily' | 'monthly' | 'total' = 'monthly') =>
    app.database.transaction((tx) =>
      app.application.get(Limits, { strict: false }).set(tx, { kind: 'key', id: keyId }, { period, limit }),
    );
  const customerWith = async (limit: bigint, period?: 'daily' | 'monthly' | 'total'): Promise<Customer> => {
    const customer = await addCustomer(app, `agent-${(customerCount += 1)}`, 1_000n * CENT);
    await setBudget(customer.keyId, limit, period);
    return customer;
  };
  const sendRequest = (key: string, headers: object = agentHeaders, body: Json = {}): Promise<Response> =>
    fetch(`${app.url}/v1/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify({
        model: 'sim-small',
        max_tokens: 20,
        messages: [{ role: 'user', content: 'Hello' }],
        ...body,
      }),
    });
  const limitHeaders = ({ headers }: Response): Record<string, string> =>
    Object.fromEntries(
      [...headers]
        .filter(([name]) => name.startsWith(PREFIX))
        .map(([name, value]) => [name.slice(PREFIX.length), value]),
    );
  const readJson = async (path: string, key: string): Promise<Json> => {
    const answer = await fetch(app.url + path, { headers: { authorization: `Bearer ${key}` } });
    return (await answer.json()) as Json;
  };
  const resetOf = async (key: string): Promise<number> =>
    Math.floor(Date.parse(String((await readJson('/v1/key', key)).resets_at)) / 1_000);

  test('budget refusal is 429 `billing_error` with `retry-after` and `org_spend_cap_reached`', async () => {
    const { key } = await customerWith(1n, 'daily');
    const sentAt = Date.now();
    const answer = await sendRequest(key);
    expect(answer.status).toBe(429);
    const reset = String(await resetOf(key));
    expect(limitHeaders(answer)).toEqual({
      status: 'rejected',
      reset,
      'overage-reset': reset,
      'overage-utilization': '1',
      'overage-surpassed-threshold': '1',
      'overage-disabled-reason': 'org_spend_cap_reached',
    });
    const retryAfter = Number(answer.headers.get('retry-after'));
    expect(retryAfter).toBeGreaterThan(0);
    expect(retryAfter).toBeLessThanOrEqual(Math.ceil(Number(reset) - sentAt / 1_000));
    expect(answer.headers.get('x-should-retry')).toBe('false');
    expect(await answer.json()).toMatchObject({
      type: 'error',
      error: { type: 'billing_error', code: 'budget_exceeded' },
    });
  });

  test('refusal of a budget that never resets also has `retry-after`', async () => {
    const { key } = await customerWith(1n, 'total');
    const answer = await sendRequest(key, agentHeaders, { stream: true });
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '3600']);
    expect(limitHeaders(answer)).not.toHaveProperty('reset');
  });

  test('any other client gets 402 without the rate-limit headers', async () => {
    const { key } = await customerWith(1n);
    const answer = await sendRequest(key, { 'user-agent': 'anthropic-sdk/1.14.0' });
    expect([answer.status, answer.headers.get('retry-after'), limitHeaders(answer)]).toEqual([402, null, {}]);
  });

  test.each([false, true])('every 200 response carries the used fraction, stream %s', async (stream) => {
    const { key, keyId } = await customerWith(100n * CENT);
    const longRequest = { max_tokens: 4_000, messages: [{ role: 'user', content: 'Hello [[tokens=3000]]' }] };
    const unusedResponse = await sendRequest(key, agentHeaders, { stream, ...longRequest });
    await unusedResponse.text();
    const reset = String(await resetOf(key));
    expect([unusedResponse.status, limitHeaders(unusedResponse)]).toEqual([
      200,
      {
        status: 'allowed',
        'representative-claim': 'overage',
        'overage-status': 'allowed',
        'overage-utilization': '0',
        reset,
        'overage-reset': reset,
      },
    ]);
    const spentNano = BigInt(Math.round(Number((await readJson('/v1/key', key)).budget_used) * 1e9));
    // Sets a budget of which 80 % is used.
    await setBudget(keyId, (spentNano * 5n) / 4n);
    const warningResponse = await sendRequest(key, agentHeaders, { stream, max_tokens: 1 });
    await warningResponse.text();
    expect([warningResponse.status, limitHeaders(warningResponse)]).toEqual([
      200,
      {
        status: 'allowed_warning',
        'representative-claim': 'overage',
        'overage-status': 'allowed_warning',
        'overage-utilization': '0.8',
        'overage-surpassed-threshold': '0.75',
        reset,
        'overage-reset': reset,
      },
    ]);
  });

  test('rate-limit headers are absent without a budget and on unrelated errors', async () => {
    const { key } = await addCustomer(app, 'unlimited-agent', 1_000n * CENT);
    expect(limitHeaders(await sendRequest(key))).toEqual({});
    const limitedCustomer = await customerWith(100n * CENT);
    const answer = await sendRequest(limitedCustomer.key, agentHeaders, { model: 'no-such-model' });
    expect([answer.status, limitHeaders(answer)]).toEqual([404, {}]);
  });

  test('`GET /api/oauth/usage` returns amounts in cents, with the most used budget first', async () => {
    const { key, keyId, userId } = await customerWith(100n * CENT);
    await app.database.transaction((tx) =>
      app.application
        .get(Limits, { strict: false })
        .set(tx, { kind: 'user', id: userId }, { period: 'daily', limit: 200n * CENT }),
    );
    await (await sendRequest(key)).text();
    const { budget_used: used, resets_at: resets } = await readJson('/v1/key', key);
    // Sets a budget of which the key has used half.
    await setBudget(keyId, BigInt(Math.round(Number(used) * 1e9)) * 2n);
    expect(await readJson('/api/oauth/usage', key)).toEqual({
      extra_usage: {
        is_enabled: true,
        monthly_limit: Math.floor(Number(used) * 200),
        used_credits: Math.floor(Number(used) * 100),
        utilization: 50,
        currency: 'USD',
      },
      limits: [
        {
          kind: 'spend',
          group: 'monthly',
          percent: 50,
          resets_at: resets,
          severity: 'normal',
          is_active: true,
        },
        {
          kind: 'spend',
          group: 'daily',
          percent: 0,
          resets_at: expect.any(String) as string,
          severity: 'normal',
          is_active: false,
        },
      ],
    });
  });

  test('`GET /api/oauth/usage` returns 404 without a budget and 401 without a key', async () => {
    const { key } = await addCustomer(app, 'free-agent', CENT);
    expect(await readJson('/api/oauth/usage', key)).toMatchObject({ error: { code: 'not_found' } });
    expect((await fetch(`${app.url}/api/oauth/usage`)).status).toBe(401);
  });
});
