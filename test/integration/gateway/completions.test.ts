import { CatalogueEditor, CatalogueService, CredentialEditor, PriceService } from '#product/catalogue';
import { parseUsdPerMillion, priceRates } from '#product/kernel';
import type { TestApp } from '../../support/app';
import { app, closeFixture, openFixture, post, recordOf, supplier } from './gateway-fixture';

/** Adds a model whose supplier speaks only messages, and one with a lane to fail over to. */
async function addModels(app: TestApp, url: string): Promise<void> {
  const editor = new CatalogueEditor();
  const prices = new PriceService();
  const credentials = app.application.get(CredentialEditor, { strict: false });
  const rates = priceRates({ input: parseUsdPerMillion('1'), output: parseUsdPerMillion('2') });
  const limits = { kind: 'chat', ownedBy: 'test', contextTokens: 200_000, maxOutputTokens: 8_000 } as const;
  await app.database.transaction(async (tx) => {
    const { id: providerId } = await editor.upsertProvider(tx, {
      name: 'only-messages',
      style: 'messages-style',
      baseUrl: url,
    });
    await credentials.put(tx, { providerId, label: 'test', kind: 'header', secret: 'sim-test' });
    const sandbox = { provider: 'sandbox', upstreamModel: 'sim-small' };
    for (const [name, lanes] of [
      ['on-messages', [{ provider: 'only-messages', upstreamModel: 'sim-large', region: 'eu' }]],
      [
        'on-two',
        [
          { ...sandbox, region: 'eu', priority: 0 },
          { ...sandbox, region: 'us', priority: 1 },
        ],
      ],
    ] as const) {
      await editor.upsertModel(tx, { ...limits, name });
      await editor.setLanes(tx, name, lanes);
      await prices.addPrice(tx, { model: name, rates, source: 'test' });
    }
  });
  await app.application.get(CatalogueService).reload();
}

describe('Legacy completions', () => {
  beforeAll(async () => {
    await openFixture();
    await addModels(app, supplier.url);
  });
  afterAll(closeFixture);
  beforeEach(() => supplier.clearRequests());
  afterEach(() => supplier.clearFaults());

  const complete = (body: object): Promise<Response> =>
    post('/v1/completions', { model: 'sim-small', prompt: 'Say it [[tokens=12]]', ...body });
  const events = (text: string): Record<string, unknown>[] =>
    [...text.matchAll(/^data: (\{.*\})$/gm)].map(
      ([, data]) => JSON.parse(data ?? '') as Record<string, unknown>,
    );

  test("completion is passed through and charged by the supplier's usage report", async () => {
    const answer = await complete({ max_tokens: 100 });
    expect(answer.status).toBe(200);
    const body = (await answer.json()) as { choices: { text: string }[]; usage: { prompt_tokens: number } };
    expect(body).toMatchObject({ object: 'text_completion', choices: [{ finish_reason: 'stop' }] });
    expect(await recordOf(answer)).toMatchObject({
      surface: 'completions',
      output_tokens: 12,
      cost_nano: String(body.usage.prompt_tokens * 150 + 12 * 600),
      finish_reason: 'stop',
      stream: false,
    });
  });

  test('completion has 16 tokens by default', async () => {
    const answer = await complete({ prompt: 'Say it [[tokens=50]]' });
    expect(await answer.json()).toMatchObject({ choices: [{ finish_reason: 'length' }] });
    expect(await recordOf(answer)).toMatchObject({ output_tokens: 16 });
    expect((await supplier.requests())[0]?.body).toMatchObject({ max_tokens: 16 });
  });

  test('completions accept a list of prompts', async () => {
    const answer = await complete({ prompt: ['One', 'Two'] });
    expect(answer.status).toBe(200);
    expect((await supplier.requests())[0]?.body).toMatchObject({ prompt: ['One', 'Two'] });
  });

  test('completion without a usage report is charged by its length', async () => {
    await supplier.addFault({ fault: { kind: 'wrong-usage', variant: 'absent' } });
    const answer = await complete({});
    const { choices } = (await answer.json()) as { choices: { text: string }[] };
    expect(await recordOf(answer)).toMatchObject({
      output_tokens: Math.ceil(Buffer.byteLength(choices[0]?.text ?? '') / 4),
      usage_source: 'estimated',
    });
  });

  test('completion stream carries usage only if requested', async () => {
    const answer = await complete({ stream: true });
    expect(answer.headers.get('content-type')).toMatch(/^text\/event-stream/);
    const text = await answer.text();
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
    expect(events(text).every(({ object }) => object === 'text_completion')).toBe(true);
    expect(text).not.toContain('"usage":{');
    expect(await recordOf(answer)).toMatchObject({
      output_tokens: 12,
      stream: true,
      usage_source: 'supplier',
    });
    const usageResponse = await complete({ stream: true, stream_options: { include_usage: true } });
    expect(events(await usageResponse.text()).at(-1)).toMatchObject({
      choices: [],
      usage: { completion_tokens: 12 },
    });
  });

  test('completion stream that breaks off ends with an error and is not continued', async () => {
    await supplier.addFault({ times: 1, fault: { kind: 'cut', after: 4 } });
    const answer = await complete({ model: 'on-two', stream: true });
    const text = await answer.text();
    expect(text).not.toContain('[DONE]');
    expect(events(text).at(-1)).toMatchObject({ error: { code: 'stream_interrupted' } });
    const record = await recordOf(answer);
    expect(record).toMatchObject({ code: 'stream_interrupted', stream: true });
    expect(Number(record?.output_tokens)).toBeGreaterThan(0);
  });

  test('completion fails over before its first token', async () => {
    await supplier.addFault({ times: 1, fault: { kind: 'status', status: 500 } });
    const answer = await complete({ model: 'on-two' });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('x-svc-failover')).toBe('true');
  });

  test('completion returns model_not_available when the supplier has no completions API', async () => {
    const answer = await complete({ model: 'on-messages' });
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.status).toBeLessThan(500);
    expect(await answer.json()).toMatchObject({ error: { code: 'model_not_available', param: 'model' } });
    expect(await supplier.requests()).toEqual([]);
  });

  test.each([
    [{ prompt: undefined }, 'prompt'],
    [{ prompt: '' }, 'prompt'],
    [{ prompt: [] }, 'prompt'],
    [{ prompt: ['a', ''] }, 'prompt[1]'],
    [{ n: 0 }, 'n'],
    [{ best_of: 100 }, 'best_of'],
    [{ max_tokens: 'many' }, 'max_tokens'],
    [{ temperature: 3 }, 'temperature'],
    [{ stream_options: { include_usage: true } }, 'stream_options'],
    [{ stream: 'yes' }, 'stream'],
  ])('%j returns 400 that names the invalid field', async (body, param) => {
    const answer = await complete(body);
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ error: { param } });
    expect(await supplier.requests()).toEqual([]);
  });
});
