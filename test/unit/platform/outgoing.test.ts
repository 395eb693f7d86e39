import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { loadSettings, outgoingClient, type OutgoingClient } from '../../../src/platform';
import { forwardProxy } from '../../support/forward-proxy';
import { pourOut } from '../../support/openid-stand-in';

const BOUNDS = { mostBytes: 256 * 1_024, deadlineMs: 2_000 };
let server: Server;
let client: OutgoingClient;
let answer: RequestListener = (_request, response) => void response.end('{}');

beforeAll(async () => {
  server = createServer((request, response) => answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const settings = loadSettings({ NODE_ENV: 'test', IDP1_ISSUER: url() });
  client = outgoingClient(settings);
});
afterAll(() => {
  client.close();
  server.closeAllConnections();
  server.close();
});

const url = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

test('an answer beyond its bound is left, and the connection with it', async () => {
  let poured = { sent: 0 };
  const most = 256 * 1_024 * 1_024;
  answer = (_request, response) => (poured = pourOut(response, most));
  await expect(client.read({ url: url() }, BOUNDS)).rejects.toMatchObject({ code: 'result_too_large' });
  expect(poured.sent).toBeLessThan(most / 8);
});

test('an answer that never ends in time is left', async () => {
  answer = (_request, response) => void response.write('{');
  await expect(client.read({ url: url() }, { ...BOUNDS, deadlineMs: 100 })).rejects.toThrow();
});

test('a redirect is an ordinary answer', async () => {
  answer = (_request, response) => void response.writeHead(302, { location: '/other' }).end();
  expect((await client.read({ url: url() }, BOUNDS)).status).toBe(302);
});

test('nothing is asked of private addresses that the operator did not name', async () => {
  const { port } = server.address() as AddressInfo;
  for (const address of [
    `http://localhost:${port}/`,
    'http://169.254.169.254/latest',
    'https://10.0.0.1/keys',
  ])
    await expect(client.read({ url: address }, BOUNDS)).rejects.toThrow(/may not be connected to/);
});

test('a proxy of the settings is used, with the authorities that they name', async () => {
  const proxy = await forwardProxy({ resolve: () => '127.0.0.1' });
  const { port } = server.address() as AddressInfo;
  const by = outgoingClient(
    loadSettings({
      NODE_ENV: 'test',
      IDP1_ISSUER: `http://identity.invalid:${port}`,
      EGRESS_PROXY: `http://127.0.0.1:${proxy.port}`,
    }),
  );
  try {
    answer = (_request, response) => void response.end('{}');
    expect((await by.read({ url: `http://identity.invalid:${port}/keys` }, BOUNDS)).status).toBe(200);
    expect(proxy.asked).toEqual([`GET http://identity.invalid:${port}/keys HTTP/1.1`]);
    await expect(by.read({ url: `http://other.invalid:${port}/` }, BOUNDS)).rejects.toThrow(
      /may not be connected to|must be https/,
    );
    expect(proxy.asked).toHaveLength(1);
  } finally {
    by.close();
    proxy.close();
  }
});

test('speaks as fetch does, for packages that want one', async () => {
  answer = (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      response.setHeader('x-sent', `${request.method ?? ''} ${Buffer.concat(chunks).toString()}`);
      response.end('{"a":1}');
    });
  };
  const ask = client.fetchWithin(BOUNDS);
  const answered = await ask(`${url()}/x?y=1`, { method: 'POST', body: 'a=b', headers: { accept: '*/*' } });
  expect([answered.status, answered.headers.get('x-sent')]).toEqual([200, 'POST a=b']);
  expect(await answered.json()).toEqual({ a: 1 });
  answer = (_request, response) => void response.writeHead(204).end();
  expect((await ask(url())).status).toBe(204);
});
