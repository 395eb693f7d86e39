import { CatalogueService } from '../../../src/catalogue';
import { app, closeHouse, openHouse } from './gateway-house';

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

  test('a look without a key finds somebody there', async () => {
    const answer = await fetch(`${app.url}/api/hello`, { method: 'HEAD' });
    expect(answer.status).toBe(200);
  });
});
