import { CatalogueService } from '#product/catalogue';
import { addCustomer } from '../../support/customer';
import { startTestApp, type TestApp } from '../../support/app';
import { type Simulator, startSimulator } from '../../support/simulator';
import { TestCatalogue } from './test-catalogue';

describe('Region names in any case', () => {
  let app: TestApp;
  let supplier: Simulator;
  let openKey: string;
  let europeanKey: string;

  beforeAll(async () => {
    supplier = await startSimulator();
    app = await startTestApp({ sandboxUrl: supplier.url });
    const catalogue = new TestCatalogue(app);
    await catalogue.provider({
      name: 'anywhere',
      baseUrl: supplier.url,
      style: 'openai-style',
      regions: ['EU ', 'Us'],
      credentials: [{ label: 'key', secret: 'sim-key', kind: 'bearer' }],
    });
    await catalogue.model('both', [
      { provider: 'anywhere', region: ' EU' },
      { provider: 'anywhere', region: 'US' },
    ]);
    ({ key: openKey } = await addCustomer(app, 'open', 10n ** 12n));
    ({ key: europeanKey } = await addCustomer(app, 'european', 10n ** 12n, { allowedRegions: ['Eu'] }));
  });
  afterAll(async () => {
    await app.close();
    await supplier.stop();
  });

  const sendRequest = (key: string, path: string, body: object): Promise<Response> =>
    fetch(`${app.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ max_tokens: 50, messages: [{ role: 'user', content: 'x' }], ...body }),
    });
  const paths = ['/v1/chat/completions', '/v1/messages'] as const;

  test.each(paths)('%s treats every spelling of a region as the same', async (path) => {
    for (const region of ['eu', 'EU', ' Eu ']) {
      for (const key of [openKey, europeanKey]) {
        const answer = await sendRequest(key, path, { model: 'both', region });
        expect([answer.status, answer.headers.get('x-svc-region')]).toEqual([200, 'eu']);
      }
    }
    expect(
      (await sendRequest(openKey, path, { model: 'both', region: 'US' })).headers.get('x-svc-region'),
    ).toBe('us');
  });

  test('regions stored in upper case by older versions still match', async () => {
    await app.database.query(`UPDATE lane SET region = upper(region) WHERE region IN ('eu', 'us')`);
    await app.database.query(`UPDATE api_key SET allowed_regions = '{EU}' WHERE allowed_regions = '{eu}'`);
    await app.application.get(CatalogueService).reload();
    const answer = await sendRequest(europeanKey, paths[0], { model: 'both' });
    expect([answer.status, answer.headers.get('x-svc-region')]).toEqual([200, 'eu']);
  });

  test.each(paths)('%s returns 400 for a region that no lane has', async (path) => {
    for (const model of ['both', 'auto', 'sim-small']) {
      const answer = await sendRequest(openKey, path, { model, region: 'Mars' });
      const { error } = (await answer.json()) as { error: Record<string, unknown> };
      expect([model, answer.status, error]).toMatchObject([
        model,
        400,
        { code: 'invalid_request', param: 'region' },
      ]);
    }
    const blankRegion = await sendRequest(openKey, path, { model: 'both', region: '  ' });
    expect([blankRegion.status, await blankRegion.json()]).toMatchObject([
      400,
      { error: { param: 'region' } },
    ]);
  });

  test.each(paths)('%s refuses a region that the key excludes as not retryable', async (path) => {
    for (const [key, body] of [
      [europeanKey, { model: 'both', region: 'us' }],
      [europeanKey, { model: 'sim-small' }],
      [openKey, { model: 'sim-small', region: 'eu' }],
    ] as const) {
      const answer = await sendRequest(key, path, body);
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
  });
});
