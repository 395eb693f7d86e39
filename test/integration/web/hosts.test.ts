import { startTestApp, type TestApp } from '../../support/app';
import { ask } from './raw-exchange';

/** Who may be asked for a page: a name that somebody else owns would act in the session of whom it lures here. */
describe('pages are served under the hosts of this portal', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startTestApp({ environment: { BASE_URL: 'https://portal.example' } });
  });
  afterAll(() => app.close());

  const visit = (path: string, host: string, accept = 'text/html') =>
    ask(app.url, { path, headers: { host, accept } });

  test.each([
    'portal.example',
    'portal.example:443',
    'PORTAL.example',
    'localhost:3000',
    '127.0.0.1',
    '[::1]:3000',
    'tenant.localhost',
  ])('%s is one of them', async (host) => {
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
  ])('%s is none of them', async (host) => {
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
    expect(page.body).toContain('https://portal.example');
  });

  test('a host in the target counts, and the Host line beside it does not', async () => {
    const foreign = await visit('http://elsewhere.example/', 'portal.example');
    expect(foreign.status).toBe(421);
    const own = await visit('http://portal.example/', 'elsewhere.example');
    expect(own.status).toBe(200);
  });

  test('the gateway and the probes answer under any name', async () => {
    for (const path of ['/health', '/health/live', '/health/ready', '/v1/errors'])
      expect([path, (await visit(path, 'elsewhere.example')).status]).toEqual([path, 200]);
  });
});

test('in production a loopback name is none of them, unless the setting says so', async () => {
  const app = await startTestApp({
    environment: {
      NODE_ENV: 'production',
      BASE_URL: 'https://portal.example',
      SESSION_SECRET: 'k3Jx9vQm2Lr8Tz5Wn7Yb4Hc6Pd1Sg0Fa',
      KEY_PEPPER: 'b8Rw2Xc7Vn4Mq1Zk6Ty9Jh3Gf5Dp0LsE',
      MASTER_KEY: '1:q0v7m1Z3p5s8u2w4y6A9C1E3G5I7K9M1O3Q5S7U9W0Y=',
    },
  });
  try {
    const statusAt = async (host: string) =>
      (await ask(app.url, { path: '/', headers: { host, accept: 'text/html' } })).status;
    expect([await statusAt('127.0.0.1'), await statusAt('portal.example')]).toEqual([421, 200]);
  } finally {
    await app.close();
  }
});
