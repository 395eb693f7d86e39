import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates, type TLSSocket } from 'node:tls';
import { AddressGuard, WireTransport } from '../../../../../src/platform/supplier-http';
import { call, closeEverything, closeLater, settings } from './raw-supplier';

const fixture = (name: string): string =>
  readFileSync(join(__dirname, '../../../../fixtures/tls', name), 'utf8');
/** Test certificate for the name supplier.example; no other code trusts it. */
const certificate = fixture('supplier.cert.pem');

const trusted = getCACertificates('default');
beforeAll(() => setDefaultCACertificates([...trusted, certificate]));
afterAll(() => setDefaultCACertificates(trusted));
afterEach(closeEverything);

interface TlsRequest {
  readonly name: string | false | null | undefined;
  readonly protocol: string | false | null;
  readonly resumed: boolean;
}

async function serve(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const tlsRequests: TlsRequest[] = [];
  const server = createServer({ cert: certificate, key: fixture('supplier.key.pem') }, answer);
  server.on('secureConnection', (socket: TLSSocket & { servername?: string | false | null }) =>
    tlsRequests.push({
      name: socket.servername,
      protocol: socket.alpnProtocol,
      resumed: socket.isSessionReused(),
    }),
  );
  server.on('tlsClientError', () => undefined);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  closeLater(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, seen: tlsRequests };
}

/** Opens a transport that resolves every name to this machine. */
function openTransport(): WireTransport {
  const loopback = { address: '127.0.0.0', prefix: 8, family: 'ipv4' as const };
  const transport = new WireTransport(
    settings,
    new AddressGuard([loopback], () => Promise.resolve(['127.0.0.1'])),
  );
  closeLater(() => transport.close());
  return transport;
}

const get = (name: string, port: number) => ({
  url: new URL(`https://${name}:${port}/v1/x`),
  method: 'GET' as const,
  headers: {},
});

test('supplier receives its server name, and the next connection resumes the TLS session', async () => {
  const { port, seen } = await serve((request, response) => {
    response.writeHead(200, { connection: 'close' }).end(`${request.method} ${request.url}`);
  });
  const transport = openTransport();
  for (let n = 0; n < 2; n += 1)
    expect(await call(transport, get('supplier.example', port)).outcome).toMatchObject({
      status: 200,
      text: 'GET /v1/x',
    });
  expect(seen).toEqual([
    { name: 'supplier.example', protocol: 'http/1.1', resumed: false },
    { name: 'supplier.example', protocol: 'http/1.1', resumed: true },
  ]);
});

test('connection is reused for consecutive calls', async () => {
  const { port, seen } = await serve((_, response) => response.end('x'));
  const transport = openTransport();
  for (let n = 0; n < 3; n += 1)
    expect(await call(transport, get('supplier.example', port)).outcome).toMatchObject({ text: 'x' });
  expect(seen).toHaveLength(1);
});

test('response without a length is incomplete when a TLS connection ends, as it could be truncated', async () => {
  const { port } = await serve((_, response) => {
    response.socket!.end('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{"half":');
  });
  const truncated = await call(openTransport(), get('supplier.example', port)).outcome;
  expect(truncated).toMatchObject({
    status: 200,
    text: '{"half":',
    error: { code: 'SUPPLIER_CLOSED' },
    ends: 1,
  });
});

test('certificate for another name is rejected before any request is sent', async () => {
  let requests = 0;
  const { port } = await serve((_, response) => {
    requests += 1;
    response.end('x');
  });
  const rejected = call(openTransport(), get('other.example', port));
  expect(await rejected.outcome).toMatchObject({ error: { code: 'ERR_TLS_CERT_ALTNAME_INVALID' }, ends: 1 });
  expect(rejected.call.hasStarted).toBe(false);
  expect(requests).toBe(0);
});

test.each([
  ['with a length', { 'content-length': String(1024 * 1024) }],
  ['in chunks', {}],
])('large response arrives completely despite pauses, %s', async (_, headers) => {
  const sentBody = Buffer.alloc(1024 * 1024, 'the ferry leaves at nine ');
  const { port } = await serve((_request, response) => response.writeHead(200, headers).end(sentBody));
  const pausedCall = call(openTransport(), get('supplier.example', port), {
    onData: () => {
      pausedCall.call.pause();
      setImmediate(() => pausedCall.call.resume());
    },
  });
  const { body } = await pausedCall.outcome;
  expect(body.equals(sentBody)).toBe(true);
});
