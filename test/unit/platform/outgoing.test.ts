import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { loadSettings, outgoingClient, type OutgoingClient } from '../../../src/platform';
import { startForwardProxy } from '../../support/forward-proxy';
import { sendEndlessly } from '../../support/openid-stand-in';

const LIMITS = { mostBytes: 256 * 1_024, deadlineMs: 2_000 };
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

test('response above the size limit is aborted and its connection closed', async () => {
  let flood = { sent: 0 };
  const maxBytes = 256 * 1_024 * 1_024;
  answer = (_request, response) => (flood = sendEndlessly(response, maxBytes));
  await expect(client.read({ url: url() }, LIMITS)).rejects.toMatchObject({ code: 'result_too_large' });
  expect(flood.sent).toBeLessThan(maxBytes / 8);
});

test('response that does not end in time is aborted', async () => {
  answer = (_request, response) => void response.write('{');
  await expect(client.read({ url: url() }, { ...LIMITS, deadlineMs: 100 })).rejects.toThrow();
});

test('redirect is returned as an ordinary response', async () => {
  answer = (_request, response) => void response.writeHead(302, { location: '/other' }).end();
  expect((await client.read({ url: url() }, LIMITS)).status).toBe(302);
});

test('private addresses are refused unless the operator allows them', async () => {
  const { port } = server.address() as AddressInfo;
  for (const address of [
    `http://localhost:${port}/`,
    'http://169.254.169.254/latest',
    'https://10.0.0.1/keys',
  ])
    await expect(client.read({ url: address }, LIMITS)).rejects.toThrow(/may not be connected to/);
});

test('configured proxy is used with the configured authorities', async () => {
  const proxy = await startForwardProxy({ resolve: () => '127.0.0.1' });
  const { port } = server.address() as AddressInfo;
  const clientThroughProxy = outgoingClient(
    loadSettings({
      NODE_ENV: 'test',
      IDP1_ISSUER: `http://identity.invalid:${port}`,
      EGRESS_PROXY: `http://127.0.0.1:${proxy.port}`,
    }),
  );
  try {
    answer = (_request, response) => void response.end('{}');
    expect(
      (await clientThroughProxy.read({ url: `http://identity.invalid:${port}/keys` }, LIMITS)).status,
    ).toBe(200);
    expect(proxy.requestLines).toEqual([`GET http://identity.invalid:${port}/keys HTTP/1.1`]);
    await expect(clientThroughProxy.read({ url: `http://other.invalid:${port}/` }, LIMITS)).rejects.toThrow(
      /may not be connected to|must be https/,
    );
    expect(proxy.requestLines).toHaveLength(1);
  } finally {
    clientThroughProxy.close();
    proxy.close();
  }
});

test('fetch adapter behaves like fetch', async () => {
  answer = (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      response.setHeader('x-sent', `${request.method ?? ''} ${Buffer.concat(chunks).toString()}`);
      response.end('{"a":1}');
    });
  };
  const boundedFetch = client.fetchWithin(LIMITS);
  const echo = await boundedFetch(`${url()}/x?y=1`, {
    method: 'POST',
    body: 'a=b',
    headers: { accept: '*/*' },
  });
  expect([echo.status, echo.headers.get('x-sent')]).toEqual([200, 'POST a=b']);
  expect(await echo.json()).toEqual({ a: 1 });
  answer = (_request, response) => void response.writeHead(204).end();
  expect((await boundedFetch(url())).status).toBe(204);
});
