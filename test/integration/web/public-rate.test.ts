import { startTestApp, type TestApp } from '../../support/app';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';
import { redisAvailable, type RedisServer, startRedis } from '../../system/redis-server';
import { addKey, addUser } from '../../support/people';

const get = (
  app: TestApp,
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<Response> => fetch(app.url + path, { method, headers });

const statusesOf = async (answers: readonly Promise<Response>[]): Promise<number[]> =>
  (await Promise.all(answers)).map(({ status }) => status).sort();

describe.each(['true', 'false'])('requests of nobody in particular, with LEAN_ADAPTER=%s', (lean) => {
  let app: TestApp;

  beforeAll(async () => {
    const environment = { PUBLIC_REQUESTS_PER_MINUTE: '4', LEAN_ADAPTER: lean };
    app = await startTestApp({ environment });
  });
  afterAll(() => app.close());

  const from = (address: string): Record<string, string> => ({ 'x-forwarded-for': address });

  test('are limited by address, whatever they ask for', async () => {
    const burst = ['/v1/errors', '/', '/v1/errors/not_found', '/v1/errors', '/v1/errors', '/'];
    const statuses = await statusesOf(burst.map((path) => get(app, path, from('203.0.113.1'))));
    expect(statuses).toEqual([200, 200, 200, 200, 429, 429]);
    const refused = await get(app, '/v1/errors', from('203.0.113.1'));
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(50);
    expect(await refused.json()).toMatchObject({ error: { code: 'rate_limit_exceeded' } });
    const page = await get(app, '/', { ...from('203.0.113.1'), accept: 'text/html' });
    expect(page.status).toBe(429);
    expect(page.headers.get('content-type')).toContain('text/html');
    expect((await get(app, '/v1/errors', from('203.0.113.2'))).status).toBe(200);
  });

  test('count by network, and not by what an untrusted address says of another', async () => {
    const network = '2001:db8:7:8';
    const addresses = ['1', '2', '3', '4', '5'].map((last) => `${network}::${last}`);
    const statuses = await statusesOf(addresses.map((address) => get(app, '/v1/errors', from(address))));
    expect(statuses).toEqual([200, 200, 200, 200, 429]);
    expect((await get(app, '/v1/errors', from(`198.51.100.7, ${network}::9`))).status).toBe(429);
  });

  test('a refused sign-in counts once, with the page that shows its form again', async () => {
    const body = new URLSearchParams({ email: 'a@example.com', password: 'not the password' });
    const headers = { ...from('203.0.113.4'), accept: 'text/html', 'sec-fetch-site': 'same-origin' };
    const statuses: number[] = [];
    for (let count = 0; count < 5; count += 1)
      statuses.push((await fetch(`${app.url}/auth/login`, { method: 'POST', headers, body })).status);
    expect(statuses).toEqual([401, 401, 401, 401, 429]);
  });

  test('leave probes, assets and callers with a key alone', async () => {
    const who = from('203.0.113.3');
    await statusesOf(Array.from({ length: 5 }, () => get(app, '/v1/errors', who)));
    expect((await get(app, '/v1/errors', who)).status).toBe(429);
    for (const path of ['/health', '/health/live', '/health/ready', '/assets/app.css']) {
      expect((await get(app, path, who)).status).toBe(200);
    }
    expect((await get(app, '/api/hello', who, 'HEAD')).status).toBe(200);
    const { text } = await addKey(app, await addUser(app));
    expect((await get(app, '/v1/key', { ...who, authorization: `Bearer ${text}` })).status).toBe(200);
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

  test('the count is one over both', async () => {
    const asked = Array.from({ length: 12 }, (_, place) => get(nodes[place % 2] as TestApp, '/v1/errors'));
    expect((await statusesOf(asked)).filter((status) => status === 200)).toHaveLength(5);
  });
});
