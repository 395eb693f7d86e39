import { CatalogueService } from '#product/catalogue';
import { type AutoSettingsChange, AutoSettingsStore } from '#product/autorouter';
import { declareRegions } from '../../support/regions';
import { app, closeHouse, openHouse, post } from './gateway-house';

interface ModelPage {
  readonly object: string;
  readonly data: readonly { readonly id: string; readonly object: string; readonly type: string }[];
  readonly has_more: boolean;
  readonly first_id: string | null;
  readonly last_id: string | null;
}

describe('the models a key may call', () => {
  beforeAll(openHouse);
  afterAll(closeHouse);

  const get = (path: string, headers: Record<string, string>): Promise<Response> =>
    fetch(`${app.url}${path}`, { headers });
  const bearer = (key: string | undefined): Record<string, string> => ({ authorization: `Bearer ${key}` });

  test('are listed in an envelope that both families of SDKs read, with either header', async () => {
    const answer = await get('/v1/models', bearer(app.firstKeys?.demo));
    const page = (await answer.json()) as ModelPage;
    expect(page).toMatchObject({ object: 'list', has_more: false, first_id: page.data[0]?.id });
    expect(page.data).toContainEqual(
      expect.objectContaining({ id: 'sim-small', object: 'model', type: 'model', owned_by: 'sandbox' }),
    );
    const other = await get('/v1/models?limit=1000', { 'x-api-key': app.firstKeys?.demo ?? '' });
    expect(await other.json()).toEqual(page);
  });

  // Issue: "GET /v1/models/{unknown} answers Anthropic callers in OpenAI's form".
  test('an unknown one is 404 in the form of the caller', async () => {
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

  test('come in pages', async () => {
    const key = bearer(app.firstKeys?.demo);
    const seen: string[] = [];
    let after = '';
    for (let page = 0; page < 10; page += 1) {
      const body = (await (await get(`/v1/models?limit=3${after}`, key)).json()) as ModelPage;
      seen.push(...body.data.map(({ id }) => id));
      if (!body.has_more) break;
      after = `&after_id=${body.last_id}`;
    }
    const whole = (await (await get('/v1/models', key)).json()) as ModelPage;
    expect(seen).toEqual(whole.data.map(({ id }) => id));
    expect((await get('/v1/models?limit=0', key)).status).toBe(400);
  });

  test('say when they retire, and are gone from then on', async () => {
    const key = bearer(app.firstKeys?.demo);
    const retire = async (at: string | null, redirect: string | null = null) => {
      await app.database.query(
        `UPDATE model SET retires_at = $1, redirect_to = (SELECT id FROM model WHERE name = $2) WHERE name = 'sim-reason'`,
        [at, redirect],
      );
      await app.application.get(CatalogueService, { strict: false }).reload();
    };
    const found = () => get('/v1/models/sim-reason', key);
    const ask = () =>
      fetch(`${app.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { ...key, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'sim-reason', messages: [{ role: 'user', content: 'Hello' }] }),
      });
    await retire('2099-01-01T00:00:00Z');
    expect(await (await found()).json()).toMatchObject({ retires_at: '2099-01-01T00:00:00.000Z' });
    expect((await ask()).status).toBe(200);
    await retire('2020-01-01T00:00:00Z');
    expect((await found()).status).toBe(404);
    const refused = await ask();
    expect([refused.status, await refused.json()]).toMatchObject([
      404,
      { error: { code: 'model_not_available' } },
    ]);
    await retire('2020-01-01T00:00:00Z', 'sim-small');
    expect((await ask()).status).toBe(200);
    expect((await found()).status).toBe(200);
    await retire(null);
    expect(await (await found()).json()).toMatchObject({ retires_at: null });
  });

  test('are those on its list, and no others exist for it', async () => {
    const created = await fetch(`${app.url}/v1/manage/keys`, {
      method: 'POST',
      headers: { ...bearer(app.firstKeys?.root), 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'narrow', allowed_models: ['sim-8k'], user: undefined }),
    });
    expect(created.status).toBe(200);
    const { key } = (await created.json()) as { key: string };
    const page = (await (await get('/v1/models', bearer(key))).json()) as ModelPage;
    expect(page.data.map(({ id }) => id)).toEqual(['sim-8k']);
    expect((await get('/v1/models/sim-small', bearer(key))).status).toBe(404);
    expect((await get('/v1/models/sim-8k', bearer(key))).status).toBe(200);
  });

  describe('auto', () => {
    const makeKey = async (fields: object): Promise<string> => {
      const made = await post('/v1/manage/keys', { name: 'auto', ...fields }, app.firstKeys?.root);
      return ((await made.json()) as { key: string }).key;
    };
    const set = (change: AutoSettingsChange) =>
      app.application.get(AutoSettingsStore, { strict: false }).set({ level: 'platform' }, change, {
        label: 'test',
        concerns: {},
        actor: { kind: 'system', label: 'test' },
      });
    const listed = async (key = app.firstKeys?.demo): Promise<string[]> =>
      ((await (await get('/v1/models', bearer(key))).json()) as ModelPage).data.map(({ id }) => id);
    const found = async (key = app.firstKeys?.demo): Promise<number> =>
      (await get('/v1/models/auto', bearer(key))).status;
    const answered = async (key = app.firstKeys?.demo): Promise<number> => {
      const messages = [{ role: 'user', content: 'Hello' }];
      return (await post('/v1/messages', { model: 'auto', max_tokens: 9, messages }, key)).status;
    };

    test('is the last of the list, has no price, and can do what one of its candidates can', async () => {
      const page = (await (await get('/v1/models', bearer(app.firstKeys?.demo))).json()) as {
        data: { id: string; kind: string; capabilities: string[]; context_tokens: number | null }[];
      };
      const chats = page.data.filter(({ id, kind }) => kind === 'chat' && id !== 'auto');
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
        context_tokens: Math.max(...chats.map(({ context_tokens: most }) => most ?? 0)),
        retires_at: null,
        price: null,
      });
      const able = new Set(chats.flatMap(({ capabilities }) => capabilities));
      expect([...(auto?.capabilities ?? [])].sort()).toEqual([...able].sort());
      const one = await get('/v1/models/auto', { 'x-api-key': app.firstKeys?.demo ?? '' });
      expect([one.status, await one.json()]).toEqual([200, auto]);
      expect(await answered()).toBe(200);
    });

    test('is not shown to a key whose list does not name it', async () => {
      const without = await makeKey({ allowed_models: ['sim-8k', 'sim-small'] });
      expect([await listed(without), await found(without)]).toEqual([['sim-small', 'sim-8k'], 404]);
      const beside = await makeKey({ allowed_models: ['auto', 'sim-8k'] });
      expect([await listed(beside), await found(beside)]).toEqual([['sim-8k', 'auto'], 200]);
      const alone = await makeKey({ allowed_models: ['auto'] });
      expect([await listed(alone), await found(alone)]).toEqual([['auto'], 200]);
      expect(await answered(alone)).toBe(200);
    });

    test('is shown only where a model can be chosen', async () => {
      await declareRegions(app.database, 'nowhere');
      const abroad = await makeKey({ allowed_regions: ['nowhere'] });
      expect([await listed(abroad), await found(abroad)]).toEqual([[], 404]);
      const embedder = await makeKey({ allowed_models: ['auto', 'sim-embed'] });
      expect([await listed(embedder), await found(embedder)]).toEqual([['sim-embed'], 404]);
    });

    test('follows the settings of auto', async () => {
      await set({ mode: 'off' });
      expect(await listed()).not.toContain('auto');
      expect([await found(), await answered()]).toEqual([404, 503]);
      await set({ mode: 'off', fallback_model: 'sim-8k' });
      expect((await listed()).at(-1)).toBe('auto');
      const one = await get('/v1/models/auto', bearer(app.firstKeys?.demo));
      expect(await one.json()).toMatchObject({ context_tokens: 8_000 });
      expect(await answered()).toBe(200);
      const narrow = await makeKey({ allowed_models: ['auto', 'sim-small'] });
      expect(await listed(narrow)).toEqual(['sim-small']);
      await set({ mode: null, fallback_model: null, include: ['none-of-them'] });
      expect([await found(), await answered()]).toEqual([404, 400]);
      await set({ include: null });
      expect([await found(), await answered()]).toEqual([200, 200]);
    });

    test('that stands in the catalogue is that model alone', async () => {
      await app.database.query(`UPDATE model SET name = 'auto' WHERE name = 'sim-reason'`);
      await app.application.get(CatalogueService, { strict: false }).reload();
      expect((await listed()).filter((id) => id === 'auto')).toHaveLength(1);
      const one = await get('/v1/models/auto', bearer(app.firstKeys?.demo));
      expect(await one.json()).toMatchObject({ owned_by: 'sandbox', price: { currency: 'USD' } });
      await app.database.query(`UPDATE model SET name = 'sim-reason' WHERE name = 'auto'`);
      await app.application.get(CatalogueService, { strict: false }).reload();
    });
  });

  test('a look without a key finds somebody there', async () => {
    const answer = await fetch(`${app.url}/api/hello`, { method: 'HEAD' });
    expect(answer.status).toBe(200);
  });
});
