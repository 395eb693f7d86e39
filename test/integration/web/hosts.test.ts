import { Settings } from '#product/platform';
import { developmentToken } from '#product/web';
import { startTestApp, type TestApp } from '../../support/app';
import { sendRaw } from './raw-exchange';

/** Pages are served on known hosts only; otherwise a foreign host name could use the session of a lured user. */
describe('Hosts of the portal', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startTestApp({
      environment: { BASE_URL: 'http://localhost:3000', PORTAL_ORIGINS: 'http://portal.example' },
    });
  });
  afterAll(() => app.close());

  const visit = (path: string, host: string, accept = 'text/html') =>
    sendRaw(app.url, { path, headers: { host, accept } });

  test.each([
    'portal.example',
    'portal.example:80',
    'PORTAL.example',
    'localhost:3000',
    '127.0.0.1',
    '[::1]:3000',
    'tenant.localhost',
  ])('%s is accepted', async (host) => {
    expect((await visit('/', host)).status).toBe(200);
  });

  test.each([
    'elsewhere.example',
    'portal.example.elsewhere.example',
    'sub.portal.example',
    'portal.example:8443',
    'portal.example.',
    '10.0.0.7',
    '127.0.0.1.elsewhere.example',
    'localhost.elsewhere.example',
  ])('%s is refused', async (host) => {
    for (const path of ['/', '/dev/outbox', '/no-such-page', '/set-language']) {
      const { status, body } = await visit(path, host, 'application/json');
      expect([path, status, JSON.parse(body)]).toEqual([
        path,
        421,
        expect.objectContaining({ code: 'origin_not_allowed' }),
      ]);
    }
    const page = await visit('/', host);
    expect([page.status, page.headers['content-type']]).toEqual([421, 'text/html; charset=utf-8']);
    expect(page.body).toContain('http://localhost:3000');
  });

  test('the host in the request target takes precedence over the Host header', async () => {
    const foreignTarget = await visit('http://elsewhere.example/', 'portal.example');
    expect(foreignTarget.status).toBe(421);
    const ownTarget = await visit('http://portal.example/', 'elsewhere.example');
    expect(ownTarget.status).toBe(200);
  });

  test('the gateway and health endpoints respond on any host', async () => {
    for (const path of ['/health', '/health/live', '/health/ready', '/v1/errors'])
      expect([path, (await visit(path, 'elsewhere.example')).status]).toEqual([path, 200]);
  });
});

test.each([
  [200, { BASE_URL: 'http://localhost:3000' }],
  [404, { BASE_URL: 'http://localhost:3000', HOST: '0.0.0.0' }],
  [404, { BASE_URL: 'http://localhost:3000', PORTAL_ORIGINS: 'https://portal.example' }],
  [404, { BASE_URL: 'https://portal.example' }],
  [404, { BASE_URL: 'http://192.168.1.5' }],
])('/dev/outbox returns %s, so that it is available only for local development: %j', async (status, more) => {
  const app = await startTestApp({ environment: { NODE_ENV: 'development', ...more } });
  try {
    const headers = { host: new URL(more.BASE_URL).host, accept: 'text/html' };
    const port = new URL(app.url).port;
    const token = developmentToken(app.application.get(Settings));
    for (const path of ['/dev/outbox', '/dev/components']) {
      const answer = await sendRaw(`http://127.0.0.1:${port}`, { path: `${path}?token=${token}`, headers });
      expect(answer.status).toBe(status);
    }
  } finally {
    await app.close();
  }
});

describe('/dev without BASE_URL behind a proxy', () => {
  let app: TestApp;
  let token: string;
  beforeAll(async () => {
    app = await startTestApp({ environment: { NODE_ENV: 'development' } });
    token = developmentToken(app.application.get(Settings));
  });
  afterAll(() => app.close());

  const statusOf = async (path: string, headers: Record<string, string> = {}): Promise<number> =>
    (await sendRaw(app.url, { path, headers: { accept: 'text/html', ...headers } })).status;

  test('requires the token printed at the start', async () => {
    for (const path of ['/dev/outbox', '/dev/components'])
      for (const query of ['', '?token=', `?token=${token}x`, `?token=${token.toLowerCase()}`])
        expect([path, query, await statusOf(path + query)]).toEqual([path, query, 403]);
    const outboxResponse = await sendRaw(app.url, {
      path: `/dev/outbox?token=${token}`,
      headers: { accept: 'text/html' },
    });
    const [cookie = ''] = [outboxResponse.headers['set-cookie'] ?? []]
      .flat()
      .map((line) => line.split(';')[0] ?? '');
    expect([outboxResponse.status, await statusOf('/dev/components', { cookie })]).toEqual([200, 200]);
  });

  test.each([
    ['x-forwarded-for', '203.0.113.7'],
    ['x-forwarded-proto', 'https'],
    ['x-forwarded-host', 'portal.example'],
    ['forwarded', 'for=203.0.113.7'],
    ['via', '1.1 proxy'],
    ['x-real-ip', '203.0.113.7'],
    ['cf-connecting-ip', '203.0.113.7'],
  ])('is refused if any forwarding header is present: %s', async (name, value) => {
    expect(await statusOf(`/dev/outbox?token=${token}`, { [name]: value })).toBe(404);
    expect(await statusOf('/dev/outbox', { [name]: value, cookie: `svc_development=${token}` })).toBe(404);
  });
});

test('a public BASE_URL means production, which refuses loopback hosts unless configured', async () => {
  const app = await startTestApp({
    environment: {
      NODE_ENV: 'development',
      BASE_URL: 'https://portal.example',
    },
  });
  try {
    const statusAt = async (host: string) =>
      (await sendRaw(app.url, { path: '/', headers: { host, accept: 'text/html' } })).status;
    expect([await statusAt('127.0.0.1'), await statusAt('portal.example')]).toEqual([421, 200]);
  } finally {
    await app.close();
  }
});
