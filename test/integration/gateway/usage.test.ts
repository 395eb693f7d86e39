import { CatalogueEditor, CatalogueService } from '#product/catalogue';
import { app, closeFixture, openFixture, recordOf, supplier } from './gateway-fixture';

describe('Supplier usage reports', () => {
  beforeAll(openFixture);
  afterEach(() => supplier.clearFaults());
  afterAll(closeFixture);

  const sendRequest = (body: object): Promise<Response> =>
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
    '%s usage is charged by the same estimate, streaming or not',
    async (variant) => {
      await supplier.addFault({ fault: { kind: 'wrong-usage', variant } });
      const complete = await sendRequest({});
      expect(complete.status).toBe(200);
      const streamResponse = await sendRequest({ stream: true });
      await streamResponse.text();
      const record = await recordOf(complete);
      expect(record).toMatchObject({ usage_source: 'estimated', code: null });
      expect(BigInt(String(record?.cost_nano)) > 0n).toBe(true);
      expect(record?.output_tokens).toBe((await recordOf(streamResponse))?.output_tokens);
    },
  );

  test.each(['negative', 'nan', 'absurd', 'absent'] as const)(
    '%s usage of a stream is estimated and recorded as such',
    async (variant) => {
      await supplier.addFault({ fault: { kind: 'wrong-usage', variant } });
      const answer = await sendRequest({ stream: true });
      expect(await answer.text()).toContain('[DONE]');
      const record = await recordOf(answer);
      expect(record).toMatchObject({ usage_source: 'estimated', code: null });
      // Forty tokens of three or four letters each.
      expect(Number(record?.output_tokens)).toBeGreaterThanOrEqual(30);
      expect(Number(record?.output_tokens)).toBeLessThanOrEqual(50);
      expect(BigInt(String(record?.cost_nano)) > 0n).toBe(true);
    },
  );

  test('absent usage of a non-streaming response is estimated and recorded as such', async () => {
    await supplier.addFault({ fault: { kind: 'wrong-usage', variant: 'absent' } });
    const answer = await sendRequest({});
    expect(answer.status).toBe(200);
    const record = await recordOf(answer);
    expect(record).toMatchObject({ usage_source: 'estimated' });
    expect(Number(record?.output_tokens)).toBeGreaterThanOrEqual(30);
    expect(Number(record?.output_tokens)).toBeLessThanOrEqual(50);
  });

  test('usage reported twice is charged once', async () => {
    const single = await sendRequest({ stream: true });
    await single.text();
    await supplier.addFault({ fault: { kind: 'wrong-usage', variant: 'double' } });
    const repeated = await sendRequest({ stream: true });
    await repeated.text();
    expect((await recordOf(repeated))?.output_tokens).toBe((await recordOf(single))?.output_tokens);
  });

  test('model without a price returns 503 without a supplier call', async () => {
    await app.database.transaction(async (tx) => {
      const editor = new CatalogueEditor();
      await editor.upsertModel(tx, { name: 'unpriced', kind: 'chat', ownedBy: 'test' });
      await editor.setLanes(tx, 'unpriced', [
        { provider: 'sandbox', upstreamModel: 'sim-large', region: 'local' },
      ]);
    });
    await app.application.get(CatalogueService, { strict: false }).reload();
    await supplier.clearRequests();
    const answer = await sendRequest({ model: 'unpriced' });
    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({ error: { code: 'supplier_price_unresolved' } });
    expect(await supplier.requests()).toEqual([]);
  });
});
