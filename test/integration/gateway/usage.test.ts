import { CatalogueEditor, CatalogueService } from '#product/catalogue';
import { app, closeHouse, openHouse, recordOf, supplier } from './gateway-house';

describe('what a supplier reports is believed only as far as it can be true', () => {
  beforeAll(openHouse);
  afterEach(() => supplier.clearFaults());
  afterAll(closeHouse);

  const ask = (body: object): Promise<Response> =>
    fetch(`${app.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.firstKeys?.demo}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'sim-large',
        max_tokens: 200,
        messages: [{ role: 'user', content: 'x [[tokens=40]]' }],
        ...body,
      }),
    });

  test.each(['negative', 'nan', 'absurd'] as const)(
    '%s: a whole answer is charged like the same streamed, by estimate',
    async (variant) => {
      await supplier.addFault({ fault: { kind: 'wrong-usage', variant } });
      const whole = await ask({});
      expect(whole.status).toBe(200);
      const streamed = await ask({ stream: true });
      await streamed.text();
      const record = await recordOf(whole);
      expect(record).toMatchObject({ usage_source: 'estimated', code: null });
      expect(BigInt(String(record?.cost_nano)) > 0n).toBe(true);
      expect(record?.output_tokens).toBe((await recordOf(streamed))?.output_tokens);
    },
  );

  test.each(['negative', 'nan', 'absurd', 'absent'] as const)(
    '%s: a stream is counted here, and says so',
    async (variant) => {
      await supplier.addFault({ fault: { kind: 'wrong-usage', variant } });
      const answer = await ask({ stream: true });
      expect(await answer.text()).toContain('[DONE]');
      const record = await recordOf(answer);
      expect(record).toMatchObject({ usage_source: 'estimated', code: null });
      // Forty tokens of three or four letters each.
      expect(Number(record?.output_tokens)).toBeGreaterThanOrEqual(30);
      expect(Number(record?.output_tokens)).toBeLessThanOrEqual(50);
      expect(BigInt(String(record?.cost_nano)) > 0n).toBe(true);
    },
  );

  test('absent: a whole answer is counted here, and says so', async () => {
    await supplier.addFault({ fault: { kind: 'wrong-usage', variant: 'absent' } });
    const answer = await ask({});
    expect(answer.status).toBe(200);
    const record = await recordOf(answer);
    expect(record).toMatchObject({ usage_source: 'estimated' });
    expect(Number(record?.output_tokens)).toBeGreaterThanOrEqual(30);
    expect(Number(record?.output_tokens)).toBeLessThanOrEqual(50);
  });

  test('reported twice is charged once', async () => {
    const once = await ask({ stream: true });
    await once.text();
    await supplier.addFault({ fault: { kind: 'wrong-usage', variant: 'double' } });
    const twice = await ask({ stream: true });
    await twice.text();
    expect((await recordOf(twice))?.output_tokens).toBe((await recordOf(once))?.output_tokens);
  });

  test('a model without a price is not served, let alone for nothing', async () => {
    await app.database.transaction(async (tx) => {
      const editor = new CatalogueEditor();
      await editor.upsertModel(tx, { name: 'unpriced', kind: 'chat', ownedBy: 'test' });
      await editor.setLanes(tx, 'unpriced', [
        { provider: 'sandbox', upstreamModel: 'sim-large', region: 'local' },
      ]);
    });
    await app.application.get(CatalogueService, { strict: false }).reload();
    await supplier.clearRequests();
    const answer = await ask({ model: 'unpriced' });
    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({ error: { code: 'supplier_price_unresolved' } });
    expect(await supplier.requests()).toEqual([]);
  });
});
