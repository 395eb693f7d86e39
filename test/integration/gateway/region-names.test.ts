import { CatalogueService } from '#product/catalogue';
import { addCustomer } from '../../support/customer';
import { startTestApp, type TestApp } from '../../support/app';
import { type Simulator, startSimulator } from '../../support/simulator';
import { ModelShelf } from './model-shelf';

describe('a region in any spelling', () => {
  let app: TestApp;
  let supplier: Simulator;
  let open: string;
  let european: string;

  beforeAll(async () => {
    supplier = await startSimulator();
    app = await startTestApp({ sandboxUrl: supplier.url });
    const shelf = new ModelShelf(app);
    await shelf.provider({
      name: 'anywhere',
      baseUrl: supplier.url,
      style: 'openai-style',
      regions: ['EU ', 'Us'],
      credentials: [{ label: 'key', secret: 'sim-key', kind: 'bearer' }],
    });
    await shelf.model('both', [
      { provider: 'anywhere', region: ' EU' },
      { provider: 'anywhere', region: 'US' },
    ]);
    ({ key: open } = await addCustomer(app, 'open', 10n ** 12n));
    ({ key: european } = await addCustomer(app, 'european', 10n ** 12n, { allowedRegions: ['Eu'] }));
  });
  afterAll(async () => {
    await app.close();
    await supplier.stop();
  });

  const ask = (key: string, path: string, body: object): Promise<Response> =>
    fetch(`${app.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ max_tokens: 50, messages: [{ role: 'user', content: 'x' }], ...body }),
    });
  const paths = ['/v1/chat/completions', '/v1/messages'] as const;

  test.each(paths)('%s: of call, lane, supplier and key is the same region', async (path) => {
    for (const region of ['eu', 'EU', ' Eu ']) {
      for (const key of [open, european]) {
        const answer = await ask(key, path, { model: 'both', region });
        expect([answer.status, answer.headers.get('x-svc-region')]).toEqual([200, 'eu']);
      }
    }
    expect((await ask(open, path, { model: 'both', region: 'US' })).headers.get('x-svc-region')).toBe('us');
  });

  test('of rows from before counts as well', async () => {
    await app.database.query(`UPDATE lane SET region = upper(region) WHERE region IN ('eu', 'us')`);
    await app.database.query(`UPDATE api_key SET allowed_regions = '{EU}' WHERE allowed_regions = '{eu}'`);
    await app.application.get(CatalogueService).reload();
    const answer = await ask(european, paths[0], { model: 'both' });
    expect([answer.status, answer.headers.get('x-svc-region')]).toEqual([200, 'eu']);
  });

  test.each(paths)('%s: a region that no lane has is the caller’s mistake', async (path) => {
    for (const model of ['both', 'auto', 'sim-small']) {
      const answer = await ask(open, path, { model, region: 'Mars' });
      const { error } = (await answer.json()) as { error: Record<string, unknown> };
      expect([model, answer.status, error]).toMatchObject([
        model,
        400,
        { code: 'invalid_request', param: 'region' },
      ]);
    }
    const blank = await ask(open, path, { model: 'both', region: '  ' });
    expect([blank.status, await blank.json()]).toMatchObject([400, { error: { param: 'region' } }]);
  });

  test.each(paths)(
    '%s: a region that the key excludes stays refused when it is asked again',
    async (path) => {
      for (const [key, body] of [
        [european, { model: 'both', region: 'us' }],
        [european, { model: 'sim-small' }],
        [open, { model: 'sim-small', region: 'eu' }],
      ] as const) {
        const answer = await ask(key, path, body);
        expect([
          answer.status,
          answer.headers.get('retry-after'),
          answer.headers.get('x-should-retry'),
          await answer.json(),
        ]).toMatchObject([
          503,
          null,
          'false',
          { error: { code: 'sovereign_route_unavailable', retryable: false } },
        ]);
      }
    },
  );
});
