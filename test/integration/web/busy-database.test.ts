import { generateKey } from '#inside/keys/key-text';
import { startTestApp, type TestApp } from '../../support/app';
import { startDatabaseProxy, type DatabaseProxy } from '../../support/proxy';
import { administer, createTestDatabase, type TestDatabase } from '../../support/postgres';
import { startSimulator, type Simulator } from '../../support/simulator';
import { sendRaw } from './raw-exchange';
import { until } from '../../support/until';

const POOL_SIZE = 3;

describe('A database that accepts connections but does not respond', () => {
  let database: TestDatabase;
  let proxy: DatabaseProxy;
  let app: TestApp;
  let supplier: Simulator;
  let key: string;

  beforeAll(async () => {
    [database, supplier] = await Promise.all([createTestDatabase(), startSimulator()]);
    proxy = await startDatabaseProxy(database.url);
    app = await startTestApp({
      sandboxUrl: supplier.url,
      environment: {
        DATABASE_URL: proxy.url,
        MIGRATION_DATABASE_URL: database.ownerUrl,
        DATABASE_POOL_SIZE: String(POOL_SIZE),
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

  const timedRequest = async (path: string, text?: string) => {
    const startedAt = performance.now();
    const headers: Record<string, string> = text === undefined ? {} : { authorization: `Bearer ${text}` };
    const answer = await sendRaw(app.url, { path, headers });
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

  test('an exhausted pool delays no request without database access, and others fail within the time limit', async () => {
    expect((await chat()).status).toBe(200);
    const busyQueries = Array.from({ length: POOL_SIZE }, () =>
      app.database.query('SELECT pg_sleep(60)').catch(String),
    );
    expect((await chat()).status).toBe(200);
    expect(await timedRequest('/health')).toMatchObject({ status: 200 });
    const readiness = await timedRequest('/health/ready');
    expect(readiness).toMatchObject({ status: 503, code: 'service_unavailable' });
    const unknownKeyResponse = await timedRequest('/v1/models', generateKey().text);
    expect(unknownKeyResponse).toMatchObject({
      status: 503,
      code: 'auth_unavailable',
      retryAfter: expect.any(String),
    });
    // All responses must arrive while the connections are still in use.
    expect(Math.max(readiness.tookMs, unknownKeyResponse.tookMs)).toBeLessThan(15_000);
    await administer(
      database.ownerUrl,
      `SELECT pg_cancel_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND query LIKE 'SELECT pg_sleep(60)%'`,
    );
    await Promise.all(busyQueries);
    await until(async () => (await timedRequest('/health/ready')).status === 200);
  });

  test('a lock that is never released is waited for no longer than the statement timeout', async () => {
    const slowTransaction = app.database.transaction(async (tx) => {
      await tx.query("SET LOCAL statement_timeout = '200ms'");
      await tx.query('SELECT pg_sleep(5)');
    });
    await expect(slowTransaction).rejects.toMatchObject({ driverError: { code: '57014' } });
  });

  test('an unresponsive database has the same effect, and service recovers afterwards', async () => {
    expect((await chat()).status).toBe(200);
    proxy.freeze();
    const unknownKeyResponse = await timedRequest('/v1/models', generateKey().text);
    expect(unknownKeyResponse).toMatchObject({ status: 503, code: 'auth_unavailable' });
    expect(unknownKeyResponse.tookMs).toBeLessThan(20_000);
    expect(await timedRequest('/health')).toMatchObject({ status: 200 });
    const readiness = await timedRequest('/health/ready');
    expect(readiness.status).toBe(503);
    expect(readiness.tookMs).toBeLessThan(20_000);
    await proxy.cut();
    await proxy.restore();
    await until(async () => (await timedRequest('/health/ready')).status === 200);
    expect((await timedRequest('/v1/models', key)).status).toBe(200);
  });
});
