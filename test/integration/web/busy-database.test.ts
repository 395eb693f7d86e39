import { generateKey } from '#inside/keys/key-text';
import { startTestApp, type TestApp } from '../../support/app';
import { proxyTo, type Proxy } from '../../support/proxy';
import { administer, createTestDatabase, type TestDatabase } from '../../support/postgres';
import { startSimulator, type Simulator } from '../../support/simulator';
import { ask } from './raw-exchange';
import { until } from '../../support/until';

const POOL = 3;

describe('a database that is there and does not answer', () => {
  let database: TestDatabase;
  let proxy: Proxy;
  let app: TestApp;
  let supplier: Simulator;
  let key: string;

  beforeAll(async () => {
    [database, supplier] = await Promise.all([createTestDatabase(), startSimulator()]);
    proxy = await proxyTo(database.url);
    app = await startTestApp({
      sandboxUrl: supplier.url,
      environment: {
        DATABASE_URL: proxy.url,
        MIGRATION_DATABASE_URL: database.ownerUrl,
        DATABASE_POOL_SIZE: String(POOL),
        SETTLE_ACK: 'journal',
      },
    });
    key = app.firstKeys?.demo ?? '';
  });
  afterAll(async () => {
    await proxy.restore().catch(() => undefined);
    await app.close();
    await proxy.close();
    await supplier.stop();
    await database.drop();
  });

  const check = async (path: string, text?: string) => {
    const startedAt = performance.now();
    const headers: Record<string, string> = text === undefined ? {} : { authorization: `Bearer ${text}` };
    const answer = await ask(app.url, { path, headers });
    const { error } = JSON.parse(answer.body) as { error?: { code?: string } };
    return {
      status: answer.status,
      code: error?.code,
      tookMs: performance.now() - startedAt,
      retryAfter: answer.headers['retry-after'],
    };
  };

  const chat = (): Promise<Response> =>
    fetch(`${app.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sim-small', max_tokens: 5, messages: [{ role: 'user', content: 'x' }] }),
    });

  test('every connection taken: who needs none is served, who needs one is told in time', async () => {
    expect((await chat()).status).toBe(200);
    const busy = Array.from({ length: POOL }, () => app.database.query('SELECT pg_sleep(60)').catch(String));
    expect((await chat()).status).toBe(200);
    expect(await check('/health')).toMatchObject({ status: 200 });
    const ready = await check('/health/ready');
    expect(ready).toMatchObject({ status: 503, code: 'service_unavailable' });
    const unknown = await check('/v1/models', generateKey().text);
    expect(unknown).toMatchObject({ status: 503, code: 'auth_unavailable', retryAfter: expect.any(String) });
    // Each is told while the connections are still taken.
    expect(Math.max(ready.tookMs, unknown.tookMs)).toBeLessThan(15_000);
    await administer(
      database.ownerUrl,
      `SELECT pg_cancel_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND query LIKE 'SELECT pg_sleep(60)%'`,
    );
    await Promise.all(busy);
    await until(async () => (await check('/health/ready')).status === 200);
  });

  test('a lock that nobody gives back is waited for no longer than a statement may take', async () => {
    const slow = app.database.transaction(async (tx) => {
      await tx.query("SET LOCAL statement_timeout = '200ms'");
      await tx.query('SELECT pg_sleep(5)');
    });
    await expect(slow).rejects.toMatchObject({ driverError: { code: '57014' } });
  });

  test('silent: the same, and everybody is back when it is', async () => {
    expect((await chat()).status).toBe(200);
    proxy.freeze();
    const unknown = await check('/v1/models', generateKey().text);
    expect(unknown).toMatchObject({ status: 503, code: 'auth_unavailable' });
    expect(unknown.tookMs).toBeLessThan(20_000);
    expect(await check('/health')).toMatchObject({ status: 200 });
    const ready = await check('/health/ready');
    expect(ready.status).toBe(503);
    expect(ready.tookMs).toBeLessThan(20_000);
    await proxy.cut();
    await proxy.restore();
    await until(async () => (await check('/health/ready')).status === 200);
    expect((await check('/v1/models', key)).status).toBe(200);
  });
});
