import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, getCACertificates, setDefaultCACertificates, type TLSSocket } from 'node:tls';
import {
  AddressGuard,
  SelectingTransport,
  type EgressTerms,
} from '../../../../../src/platform/supplier-http';
import { call, closeEverything, closeLater, ok, settings } from '../wire/raw-supplier';
import { fixture, noEgress, tls } from './by-proxy';

afterEach(closeEverything);

const ownPair = { certificate: fixture('client.cert.pem'), key: fixture('client.key.pem') };
const otherPair = { certificate: tls.cert, key: tls.key };

/** Starts a supplier that responds with the name on the client certificate. */
async function startSupplier(requestCert = false): Promise<number> {
  const server = createServer(
    { ...tls, requestCert, rejectUnauthorized: requestCert, ca: ownPair.certificate },
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

type CertificateEgress = Partial<ConstructorParameters<typeof SelectingTransport>[0]>;

async function requestFrom(port: number, egress: CertificateEgress, terms?: EgressTerms): Promise<string> {
  const guard = new AddressGuard([{ address: '127.0.0.0', prefix: 8, family: 'ipv4' }], () =>
    Promise.resolve(['127.0.0.1']),
  );
  const transport = new SelectingTransport({ ...settings, ...noEgress, ...egress }, guard);
  closeLater(() => transport.close());
  const url = new URL(`https://supplier.example:${port}/`);
  const { text, error } = await call(transport, { url, method: 'GET', headers: {}, egress: terms }).outcome;
  return error === undefined ? text : (error.code ?? 'broken');
}

const SELF_SIGNED_ERROR = 'DEPTH_ZERO_SELF_SIGNED_CERT';

test.each<[string, string, CertificateEgress, EgressTerms | undefined]>([
  ['nobody vouches for it', SELF_SIGNED_ERROR, {}, undefined],
  ['EGRESS_CA vouches for it', 'nobody', { egressCa: tls.cert }, undefined],
  ['its own settings vouch for it', 'nobody', {}, { ca: tls.cert }],
  [
    'another vouches for another',
    SELF_SIGNED_ERROR,
    { egressCa: ownPair.certificate },
    { ca: ownPair.certificate },
  ],
  ['either vouches for it', 'nobody', { egressCa: ownPair.certificate }, { ca: tls.cert }],
])('supplier with a self-signed certificate: %s', async (_, expected, egress, terms) =>
  expect(await requestFrom(await startSupplier(), egress, terms)).toBe(expected),
);

test('default authorities stay trusted in addition to configured ones', async () => {
  const defaultAuthorities = getCACertificates('default');
  setDefaultCACertificates([...defaultAuthorities, tls.cert]);
  try {
    expect(await requestFrom(await startSupplier(), { egressCa: ownPair.certificate })).toBe('nobody');
  } finally {
    setDefaultCACertificates(defaultAuthorities);
  }
});

const globalEgress: CertificateEgress = {
  egressClientCertificate: ownPair.certificate,
  egressClientKey: ownPair.key,
};

test.each<[string, RegExp, CertificateEgress, EgressTerms | undefined]>([
  ['is shown none', /^ERR_SSL_|^ECONNRESET|^SUPPLIER_CLOSED/, {}, undefined],
  ['is shown that of the settings', /^client.example$/, globalEgress, undefined],
  ['is shown its own', /^client.example$/, {}, { identity: ownPair }],
  ['is shown another', /^ERR_SSL_|^ECONNRESET|^SUPPLIER_CLOSED/, {}, { identity: otherPair }],
  [
    'is shown its own before that of the settings',
    /^ERR_SSL_|^ECONNRESET|^SUPPLIER_CLOSED/,
    globalEgress,
    { identity: otherPair },
  ],
])('supplier that requires a client certificate %s', async (_, expected, egress, terms) =>
  expect(await requestFrom(await startSupplier(true), { ...egress, egressCa: tls.cert }, terms)).toMatch(
    expected,
  ),
);
