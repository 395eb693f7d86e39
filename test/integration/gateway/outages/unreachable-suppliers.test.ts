import { startSimulator, type Simulator } from '../../../support/simulator';
import { startTestApp, type TestApp } from '../../../support/app';
import { ModelShelf } from '../model-shelf';

/** A supplier that no call gets through to, before one that answers. */
describe('a supplier that cannot be spoken to', () => {
  let app: TestApp;
  let supplier: Simulator;
  let shelf: ModelShelf;

  beforeAll(async () => {
    supplier = await startSimulator({ lanes: [{ name: 'closed', region: 'eu' }] });
    app = await startTestApp({
      sandboxUrl: supplier.url,
      // A minute that nothing here takes: a refusal is heard, and not waited for.
      environment: { SUPPLIER_ALLOW: '127.0.0.1', SUPPLIER_CONNECT_TIMEOUT: '60s' },
    });
    shelf = new ModelShelf(app);
    await supplier.addFault({ match: { lane: 'closed' }, fault: { kind: 'refuse' } });
    const closed = supplier.lanes.find(({ name }) => name === 'closed')?.url ?? '';
    const addresses = {
      well: supplier.url,
      refusing: closed,
      // Speaks HTTP where TLS is expected.
      'without-tls': supplier.url.replace('http:', 'https:'),
    };
    for (const [name, baseUrl] of Object.entries(addresses)) {
      const credentials = [{ label: 'one', kind: 'bearer', secret: 'sim-test' }] as const;
      await shelf.provider({ name, style: 'openai-style', baseUrl, credentials });
    }
  });
  afterAll(async () => {
    await app.close();
    await supplier.stop();
  });

  const ask = (model: string): Promise<Response> =>
    fetch(`${app.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.firstKeys?.demo}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, max_tokens: 5, messages: [{ role: 'user', content: 'Hello' }] }),
    });

  test.each(['refusing', 'without-tls'])('%s: the next one answers', async (provider) => {
    await shelf.model(`behind-${provider}`, [{ provider }, { provider: 'well', priority: 1 }]);
    const answer = await ask(`behind-${provider}`);
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
    '%s alone: 503, at once, and nothing is charged',
    async (provider) => {
      await shelf.model(`only-${provider}`, [{ provider }]);
      const startedAt = performance.now();
      const answer = await ask(`only-${provider}`);
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
