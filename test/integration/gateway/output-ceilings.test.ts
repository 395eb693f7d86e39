import { Limits } from '#product/billing';
import { startTestApp, type TestApp } from '../../support/app';
import { addCustomer } from '../../support/customer';
import { ScriptedSupplier } from '../../support/scripted-supplier';
import { TestCatalogue } from './test-catalogue';

type Json = Record<string, unknown>;

/** Pays for 64,000 output tokens at $2 per 1M, but not for 500,000. */
const BUDGET = 500_000_000n;
const ABOVE_EVERY_CEILING = 500_000;

describe('Output ceiling documented by the vendor', () => {
  let app: TestApp;
  let supplier: ScriptedSupplier;
  let key: string;

  beforeAll(async () => {
    app = await startTestApp({ environment: { SUPPLIER_ALLOW: '127.0.0.0/8' } });
    supplier = await ScriptedSupplier.start();
    const catalogue = new TestCatalogue(app);
    await catalogue.provider({
      name: 'north',
      style: 'messages-style',
      baseUrl: supplier.url,
      credentials: [{ label: 'one', kind: 'header', secret: 'sk-canary-of-ours' }],
    });
    for (const upstreamModel of ['claude-haiku-4-5', 'claude-unheard-of'])
      await catalogue.model(upstreamModel, [{ provider: 'north', upstreamModel }]);
    const customer = await addCustomer(app, 'ceilings', 10n * BUDGET);
    ({ key } = customer);
    const limits = app.application.get(Limits, { strict: false });
    await app.database.transaction((tx) =>
      limits.set(tx, { kind: 'key', id: customer.keyId }, { period: 'total', limit: BUDGET }),
    );
    supplier.answer = {
      body: {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'up',
        content: [{ type: 'text', text: 'Hi' }],
        stop_reason: 'end_turn',
        usage: { input_tokens: 10, output_tokens: 5 },
      },
    };
  });
  afterAll(async () => {
    await app.close();
    await supplier.stop();
  });
  beforeEach(() => supplier.requests.splice(0));

  const sendRequest = async (path: string, model: string): Promise<{ status: number; told: unknown[] }> => {
    const answer = await fetch(app.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model,
        max_tokens: ABOVE_EVERY_CEILING,
        messages: [{ role: 'user', content: 'Hi' }],
      }),
    });
    await answer.arrayBuffer();
    const sentLimits = supplier.requests.map(({ body }) => (JSON.parse(body) as Json).max_tokens);
    return { status: answer.status, told: sentLimits };
  };

  test('converted request is capped to the ceiling, which is what is held', async () => {
    expect(await sendRequest('/v1/chat/completions', 'claude-haiku-4-5')).toEqual({
      status: 200,
      told: [64_000],
    });
  });

  test("request in the supplier's dialect is not capped, and its own limit is held", async () => {
    expect(await sendRequest('/v1/messages', 'claude-haiku-4-5')).toEqual({ status: 402, told: [] });
  });

  test('unknown model has no assumed ceiling', async () => {
    expect(await sendRequest('/v1/chat/completions', 'claude-unheard-of')).toEqual({ status: 402, told: [] });
  });
});
