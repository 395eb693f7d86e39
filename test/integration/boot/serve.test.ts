import { Settings } from '#product/platform';
import { startTestApp, type TestApp } from '../../support/app';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';
import { type Simulator, startSimulator } from '../../support/simulator';

const GATEWAY_URL = 'http://localhost:4001';

let database: TestDatabase;
let supplier: Simulator;
let gateway: TestApp;
let portal: TestApp;

beforeAll(async () => {
  [database, supplier] = await Promise.all([createTestDatabase(), startSimulator()]);
  const start = (SERVE: string): Promise<TestApp> =>
    startTestApp({
      environment: { SERVE, GATEWAY_URL },
      sandboxUrl: supplier.url,
      sharedDatabase: database,
    });
  gateway = await start('gateway');
  portal = await start('portal');
});
afterAll(async () => {
  await gateway.close();
  await portal.close();
  await supplier.stop();
  await database.drop();
});

const key = (): string => gateway.firstKeys?.demo ?? '';
const get = (app: TestApp, path: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(app.url + path, { headers, redirect: 'manual' });
const chat = (app: TestApp): Promise<Response> =>
  fetch(`${app.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key()}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sim-small', messages: [{ role: 'user', content: 'Hello' }] }),
  });
const errorOf = async (answer: Response): Promise<{ code: string; message: string }> =>
  ((await answer.json()) as { error: { code: string; message: string } }).error;
const pathsOf = async (answer: Response): Promise<string[]> =>
  Object.keys(((await answer.json()) as { paths: object }).paths);

describe('A gateway node', () => {
  test('serves chat, models and its own API description', async () => {
    expect((await chat(gateway)).status).toBe(200);
    expect((await get(gateway, '/v1/models', { authorization: `Bearer ${key()}` })).status).toBe(200);
    expect((await fetch(`${gateway.url}/api/hello`, { method: 'HEAD' })).status).toBe(200);
    const description = await get(gateway, '/v1/openapi.json');
    const document = (await description.clone().json()) as { servers: unknown };
    expect(document.servers).toEqual([{ url: GATEWAY_URL }]);
    const paths = await pathsOf(description);
    expect(paths).toContain('/v1/chat/completions');
    expect(paths.filter((path) => !/^\/(v\d+|health|api\/hello|api\/oauth\/usage)/.test(path))).toEqual([]);
  });

  test.each(['/health', '/health/live', '/health/ready'])('serves %s', async (path) => {
    expect((await get(gateway, path)).status).toBe(200);
  });

  test.each(['/', '/dashboard', '/login', '/openapi.json', '/llms.txt', '/assets/portal.css', '/api/me'])(
    'returns 404 for %s, to API clients and browsers',
    async (path) => {
      for (const accept of ['*/*', 'text/html']) {
        const answer = await get(gateway, path, { accept });
        expect([answer.status, (await errorOf(answer)).code]).toEqual([404, 'not_found']);
      }
    },
  );

  test('runs no jobs', () => {
    expect([gateway, portal].map(({ application }) => application.get(Settings).workers)).toEqual([
      'off',
      'inline',
    ]);
  });
});

describe('A portal node', () => {
  test('serves pages and their data', async () => {
    for (const path of ['/', '/login', '/models-public', '/api-docs', '/openapi.json', '/health/ready'])
      expect([path, (await get(portal, path)).status]).toEqual([path, 200]);
  });

  test("returns 404 below /v1 with the gateway's address", async () => {
    for (const answer of [await chat(portal), await get(portal, '/v1/openapi.json')]) {
      expect(answer.status).toBe(404);
      const { code, message } = await errorOf(answer);
      expect([code, message.includes(GATEWAY_URL)]).toEqual(['not_found', true]);
    }
    expect((await pathsOf(await get(portal, '/openapi.json'))).filter((path) => /^\/v1/.test(path))).toEqual(
      [],
    );
  });

  test("shows the gateway's address to users and API clients", async () => {
    const text = await (await get(portal, '/llms.txt')).text();
    expect(text).toContain(`${GATEWAY_URL}/v1`);
    expect(text).not.toMatch(/http:\/\/localhost:0\/v1/);
    const docs = await (await get(portal, '/api-docs', { accept: 'text/html' })).text();
    expect(docs).toContain(`${GATEWAY_URL}/v1/openapi.json`);
    expect(docs).toContain(`${GATEWAY_URL}/v1/chat/completions`);
  });
});
