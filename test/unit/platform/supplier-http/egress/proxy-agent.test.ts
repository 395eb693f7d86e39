import { createServer, request as plainRequest } from 'node:http';
import { createServer as createSecureServer, request as secureRequest } from 'node:https';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { proxyAgent } from '../../../../../src/platform/supplier-http';
import { startForwardProxy } from '../../../../support/forward-proxy';
import { closeEverything, closeLater } from '../wire/raw-supplier';
import { fixture, noEgress, tls } from './by-proxy';

afterEach(closeEverything);

const proxyTls = { cert: fixture('directory.cert.pem'), key: fixture('directory.key.pem') };

/** Sends two requests with Node's own client; returns the responses or the error. */
async function requestThrough(isSecure: boolean, address: (port: number) => string, credentials = 'a:b') {
  const proxyRequests: string[] = [];
  const answer: Parameters<typeof createServer>[1] = (incoming, response) => {
    proxyRequests.push(
      `${incoming.method} ${incoming.url} ${incoming.headers.host} ${incoming.headers['proxy-authorization']}`,
    );
    incoming.resume().on('end', () => response.end('taken'));
  };
  const server = isSecure ? createSecureServer(tls, answer) : createServer(answer);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const proxy = await startForwardProxy({
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
  const sendRequest = () =>
    new Promise<string>((resolve) => {
      const clientRequest = (isSecure ? secureRequest : plainRequest)(
        url,
        { method: 'POST', agent: agent! },
        (got) => {
          let text = '';
          got.on('data', (piece) => (text += piece)).on('end', () => resolve(`${got.statusCode} ${text}`));
        },
      );
      clientRequest.on('error', (error) => resolve(error.message)).end('spans');
    });
  return {
    answers: [await sendRequest(), await sendRequest()],
    heard: proxyRequests,
    asked: proxy.requestLines,
    host: url.host,
    port: proxy.port,
  };
}

test.each([
  ['a proxy', (port: number) => `http://a:b@127.0.0.1:${port}`],
  ['a proxy that speaks TLS', (port: number) => `https://a:b@127.0.0.1:${port}`],
])("Node's own client connects through %s", async (_, address) => {
  const plainResponse = await requestThrough(false, address);
  expect(plainResponse.answers).toEqual(['200 taken', '200 taken']);
  expect(plainResponse.asked).toEqual(Array(2).fill(`POST http://${plainResponse.host}/v1/traces HTTP/1.1`));
  expect(plainResponse.heard).toEqual(Array(2).fill(`POST /v1/traces ${plainResponse.host} undefined`));

  const secureResponse = await requestThrough(true, address);
  expect(secureResponse.answers).toEqual(['200 taken', '200 taken']);
  expect(secureResponse.asked).toEqual([`CONNECT ${secureResponse.host} HTTP/1.1`]);
  expect(secureResponse.heard).toEqual(Array(2).fill(`POST /v1/traces ${secureResponse.host} undefined`));
});

test('error names the proxy that refuses', async () => {
  const { answers, port } = await requestThrough(true, (at) => `http://127.0.0.1:${at}`);
  expect(answers[0]).toBe(`the proxy 127.0.0.1:${port} wants other credentials (407)`);
});

test.each([
  ['NO_PROXY names it', 'https://supplier.example/', { noProxy: 'example' }],
  ['it is this machine', 'http://127.0.0.1:4318/', {}],
  ['there is no proxy', 'https://supplier.example/', { egressProxy: undefined }],
])('no agent is created when %s', (_, url, egress) => {
  const settings = { ...noEgress, egressProxy: 'http://127.0.0.1:9', supplierConnectTimeoutMs: 1, ...egress };
  expect(proxyAgent(new URL(url), settings as never, {})).toBeNull();
});
