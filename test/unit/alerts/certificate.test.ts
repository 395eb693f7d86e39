import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import { detectOldBackups, detectExpiringCertificates, detectLogLag } from '../../../src/alerts/looks/maintenance-detectors';
import type { ProviderCertificate } from '../../../src/catalogue';

const fixture = (name: string): string => readFileSync(join(__dirname, '../../fixtures/tls', name), 'utf8');
const set = { parameters: () => ({ days: 14, hours: 26 }), minimum: () => 14 };

test('the end of the certificate is read from what the address shows, trusted or not', async () => {
  const server = createServer({ cert: fixture('supplier.cert.pem'), key: fixture('supplier.key.pem') });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const look = detectExpiringCertificates({ baseUrl: `https://127.0.0.1:${port}` }, () => []);
  try {
    expect(await look({ now: new Date('2126-10-14T15:00:00Z'), ...set })).toEqual([]);
    expect(await look({ now: new Date('2126-10-15T15:00:00Z'), ...set })).toEqual([
      {
        owner: null,
        subject: `127.0.0.1:${port}`,
        facts: { host: `127.0.0.1:${port}`, ends_at: '2126-10-28T15:20:19.000Z' },
      },
    ]);
  } finally {
    server.close();
  }
  await expect(look({ now: new Date(), ...set })).rejects.toThrow('ECONNREFUSED');
  const plain = detectExpiringCertificates({ baseUrl: `http://127.0.0.1:${port}` }, () => []);
  expect(await plain({ now: new Date(), ...set })).toEqual([]);
});

test('certificates of the ways to providers are told as well, whether or not BASE_URL can be reached', async () => {
  const ends = new Date('2026-12-01T00:00:00Z');
  const ofProviders = (): ProviderCertificate[] => [
    { provider: 'eu', what: 'ca', endsAt: new Date('2126-01-01T00:00:00Z') },
    { provider: 'eu', what: 'client-certificate', endsAt: ends },
    { provider: 'us', what: 'client-certificate', endsAt: null },
  ];
  const [egressCa, egressClientCertificate] = [fixture('supplier.cert.pem'), fixture('client.cert.pem')];
  for (const baseUrl of ['http://127.0.0.1:1', 'https://127.0.0.1:1']) {
    const look = detectExpiringCertificates({ baseUrl, egressCa, egressClientCertificate }, ofProviders);
    expect(await look({ now: new Date('2026-11-27T12:00:00Z'), ...set })).toEqual([
      {
        owner: null,
        subject: 'eu (client-certificate)',
        facts: { host: 'eu (client-certificate)', ends_at: ends.toISOString() },
      },
    ]);
    const much = await look({ now: new Date('2127-01-01T00:00:00Z'), ...set });
    expect(much.map(({ subject }) => subject)).toEqual([
      'EGRESS_CA',
      'EGRESS_CLIENT_CERTIFICATE',
      'eu (ca)',
      'eu (client-certificate)',
    ]);
  }
});

test('a backup is old where there is a schedule and none has succeeded for long', async () => {
  const at = (succeededAt: Date | null) => ({
    newest: () => Promise.resolve({ succeededAt, coveredAt: null }),
  });
  const now = new Date('2026-11-27T12:00:00Z');
  expect(await detectOldBackups({ newest: () => Promise.resolve(null) })({ now, ...set })).toEqual([]);
  expect(await detectOldBackups(at(new Date('2026-11-26T11:00:00Z')))({ now, ...set })).toEqual([]);
  expect(await detectOldBackups(at(new Date('2026-11-26T09:00:00Z')))({ now, ...set })).toHaveLength(1);
  expect(await detectOldBackups(at(null))({ now, ...set })).toHaveLength(1);
});

test('the log is behind where it is archived and has not been for long, once the service has run for as long', async () => {
  const now = new Date('2026-11-27T12:00:00Z');
  const look = (coveredAt: Date | null, minutesUp = 60) =>
    detectLogLag({ newest: () => Promise.resolve({ succeededAt: null, coveredAt }) }, () => minutesUp * 60_000);
  expect(await detectLogLag({ newest: () => Promise.resolve(null) }, () => 1e9)({ now, ...set })).toEqual([]);
  expect(await look(null)({ now, ...set })).toEqual([]);
  expect(await look(new Date('2026-11-27T11:46:00Z'))({ now, ...set })).toEqual([]);
  const behind = new Date('2026-11-27T11:44:00Z');
  expect(await look(behind)({ now, ...set })).toEqual([
    { owner: null, subject: 'log', facts: { last_at: behind.toISOString() } },
  ]);
  expect(await look(behind, 14)({ now, ...set })).toEqual([]);
});
