import { createServer, request as plainRequest } from 'node:http';
import { createServer as createSecureServer, request as secureRequest } from 'node:https';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { proxyAgent } from '../../../../../src/platform/supplier-http';
import { forwardProxy } from '../../../../support/forward-proxy';
import { closeEverything, closeLater } from '../wire/raw-supplier';
import { fixture, noEgress, tls } from './by-proxy';

afterEach(closeEverything);

const proxyTls = { cert: fixture('directory.cert.pem'), key: fixture('directory.key.pem') };

/** Asks twice by Node's own client, and answers what came, or why nothing did. */
async function askBy(isSecure: boolean, address: (port: number) => string, credentials = 'a:b') {
  const heard: string[] = [];
  const answer: Parameters<typeof createServer>[1] = (asked, response) => {
    heard.push(`${asked.method} ${asked.url} ${asked.headers.host} ${asked.headers['proxy-authorization']}`);
    asked.resume().on('end', () => response.end('taken'));
  };
  const server = isSecure ? createSecureServer(tls, answer) : createServer(answer);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const proxy = await forwardProxy({
    credentials,
    resolve: () => '127.0.0.1',
    ...(address(1).startsWith('https') && { tls: proxyTls }),
  });
  closeLater(() => (proxy.close(), server.closeAllConnections(), server.close()));
  const url = new URL(
    `${isSecure ? 'https' : 'http'}://supplier.example:${(server.address() as AddressInfo).port}/v1/traces`,
  );
  const egress = { ...noEgress, egressProxy: address(proxy.port), egressCa: `${tls.cert}${proxyTls.cert}` };
  const agent = proxyAgent(
    url,
    { ...egress, supplierConnectTimeoutMs: 5_000 },
    { keepAlive: true, ca: tls.cert },
  );
  closeLater(() => agent?.destroy());
  const ask = () =>
    new Promise<string>((resolve) => {
      const asking = (isSecure ? secureRequest : plainRequest)(
        url,
        { method: 'POST', agent: agent! },
        (got) => {
          let text = '';
          got.on('data', (piece) => (text += piece)).on('end', () => resolve(`${got.statusCode} ${text}`));
        },
      );
      asking.on('error', (error) => resolve(error.message)).end('spans');
    });
  return { answers: [await ask(), await ask()], heard, asked: proxy.asked, host: url.host, port: proxy.port };
}

test.each([
  ['a proxy', (port: number) => `http://a:b@127.0.0.1:${port}`],
  ['a proxy that speaks TLS', (port: number) => `https://a:b@127.0.0.1:${port}`],
])("Node's own client goes through %s", async (_, address) => {
  const plain = await askBy(false, address);
  expect(plain.answers).toEqual(['200 taken', '200 taken']);
  expect(plain.asked).toEqual(Array(2).fill(`POST http://${plain.host}/v1/traces HTTP/1.1`));
  expect(plain.heard).toEqual(Array(2).fill(`POST /v1/traces ${plain.host} undefined`));

  const secure = await askBy(true, address);
  expect(secure.answers).toEqual(['200 taken', '200 taken']);
  expect(secure.asked).toEqual([`CONNECT ${secure.host} HTTP/1.1`]);
  expect(secure.heard).toEqual(Array(2).fill(`POST /v1/traces ${secure.host} undefined`));
});

test('a proxy that refuses is named', async () => {
  const { answers, port } = await askBy(true, (at) => `http://127.0.0.1:${at}`);
  expect(answers[0]).toBe(`the proxy 127.0.0.1:${port} wants other credentials (407)`);
});

test.each([
  ['NO_PROXY names it', 'https://supplier.example/', { noProxy: 'example' }],
  ['it is this machine', 'http://127.0.0.1:4318/', {}],
  ['there is no proxy', 'https://supplier.example/', { egressProxy: undefined }],
])('there is no agent where %s', (_, url, egress) => {
  const settings = { ...noEgress, egressProxy: 'http://127.0.0.1:9', supplierConnectTimeoutMs: 1, ...egress };
  expect(proxyAgent(new URL(url), settings as never, {})).toBeNull();
});
