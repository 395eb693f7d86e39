import { Limits } from '#product/billing';
import { startTestApp, type TestApp } from '../../support/app';
import { addCustomer } from '../../support/customer';
import { ScriptedSupplier } from '../../support/scripted-supplier';
import { ModelShelf } from './model-shelf';

type Json = Record<string, unknown>;

/** Pays for 64,000 tokens of output at two dollars a million, and not for 500,000. */
const BUDGET = 500_000_000n;
const ABOVE_EVERY_CEILING = 500_000;

describe('the most that a model writes, as its vendor says it', () => {
  let app: TestApp;
  let supplier: ScriptedSupplier;
  let key: string;

  beforeAll(async () => {
    app = await startTestApp({ environment: { SUPPLIER_ALLOW: '127.0.0.0/8' } });
    supplier = await ScriptedSupplier.start();
    const shelf = new ModelShelf(app);
    await shelf.provider({
      name: 'north',
      style: 'messages-style',
      baseUrl: supplier.url,
      credentials: [{ label: 'one', kind: 'header', secret: 'sk-canary-of-ours' }],
    });
    for (const upstreamModel of ['claude-haiku-4-5', 'claude-unheard-of'])
      await shelf.model(upstreamModel, [{ provider: 'north', upstreamModel }]);
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
  beforeEach(() => supplier.heard.splice(0));

  const ask = async (path: string, model: string): Promise<{ status: number; told: unknown[] }> => {
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
    const told = supplier.heard.map(({ body }) => (JSON.parse(body) as Json).max_tokens);
    return { status: answer.status, told };
  };

  test('is held for and told where a higher limit is translated', async () => {
    expect(await ask('/v1/chat/completions', 'claude-haiku-4-5')).toEqual({ status: 200, told: [64_000] });
  });

  test('says nothing of a limit in the dialect of the supplier, which is held for as it is', async () => {
    expect(await ask('/v1/messages', 'claude-haiku-4-5')).toEqual({ status: 402, told: [] });
  });

  test('is not guessed for a model that nobody knows', async () => {
    expect(await ask('/v1/chat/completions', 'claude-unheard-of')).toEqual({ status: 402, told: [] });
  });
});
