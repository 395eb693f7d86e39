import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, getCACertificates, setDefaultCACertificates, type TLSSocket } from 'node:tls';
import { AddressGuard, SelectingTransport, type EgressTerms } from '../../../../../src/platform/supplier-http';
import { call, closeEverything, closeLater, ok, settings } from '../wire/raw-supplier';
import { fixture, noEgress, tls } from './by-proxy';

afterEach(closeEverything);

const ours = { certificate: fixture('client.cert.pem'), key: fixture('client.key.pem') };
const others = { certificate: tls.cert, key: tls.key };

/** Answers with the name on the certificate that it was shown. */
async function supplier(requestCert = false): Promise<number> {
  const server = createServer(
    { ...tls, requestCert, rejectUnauthorized: requestCert, ca: ours.certificate },
    (socket: TLSSocket) => {
      socket.on('error', () => undefined);
      const { subject } = socket.getPeerCertificate() as { subject?: { CN?: string } };
      socket.on('data', () => socket.write(ok(subject?.CN ?? 'nobody')));
    },
  );
  server.on('tlsClientError', () => undefined);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  closeLater(() => server.close());
  return (server.address() as AddressInfo).port;
}

type Egress = Partial<ConstructorParameters<typeof SelectingTransport>[0]>;

async function ask(port: number, egress: Egress, terms?: EgressTerms): Promise<string> {
  const guard = new AddressGuard([{ address: '127.0.0.0', prefix: 8, family: 'ipv4' }], () =>
    Promise.resolve(['127.0.0.1']),
  );
  const transport = new SelectingTransport({ ...settings, ...noEgress, ...egress }, guard);
  closeLater(() => transport.close());
  const url = new URL(`https://supplier.example:${port}/`);
  const { text, error } = await call(transport, { url, method: 'GET', headers: {}, egress: terms }).outcome;
  return error === undefined ? text : (error.code ?? 'broken');
}

const UNKNOWN = 'DEPTH_ZERO_SELF_SIGNED_CERT';

test.each<[string, string, Egress, EgressTerms | undefined]>([
  ['nobody vouches for it', UNKNOWN, {}, undefined],
  ['EGRESS_CA vouches for it', 'nobody', { egressCa: tls.cert }, undefined],
  ['its own settings vouch for it', 'nobody', {}, { ca: tls.cert }],
  ['another vouches for another', UNKNOWN, { egressCa: ours.certificate }, { ca: ours.certificate }],
  ['either vouches for it', 'nobody', { egressCa: ours.certificate }, { ca: tls.cert }],
])('a supplier whose certificate is its own: %s', async (_, expected, egress, terms) =>
  expect(await ask(await supplier(), egress, terms)).toBe(expected),
);

test('the usual authorities stay beside those that are named', async () => {
  const usual = getCACertificates('default');
  setDefaultCACertificates([...usual, tls.cert]);
  try {
    expect(await ask(await supplier(), { egressCa: ours.certificate })).toBe('nobody');
  } finally {
    setDefaultCACertificates(usual);
  }
});

const global: Egress = { egressClientCertificate: ours.certificate, egressClientKey: ours.key };

test.each<[string, RegExp, Egress, EgressTerms | undefined]>([
  ['is shown none', /^ERR_SSL_|^ECONNRESET|^SUPPLIER_CLOSED/, {}, undefined],
  ['is shown that of the settings', /^client.example$/, global, undefined],
  ['is shown its own', /^client.example$/, {}, { identity: ours }],
  ['is shown another', /^ERR_SSL_|^ECONNRESET|^SUPPLIER_CLOSED/, {}, { identity: others }],
  [
    'is shown its own before that of the settings',
    /^ERR_SSL_|^ECONNRESET|^SUPPLIER_CLOSED/,
    global,
    { identity: others },
  ],
])('a supplier that wants a certificate %s', async (_, expected, egress, terms) =>
  expect(await ask(await supplier(true), { ...egress, egressCa: tls.cert }, terms)).toMatch(expected),
);
