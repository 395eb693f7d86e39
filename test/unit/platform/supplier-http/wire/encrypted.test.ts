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
/** Made for these tests, for the name supplier.example; nothing else trusts it. */
const certificate = fixture('supplier.cert.pem');

const trusted = getCACertificates('default');
beforeAll(() => setDefaultCACertificates([...trusted, certificate]));
afterAll(() => setDefaultCACertificates(trusted));
afterEach(closeEverything);

interface Seen {
  readonly name: string | false | null | undefined;
  readonly protocol: string | false | null;
  readonly resumed: boolean;
}

async function serve(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const seen: Seen[] = [];
  const server = createServer({ cert: certificate, key: fixture('supplier.key.pem') }, answer);
  server.on('secureConnection', (socket: TLSSocket & { servername?: string | false | null }) =>
    seen.push({ name: socket.servername, protocol: socket.alpnProtocol, resumed: socket.isSessionReused() }),
  );
  server.on('tlsClientError', () => undefined);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  closeLater(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, seen };
}

/** Every name stands for this machine. */
function pools(): WireTransport {
  const loopback = { address: '127.0.0.0', prefix: 8, family: 'ipv4' as const };
  const opened = new WireTransport(
    settings,
    new AddressGuard([loopback], () => Promise.resolve(['127.0.0.1'])),
  );
  closeLater(() => opened.close());
  return opened;
}

const get = (name: string, port: number) => ({
  url: new URL(`https://${name}:${port}/v1/x`),
  method: 'GET' as const,
  headers: {},
});

test('the supplier is told its name, and the next connection resumes the session of the one before', async () => {
  const { port, seen } = await serve((request, response) => {
    response.writeHead(200, { connection: 'close' }).end(`${request.method} ${request.url}`);
  });
  const open = pools();
  for (let n = 0; n < 2; n += 1)
    expect(await call(open, get('supplier.example', port)).outcome).toMatchObject({
      status: 200,
      text: 'GET /v1/x',
    });
  expect(seen).toEqual([
    { name: 'supplier.example', protocol: 'http/1.1', resumed: false },
    { name: 'supplier.example', protocol: 'http/1.1', resumed: true },
  ]);
});

test('one connection serves one call after the other', async () => {
  const { port, seen } = await serve((_, response) => response.end('x'));
  const open = pools();
  for (let n = 0; n < 3; n += 1)
    expect(await call(open, get('supplier.example', port)).outcome).toMatchObject({ text: 'x' });
  expect(seen).toHaveLength(1);
});

test('an answer without a length is not whole when an encrypted connection ends: a cut looks the same', async () => {
  const { port } = await serve((_, response) => {
    response.socket!.end('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{"half":');
  });
  const cut = await call(pools(), get('supplier.example', port)).outcome;
  expect(cut).toMatchObject({ status: 200, text: '{"half":', error: { code: 'SUPPLIER_CLOSED' }, ends: 1 });
});

test('a certificate for another name is refused before anything is said', async () => {
  let requests = 0;
  const { port } = await serve((_, response) => {
    requests += 1;
    response.end('x');
  });
  const refused = call(pools(), get('other.example', port));
  expect(await refused.outcome).toMatchObject({ error: { code: 'ERR_TLS_CERT_ALTNAME_INVALID' }, ends: 1 });
  expect(refused.call.hasStarted).toBe(false);
  expect(requests).toBe(0);
});

test.each([
  ['with a length', { 'content-length': String(1024 * 1024) }],
  ['in chunks', {}],
])('a large answer arrives whole in spite of pauses, %s', async (_, headers) => {
  const sent = Buffer.alloc(1024 * 1024, 'the ferry leaves at nine ');
  const { port } = await serve((_request, response) => response.writeHead(200, headers).end(sent));
  const paused = call(pools(), get('supplier.example', port), {
    onData: () => {
      paused.call.pause();
      setImmediate(() => paused.call.resume());
    },
  });
  const { body } = await paused.outcome;
  expect(body.equals(sent)).toBe(true);
});
