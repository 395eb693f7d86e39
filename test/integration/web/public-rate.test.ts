import { startTestApp, type TestApp } from '../../support/app';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';
import { redisAvailable, type RedisServer, startRedis } from '../../system/redis-server';
import { addKey, addUser } from '../../support/users';

const get = (
  app: TestApp,
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<Response> => fetch(app.url + path, { method, headers });

const statusesOf = async (answers: readonly Promise<Response>[]): Promise<number[]> =>
  (await Promise.all(answers)).map(({ status }) => status).sort();

describe.each(['true', 'false'])('Anonymous requests, with LEAN_ADAPTER=%s', (lean) => {
  let app: TestApp;

  beforeAll(async () => {
    const environment = { PUBLIC_REQUESTS_PER_MINUTE: '4', LEAN_ADAPTER: lean };
    app = await startTestApp({ environment });
  });
  afterAll(() => app.close());

  const forwardedFrom = (address: string): Record<string, string> => ({ 'x-forwarded-for': address });

  test('are limited per address across all paths', async () => {
    const burst = ['/v1/errors', '/', '/v1/errors/not_found', '/v1/errors', '/v1/errors', '/'];
    const statuses = await statusesOf(burst.map((path) => get(app, path, forwardedFrom('203.0.113.1'))));
    expect(statuses).toEqual([200, 200, 200, 200, 429, 429]);
    const refusal = await get(app, '/v1/errors', forwardedFrom('203.0.113.1'));
    expect(refusal.status).toBe(429);
    expect(Number(refusal.headers.get('retry-after'))).toBeGreaterThan(50);
    expect(await refusal.json()).toMatchObject({ error: { code: 'rate_limit_exceeded' } });
    const page = await get(app, '/', { ...forwardedFrom('203.0.113.1'), accept: 'text/html' });
    expect(page.status).toBe(429);
    expect(page.headers.get('content-type')).toContain('text/html');
    expect((await get(app, '/v1/errors', forwardedFrom('203.0.113.2'))).status).toBe(200);
  });

  test('are counted per network, ignoring forwarded addresses from untrusted peers', async () => {
    const network = '2001:db8:7:8';
    const addresses = ['1', '2', '3', '4', '5'].map((last) => `${network}::${last}`);
    const statuses = await statusesOf(
      addresses.map((address) => get(app, '/v1/errors', forwardedFrom(address))),
    );
    expect(statuses).toEqual([200, 200, 200, 200, 429]);
    expect((await get(app, '/v1/errors', forwardedFrom(`198.51.100.7, ${network}::9`))).status).toBe(429);
  });

  test('count a rejected sign-in once, together with the page that shows its form again', async () => {
    const body = new URLSearchParams({ email: 'a@example.com', password: 'not the password' });
    const headers = { ...forwardedFrom('203.0.113.4'), accept: 'text/html', 'sec-fetch-site': 'same-origin' };
    const statuses: number[] = [];
    for (let count = 0; count < 5; count += 1)
      statuses.push((await fetch(`${app.url}/auth/login`, { method: 'POST', headers, body })).status);
    expect(statuses).toEqual([401, 401, 401, 401, 429]);
  });

  test('are not limited for health checks, assets and requests with a key', async () => {
    const forwarded = forwardedFrom('203.0.113.3');
    await statusesOf(Array.from({ length: 5 }, () => get(app, '/v1/errors', forwarded)));
    expect((await get(app, '/v1/errors', forwarded)).status).toBe(429);
    for (const path of ['/health', '/health/live', '/health/ready', '/assets/app.css']) {
      expect((await get(app, path, forwarded)).status).toBe(200);
    }
    expect((await get(app, '/api/hello', forwarded, 'HEAD')).status).toBe(200);
    const { text } = await addKey(app, await addUser(app));
    expect((await get(app, '/v1/key', { ...forwarded, authorization: `Bearer ${text}` })).status).toBe(200);
  });
});

(redisAvailable ? describe : describe.skip)('over two nodes with Redis', () => {
  let redis: RedisServer;
  let database: TestDatabase;
  let nodes: TestApp[];

  beforeAll(async () => {
    redis = await startRedis();
    database = await createTestDatabase();
    const environment = {
      REDIS_URL: redis.url,
      REDIS_ANSWER_TIMEOUT: '2s',
      PUBLIC_REQUESTS_PER_MINUTE: '5',
      WORKERS: 'off',
    };
    const options = { sharedDatabase: database, environment };
    nodes = [await startTestApp(options), await startTestApp(options)];
  });
  afterAll(async () => {
    for (const node of nodes) await node.close();
    await redis.stop();
    await database.drop();
  });

  test('the limit is shared by both nodes', async () => {
    const responses = Array.from({ length: 12 }, (_, index) =>
      get(nodes[index % 2] as TestApp, '/v1/errors'),
    );
    expect((await statusesOf(responses)).filter((status) => status === 200)).toHaveLength(5);
  });
});
