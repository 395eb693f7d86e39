import { Limits } from '#product/billing';
import { startTestApp, type TestApp } from '../../support/app';
import { addCustomer, type Customer } from '../../support/customer';
import { startSimulator, type Simulator } from '../../support/simulator';

type Json = Record<string, unknown>;
const CENT = 10_000_000n;
const agent = { 'user-agent': 'claude-cli/2.1.332 (external, cli)' };
const PREFIX = 'anthropic-ratelimit-unified-';

describe('budgets of Claude Code', () => {
  let app: TestApp;
  let supplier: Simulator;
  let made = 0;

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
    const customer = await addCustomer(app, `agent-${(made += 1)}`, 1_000n * CENT);
    await setBudget(customer.keyId, limit, period);
    return customer;
  };
  const ask = (key: string, headers: object = agent, body: Json = {}): Promise<Response> =>
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
  const shown = ({ headers }: Response): Record<string, string> =>
    Object.fromEntries(
      [...headers]
        .filter(([name]) => name.startsWith(PREFIX))
        .map(([name, value]) => [name.slice(PREFIX.length), value]),
    );
  const read = async (path: string, key: string): Promise<Json> => {
    const answer = await fetch(app.url + path, { headers: { authorization: `Bearer ${key}` } });
    return (await answer.json()) as Json;
  };
  const resetOf = async (key: string): Promise<number> =>
    Math.floor(Date.parse(String((await read('/v1/key', key)).resets_at)) / 1_000);

  test('a refusal is 429 `billing_error` with `retry-after` and `org_spend_cap_reached`', async () => {
    const { key } = await customerWith(1n, 'daily');
    const before = Date.now();
    const answer = await ask(key);
    expect(answer.status).toBe(429);
    const reset = String(await resetOf(key));
    expect(shown(answer)).toEqual({
      status: 'rejected',
      reset,
      'overage-reset': reset,
      'overage-utilization': '1',
      'overage-surpassed-threshold': '1',
      'overage-disabled-reason': 'org_spend_cap_reached',
    });
    const retryAfter = Number(answer.headers.get('retry-after'));
    expect(retryAfter).toBeGreaterThan(0);
    expect(retryAfter).toBeLessThanOrEqual(Math.ceil(Number(reset) - before / 1_000));
    expect(answer.headers.get('x-should-retry')).toBe('false');
    expect(await answer.json()).toMatchObject({
      type: 'error',
      error: { type: 'billing_error', code: 'budget_exceeded' },
    });
  });

  test('a refusal of a budget that never resets has `retry-after` too', async () => {
    const { key } = await customerWith(1n, 'total');
    const answer = await ask(key, agent, { stream: true });
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '3600']);
    expect(shown(answer)).not.toHaveProperty('reset');
  });

  test('any other client gets 402 and none of the headers', async () => {
    const { key } = await customerWith(1n);
    const answer = await ask(key, { 'user-agent': 'anthropic-sdk/1.14.0' });
    expect([answer.status, answer.headers.get('retry-after'), shown(answer)]).toEqual([402, null, {}]);
  });

  test.each([false, true])('each 200 carries the used fraction, stream %s', async (stream) => {
    const { key, keyId } = await customerWith(100n * CENT);
    const long = { max_tokens: 4_000, messages: [{ role: 'user', content: 'Hello [[tokens=3000]]' }] };
    const fresh = await ask(key, agent, { stream, ...long });
    await fresh.text();
    const reset = String(await resetOf(key));
    expect([fresh.status, shown(fresh)]).toEqual([
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
    const spent = BigInt(Math.round(Number((await read('/v1/key', key)).budget_used) * 1e9));
    // 80 % of the new budget is used.
    await setBudget(keyId, (spent * 5n) / 4n);
    const warned = await ask(key, agent, { stream, max_tokens: 1 });
    await warned.text();
    expect([warned.status, shown(warned)]).toEqual([
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

  test('an answer without a budget, and an error that is none of the budget, carry none', async () => {
    const { key } = await addCustomer(app, 'unlimited-agent', 1_000n * CENT);
    expect(shown(await ask(key))).toEqual({});
    const limited = await customerWith(100n * CENT);
    const answer = await ask(limited.key, agent, { model: 'no-such-model' });
    expect([answer.status, shown(answer)]).toEqual([404, {}]);
  });

  test('`GET /api/oauth/usage` has the dollars in cents, the most used budget first', async () => {
    const { key, keyId, userId } = await customerWith(100n * CENT);
    await app.database.transaction((tx) =>
      app.application
        .get(Limits, { strict: false })
        .set(tx, { kind: 'user', id: userId }, { period: 'daily', limit: 200n * CENT }),
    );
    await (await ask(key)).text();
    const { budget_used: used, resets_at: resets } = await read('/v1/key', key);
    // The key has used half of its budget.
    await setBudget(keyId, BigInt(Math.round(Number(used) * 1e9)) * 2n);
    expect(await read('/api/oauth/usage', key)).toEqual({
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

  test('`GET /api/oauth/usage` is 404 without a budget and 401 without a key', async () => {
    const { key } = await addCustomer(app, 'free-agent', CENT);
    expect(await read('/api/oauth/usage', key)).toMatchObject({ error: { code: 'not_found' } });
    expect((await fetch(`${app.url}/api/oauth/usage`)).status).toBe(401);
  });
});
