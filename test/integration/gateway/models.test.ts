import { CatalogueService } from '#product/catalogue';
import { type AutoSettingsChange, AutoSettingsStore } from '#product/autorouter';
import { declareRegions } from '../../support/regions';
import { app, closeFixture, openFixture, post } from './gateway-fixture';

interface ListedModelsPage {
  readonly object: string;
  readonly data: readonly { readonly id: string; readonly object: string; readonly type: string }[];
  readonly has_more: boolean;
  readonly first_id: string | null;
  readonly last_id: string | null;
}

describe('GET /v1/models', () => {
  beforeAll(openFixture);
  afterAll(closeFixture);

  const get = (path: string, headers: Record<string, string>): Promise<Response> =>
    fetch(`${app.url}${path}`, { headers });
  const bearer = (key: string | undefined): Record<string, string> => ({ authorization: `Bearer ${key}` });

  test('models are listed in an envelope that both SDK families read, with either key header', async () => {
    const answer = await get('/v1/models', bearer(app.firstKeys?.demo));
    const page = (await answer.json()) as ListedModelsPage;
    expect(page).toMatchObject({ object: 'list', has_more: false, first_id: page.data[0]?.id });
    expect(page.data).toContainEqual(
      expect.objectContaining({ id: 'sim-small', object: 'model', type: 'model', owned_by: 'sandbox' }),
    );
    const sameList = await get('/v1/models?limit=1000', { 'x-api-key': app.firstKeys?.demo ?? '' });
    expect(await sameList.json()).toEqual(page);
  });

  // Issue: "GET /v1/models/{unknown} answers Anthropic callers in OpenAI's form".
  test("unknown model returns 404 in the caller's format", async () => {
    const key = bearer(app.firstKeys?.demo);
    const anthropic = await get('/v1/models/unknown', { ...key, 'anthropic-version': '2023-06-01' });
    expect([anthropic.status, await anthropic.json()]).toEqual([
      404,
      {
        type: 'error',
        error: expect.objectContaining({ type: 'not_found_error', code: 'model_not_found' }) as object,
        request_id: anthropic.headers.get('request-id'),
      },
    ]);
    const openai = await get('/v1/models/unknown', key);
    expect(Object.keys((await openai.json()) as object)).toEqual(['error']);
  });

  test('models are paginated', async () => {
    const key = bearer(app.firstKeys?.demo);
    const seenIds: string[] = [];
    let after = '';
    for (let page = 0; page < 10; page += 1) {
      const body = (await (await get(`/v1/models?limit=3${after}`, key)).json()) as ListedModelsPage;
      seenIds.push(...body.data.map(({ id }) => id));
      if (!body.has_more) break;
      after = `&after_id=${body.last_id}`;
    }
    const fullPage = (await (await get('/v1/models', key)).json()) as ListedModelsPage;
    expect(seenIds).toEqual(fullPage.data.map(({ id }) => id));
    expect((await get('/v1/models?limit=0', key)).status).toBe(400);
  });

  test('model shows its retirement date and returns 404 after it unless it redirects', async () => {
    const key = bearer(app.firstKeys?.demo);
    const retire = async (at: string | null, redirect: string | null = null) => {
      await app.database.query(
        `UPDATE model SET retires_at = $1, redirect_to = (SELECT id FROM model WHERE name = $2) WHERE name = 'sim-reason'`,
        [at, redirect],
      );
      await app.application.get(CatalogueService, { strict: false }).reload();
    };
    const lookUpModel = () => get('/v1/models/sim-reason', key);
    const requestModel = () =>
      fetch(`${app.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { ...key, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'sim-reason', messages: [{ role: 'user', content: 'Hello' }] }),
      });
    await retire('2099-01-01T00:00:00Z');
    expect(await (await lookUpModel()).json()).toMatchObject({ retires_at: '2099-01-01T00:00:00.000Z' });
    expect((await requestModel()).status).toBe(200);
    await retire('2020-01-01T00:00:00Z');
    expect((await lookUpModel()).status).toBe(404);
    const refusal = await requestModel();
    expect([refusal.status, await refusal.json()]).toMatchObject([
      404,
      { error: { code: 'model_not_available' } },
    ]);
    await retire('2020-01-01T00:00:00Z', 'sim-small');
    expect((await requestModel()).status).toBe(200);
    expect((await lookUpModel()).status).toBe(200);
    await retire(null);
    expect(await (await lookUpModel()).json()).toMatchObject({ retires_at: null });
  });

  test('key sees only its allowed models', async () => {
    const createResponse = await fetch(`${app.url}/v1/manage/keys`, {
      method: 'POST',
      headers: { ...bearer(app.firstKeys?.root), 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'narrow', allowed_models: ['sim-8k'], user: undefined }),
    });
    expect(createResponse.status).toBe(200);
    const { key } = (await createResponse.json()) as { key: string };
    const page = (await (await get('/v1/models', bearer(key))).json()) as ListedModelsPage;
    expect(page.data.map(({ id }) => id)).toEqual(['sim-8k']);
    expect((await get('/v1/models/sim-small', bearer(key))).status).toBe(404);
    expect((await get('/v1/models/sim-8k', bearer(key))).status).toBe(200);
  });

  describe('Model auto in the list', () => {
    const createKey = async (fields: object): Promise<string> => {
      const createResponse = await post('/v1/manage/keys', { name: 'auto', ...fields }, app.firstKeys?.root);
      return ((await createResponse.json()) as { key: string }).key;
    };
    const changeSettings = (change: AutoSettingsChange) =>
      app.application.get(AutoSettingsStore, { strict: false }).set({ level: 'platform' }, change, {
        label: 'test',
        concerns: {},
        actor: { kind: 'system', label: 'test' },
      });
    const listModels = async (key = app.firstKeys?.demo): Promise<string[]> =>
      ((await (await get('/v1/models', bearer(key))).json()) as ListedModelsPage).data.map(({ id }) => id);
    const lookUpAuto = async (key = app.firstKeys?.demo): Promise<number> =>
      (await get('/v1/models/auto', bearer(key))).status;
    const requestAuto = async (key = app.firstKeys?.demo): Promise<number> => {
      const messages = [{ role: 'user', content: 'Hello' }];
      return (await post('/v1/messages', { model: 'auto', max_tokens: 9, messages }, key)).status;
    };

    test('auto is last in the list, has no price, and combines the capabilities of its candidates', async () => {
      const page = (await (await get('/v1/models', bearer(app.firstKeys?.demo))).json()) as {
        data: { id: string; kind: string; capabilities: string[]; context_tokens: number | null }[];
      };
      const chatModels = page.data.filter(({ id, kind }) => kind === 'chat' && id !== 'auto');
      const auto = page.data.at(-1);
      expect(auto).toMatchObject({
        id: 'auto',
        object: 'model',
        type: 'model',
        owned_by: 'switchboard',
        created: expect.any(Number),
        created_at: expect.any(String),
        display_name: 'auto',
        kind: 'chat',
        context_tokens: Math.max(...chatModels.map(({ context_tokens: most }) => most ?? 0)),
        retires_at: null,
        price: null,
      });
      const combinedCapabilities = new Set(chatModels.flatMap(({ capabilities }) => capabilities));
      expect([...(auto?.capabilities ?? [])].sort()).toEqual([...combinedCapabilities].sort());
      const autoResponse = await get('/v1/models/auto', { 'x-api-key': app.firstKeys?.demo ?? '' });
      expect([autoResponse.status, await autoResponse.json()]).toEqual([200, auto]);
      expect(await requestAuto()).toBe(200);
    });

    test('auto is hidden from a key that does not list it', async () => {
      const keyWithoutAuto = await createKey({ allowed_models: ['sim-8k', 'sim-small'] });
      expect([await listModels(keyWithoutAuto), await lookUpAuto(keyWithoutAuto)]).toEqual([
        ['sim-small', 'sim-8k'],
        404,
      ]);
      const keyWithAuto = await createKey({ allowed_models: ['auto', 'sim-8k'] });
      expect([await listModels(keyWithAuto), await lookUpAuto(keyWithAuto)]).toEqual([
        ['sim-8k', 'auto'],
        200,
      ]);
      const autoOnlyKey = await createKey({ allowed_models: ['auto'] });
      expect([await listModels(autoOnlyKey), await lookUpAuto(autoOnlyKey)]).toEqual([['auto'], 200]);
      expect(await requestAuto(autoOnlyKey)).toBe(200);
    });

    test('auto is listed only if the key has a candidate', async () => {
      await declareRegions(app.database, 'nowhere');
      const otherRegionKey = await createKey({ allowed_regions: ['nowhere'] });
      expect([await listModels(otherRegionKey), await lookUpAuto(otherRegionKey)]).toEqual([[], 404]);
      const embeddingKey = await createKey({ allowed_models: ['auto', 'sim-embed'] });
      expect([await listModels(embeddingKey), await lookUpAuto(embeddingKey)]).toEqual([['sim-embed'], 404]);
    });

    test('auto in the list follows its settings', async () => {
      await changeSettings({ mode: 'off' });
      expect(await listModels()).not.toContain('auto');
      expect([await lookUpAuto(), await requestAuto()]).toEqual([404, 503]);
      await changeSettings({ mode: 'off', fallback_model: 'sim-8k' });
      expect((await listModels()).at(-1)).toBe('auto');
      const autoResponse = await get('/v1/models/auto', bearer(app.firstKeys?.demo));
      expect(await autoResponse.json()).toMatchObject({ context_tokens: 8_000 });
      expect(await requestAuto()).toBe(200);
      const restrictedKey = await createKey({ allowed_models: ['auto', 'sim-small'] });
      expect(await listModels(restrictedKey)).toEqual(['sim-small']);
      await changeSettings({ mode: null, fallback_model: null, include: ['none-of-them'] });
      expect([await lookUpAuto(), await requestAuto()]).toEqual([404, 400]);
      await changeSettings({ include: null });
      expect([await lookUpAuto(), await requestAuto()]).toEqual([200, 200]);
    });

    test('catalogue model named auto replaces the automatic one', async () => {
      await app.database.query(`UPDATE model SET name = 'auto' WHERE name = 'sim-reason'`);
      await app.application.get(CatalogueService, { strict: false }).reload();
      expect((await listModels()).filter((id) => id === 'auto')).toHaveLength(1);
      const autoResponse = await get('/v1/models/auto', bearer(app.firstKeys?.demo));
      expect(await autoResponse.json()).toMatchObject({ owned_by: 'sandbox', price: { currency: 'USD' } });
      await app.database.query(`UPDATE model SET name = 'sim-reason' WHERE name = 'auto'`);
      await app.application.get(CatalogueService, { strict: false }).reload();
    });
  });

  test('HEAD /api/hello returns 200 without a key', async () => {
    const answer = await fetch(`${app.url}/api/hello`, { method: 'HEAD' });
    expect(answer.status).toBe(200);
  });
});
