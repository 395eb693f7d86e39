import { startSimulator, type Simulator } from '../../../support/simulator';
import { startTestApp, type TestApp } from '../../../support/app';
import { TestCatalogue } from '../test-catalogue';

describe('Unreachable suppliers', () => {
  let app: TestApp;
  let supplier: Simulator;
  let catalogue: TestCatalogue;

  beforeAll(async () => {
    supplier = await startSimulator({ lanes: [{ name: 'closed', region: 'eu' }] });
    app = await startTestApp({
      sandboxUrl: supplier.url,
      // The connect timeout is long, so that only an immediate refusal can pass the test.
      environment: { SUPPLIER_ALLOW: '127.0.0.1', SUPPLIER_CONNECT_TIMEOUT: '60s' },
    });
    catalogue = new TestCatalogue(app);
    await supplier.addFault({ match: { lane: 'closed' }, fault: { kind: 'refuse' } });
    const closedUrl = supplier.lanes.find(({ name }) => name === 'closed')?.url ?? '';
    const addresses = {
      well: supplier.url,
      refusing: closedUrl,
      // Serves HTTP although TLS is expected.
      'without-tls': supplier.url.replace('http:', 'https:'),
    };
    for (const [name, baseUrl] of Object.entries(addresses)) {
      const credentials = [{ label: 'one', kind: 'bearer', secret: 'sim-test' }] as const;
      await catalogue.provider({ name, style: 'openai-style', baseUrl, credentials });
    }
  });
  afterAll(async () => {
    await app.close();
    await supplier.stop();
  });

  const sendRequest = (model: string): Promise<Response> =>
    fetch(`${app.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.firstKeys?.demo}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, max_tokens: 5, messages: [{ role: 'user', content: 'Hello' }] }),
    });

  test.each(['refusing', 'without-tls'])('%s supplier fails over to the next lane', async (provider) => {
    await catalogue.model(`behind-${provider}`, [{ provider }, { provider: 'well', priority: 1 }]);
    const answer = await sendRequest(`behind-${provider}`);
    expect([answer.status, answer.headers.get('x-svc-failover')]).toEqual([200, 'true']);
    expect(answer.headers.get('x-svc-supplier')).toBe('well');
    await answer.json();
    const rows = await app.database.query<{ attempts: { outcome: string }[] }>(
      'SELECT attempts FROM request_record WHERE request_id = $1',
      [answer.headers.get('x-request-id')],
    );
    expect(rows[0]?.attempts.map(({ outcome }) => outcome)).toEqual(['upstream_unavailable', 'answered']);
  });

  test.each(['refusing', 'without-tls'])(
    '%s supplier without a backup returns 503 immediately and charges nothing',
    async (provider) => {
      await catalogue.model(`only-${provider}`, [{ provider }]);
      const startedAt = performance.now();
      const answer = await sendRequest(`only-${provider}`);
      expect([answer.status, await answer.json()]).toMatchObject([
        503,
        { error: { code: 'upstream_unavailable' } },
      ]);
      expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
      expect(performance.now() - startedAt).toBeLessThan(30_000);
      const rows = await app.database.query<{ cost_nano: string }>(
        'SELECT cost_nano FROM request_record WHERE request_id = $1',
        [answer.headers.get('x-request-id')],
      );
      expect(rows.map(({ cost_nano: cost }) => cost)).toEqual(['0']);
    },
  );
});
