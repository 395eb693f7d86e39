import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import {
  detectOldBackups,
  detectExpiringCertificates,
  detectLogLag,
} from '../../../src/alerts/looks/maintenance-detectors';
import type { ProviderCertificate } from '../../../src/catalogue';

const fixture = (name: string): string => readFileSync(join(__dirname, '../../fixtures/tls', name), 'utf8');
const ruleSettings = { parameters: () => ({ days: 14, hours: 26 }), minimum: () => 14 };

test('BASE_URL certificate is reported when it expires within the notice period, trusted or not', async () => {
  const server = createServer({ cert: fixture('supplier.cert.pem'), key: fixture('supplier.key.pem') });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const checkCertificates = detectExpiringCertificates({ baseUrl: `https://127.0.0.1:${port}` }, () => []);
  try {
    expect(await checkCertificates({ now: new Date('2126-10-14T15:00:00Z'), ...ruleSettings })).toEqual([]);
    expect(await checkCertificates({ now: new Date('2126-10-15T15:00:00Z'), ...ruleSettings })).toEqual([
      {
        owner: null,
        subject: `127.0.0.1:${port}`,
        facts: { host: `127.0.0.1:${port}`, ends_at: '2126-10-28T15:20:19.000Z' },
      },
    ]);
  } finally {
    server.close();
  }
  await expect(checkCertificates({ now: new Date(), ...ruleSettings })).rejects.toThrow('ECONNREFUSED');
  const checkPlainHttp = detectExpiringCertificates({ baseUrl: `http://127.0.0.1:${port}` }, () => []);
  expect(await checkPlainHttp({ now: new Date(), ...ruleSettings })).toEqual([]);
});

test('egress certificates of providers are reported even when BASE_URL is unreachable', async () => {
  const endsAt = new Date('2026-12-01T00:00:00Z');
  const providerCertificates = (): ProviderCertificate[] => [
    { provider: 'eu', what: 'ca', endsAt: new Date('2126-01-01T00:00:00Z') },
    { provider: 'eu', what: 'client-certificate', endsAt: endsAt },
    { provider: 'us', what: 'client-certificate', endsAt: null },
  ];
  const [egressCa, egressClientCertificate] = [fixture('supplier.cert.pem'), fixture('client.cert.pem')];
  for (const baseUrl of ['http://127.0.0.1:1', 'https://127.0.0.1:1']) {
    const checkCertificates = detectExpiringCertificates(
      { baseUrl, egressCa, egressClientCertificate },
      providerCertificates,
    );
    expect(await checkCertificates({ now: new Date('2026-11-27T12:00:00Z'), ...ruleSettings })).toEqual([
      {
        owner: null,
        subject: 'eu (client-certificate)',
        facts: { host: 'eu (client-certificate)', ends_at: endsAt.toISOString() },
      },
    ]);
    const allExpired = await checkCertificates({ now: new Date('2127-01-01T00:00:00Z'), ...ruleSettings });
    expect(allExpired.map(({ subject }) => subject)).toEqual([
      'EGRESS_CA',
      'EGRESS_CLIENT_CERTIFICATE',
      'eu (ca)',
      'eu (client-certificate)',
    ]);
  }
});

test('backups are reported as old when a scheduled backup has not succeeded within the limit', async () => {
  const newestAt = (succeededAt: Date | null) => ({
    newest: () => Promise.resolve({ succeededAt, coveredAt: null }),
  });
  const now = new Date('2026-11-27T12:00:00Z');
  expect(await detectOldBackups({ newest: () => Promise.resolve(null) })({ now, ...ruleSettings })).toEqual(
    [],
  );
  expect(
    await detectOldBackups(newestAt(new Date('2026-11-26T11:00:00Z')))({ now, ...ruleSettings }),
  ).toEqual([]);
  expect(
    await detectOldBackups(newestAt(new Date('2026-11-26T09:00:00Z')))({ now, ...ruleSettings }),
  ).toHaveLength(1);
  expect(await detectOldBackups(newestAt(null))({ now, ...ruleSettings })).toHaveLength(1);
});

test('log archiving is reported as behind once both its age and the uptime exceed the limit', async () => {
  const now = new Date('2026-11-27T12:00:00Z');
  const checkLog = (coveredAt: Date | null, minutesUp = 60) =>
    detectLogLag(
      { newest: () => Promise.resolve({ succeededAt: null, coveredAt }) },
      () => minutesUp * 60_000,
    );
  expect(
    await detectLogLag({ newest: () => Promise.resolve(null) }, () => 1e9)({ now, ...ruleSettings }),
  ).toEqual([]);
  expect(await checkLog(null)({ now, ...ruleSettings })).toEqual([]);
  expect(await checkLog(new Date('2026-11-27T11:46:00Z'))({ now, ...ruleSettings })).toEqual([]);
  const staleCoverage = new Date('2026-11-27T11:44:00Z');
  expect(await checkLog(staleCoverage)({ now, ...ruleSettings })).toEqual([
    { owner: null, subject: 'log', facts: { last_at: staleCoverage.toISOString() } },
  ]);
  expect(await checkLog(staleCoverage, 14)({ now, ...ruleSettings })).toEqual([]);
});
