import { startSimulator, type Simulator } from '../../support/simulator';
import { startTestApp, type TestApp } from '../../support/app';
import { CatalogueEditor, CatalogueService, CredentialEditor, PriceService } from '#product/catalogue';
import { parseUsdPerMillion, priceRates } from '#product/kernel';

const usd = parseUsdPerMillion;

/** Adds one model whose supplier speaks only chat, and one whose supplier speaks only messages. */
async function addModels(app: TestApp, url: string): Promise<void> {
  const editor = new CatalogueEditor();
  const prices = new PriceService();
  const credentials = app.application.get(CredentialEditor, { strict: false });
  await app.database.transaction(async (tx) => {
    for (const [provider, style] of [
      ['only-chat', 'openai-style'],
      ['only-messages', 'messages-style'],
    ] as const) {
      const { id: providerId } = await editor.upsertProvider(tx, { name: provider, style, baseUrl: url });
      const kind = style === 'messages-style' ? 'header' : 'bearer';
      await credentials.put(tx, { providerId, label: 'test', kind, secret: 'sim-test' });
      await editor.upsertModel(tx, {
        name: `on-${provider}`,
        kind: 'chat',
        ownedBy: 'test',
        contextTokens: 200_000,
        maxOutputTokens: 8_000,
      });
      await editor.setLanes(tx, `on-${provider}`, [{ provider, upstreamModel: 'sim-large', region: 'eu' }]);
      await prices.addPrice(tx, {
        model: `on-${provider}`,
        source: 'test',
        rates: priceRates({ input: usd('1'), output: usd('2') }),
      });
    }
  });
  await app.application.get(CatalogueService).reload();
}

interface DialectResponse {
  readonly error?: unknown;
  readonly content?: readonly { readonly text: string }[];
  readonly output?: readonly { readonly content: readonly { readonly text: string }[] }[];
  readonly choices?: readonly { readonly message: { readonly content: string } }[];
}

const models = ['on-only-chat', 'on-only-messages'];

describe('Dialect conversion', () => {
  let app: TestApp;
  let supplier: Simulator;

  beforeAll(async () => {
    supplier = await startSimulator();
    app = await startTestApp({ sandboxUrl: supplier.url });
    await addModels(app, supplier.url);
  });
  afterAll(async () => {
    await app.close();
    await supplier.stop();
  });
  afterEach(() => supplier.clearFaults());

  const post = (path: string, body: object): Promise<Response> =>
    fetch(`${app.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.firstKeys?.demo}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });

  const sendRequest = (
    surface: string,
    model: string,
    text: string,
    extra: object = {},
  ): Promise<Response> => {
    const messages = [{ role: 'user', content: text }];
    if (surface === 'messages') return post('/v1/messages', { model, max_tokens: 500, messages, ...extra });
    if (surface === 'responses') return post('/v1/responses', { model, input: messages, ...extra });
    return post('/v1/chat/completions', { model, messages, ...extra });
  };

  const recordOf = async (answer: Response): Promise<Record<string, unknown> | undefined> => {
    const rows = await app.database.query<Record<string, unknown>>(
      'SELECT * FROM request_record WHERE request_id = $1',
      [answer.headers.get('x-request-id')],
    );
    return rows[0];
  };

  const textOf = (surface: string, body: DialectResponse): string => {
    if (surface === 'messages') return body.content?.[0]?.text ?? '';
    if (surface === 'responses') return body.output?.[0]?.content[0]?.text ?? '';
    return body.choices?.[0]?.message.content ?? '';
  };

  describe.each(['chat', 'messages', 'responses'])('%s client', (surface) => {
    test.each(models)('gets the same text from %s at the same price, streaming or not', async (model) => {
      const prompt = 'Say something [[tokens=20]]';
      const completeResponse = await sendRequest(surface, model, prompt);
      const body = (await completeResponse.json()) as DialectResponse;
      expect({ status: completeResponse.status, error: body.error ?? null }).toEqual({
        status: 200,
        error: null,
      });
      expect(textOf(surface, body).split(' ').length).toBeGreaterThan(10);

      const stream = await sendRequest(surface, model, prompt, { stream: true });
      const text = await stream.text();
      expect(text).toContain(
        { chat: 'data: [DONE]', messages: 'message_stop', responses: 'response.completed' }[surface],
      );
      const [first, second] = [await recordOf(completeResponse), await recordOf(stream)];
      expect(first).toMatchObject({
        surface,
        output_tokens: 20,
        usage_source: 'supplier',
        status: 200,
        code: null,
      });
      expect(second).toMatchObject({
        input_tokens: first?.input_tokens,
        output_tokens: 20,
        cost_nano: first?.cost_nano,
        stream: true,
        usage_source: 'supplier',
        code: null,
      });
    });

    test.each(models)('gets an error in its own dialect when %s breaks off', async (model) => {
      await supplier.addFault({ fault: { kind: 'cut', after: 4 } });
      const text = await (await sendRequest(surface, model, 'Long [[tokens=40]]', { stream: true })).text();
      expect(text).not.toMatch(/\[DONE\]|message_stop|response\.completed/);
      expect(text).toContain('stream_interrupted');
    });
  });

  test('usage chunks reach only chat callers that requested them', async () => {
    const withoutUsage = await sendRequest('chat', 'sim-small', 'x [[tokens=3]]', { stream: true });
    expect(await withoutUsage.text()).not.toContain('"usage":{');
    expect(await recordOf(withoutUsage)).toMatchObject({ output_tokens: 3, usage_source: 'supplier' });
    const withUsage = await sendRequest('chat', 'sim-small', 'x [[tokens=3]]', {
      stream: true,
      stream_options: { include_usage: true },
    });
    expect(await withUsage.text()).toContain('"usage":{');
  });

  test('unknown region returns 400 without a supplier call', async () => {
    await supplier.clearRequests();
    const answer = await sendRequest('chat', 'on-only-chat', 'x', { region: 'mars' });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ error: { code: 'invalid_request', param: 'region' } });
    expect(await supplier.requests()).toEqual([]);
    expect((await sendRequest('chat', 'on-only-chat', 'x', { region: 'eu' })).status).toBe(200);
  });
});
