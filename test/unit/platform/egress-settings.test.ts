import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadSettings, SettingsError } from '../../../src/platform';

const file = (name: string): string => join(__dirname, '../../fixtures/tls', name);
const pem = (name: string): string => readFileSync(file(name), 'utf8');

const issuesOf = (environment: Record<string, string>): Record<string, string> => {
  try {
    loadSettings({ NODE_ENV: 'test', ...environment });
  } catch (error) {
    if (error instanceof SettingsError)
      return Object.fromEntries(error.issues.map(({ name, problem }) => [name, problem]));
    throw error;
  }
  return {};
};

test.each([
  'http://proxy.internal:3128',
  'https://proxy.internal',
  'http://user:p%40ss@proxy.internal:3128',
  'http://[fd00::1]:3128/',
])('%s is a valid proxy', (address) => {
  expect(issuesOf({ EGRESS_PROXY: address, EGRESS_PROXIES: `eu=${address}` })).toEqual({});
});

test.each([
  'proxy.lan:3128',
  'socks5://proxy.internal:1080',
  'http://proxy.internal:3128/path',
  'http://proxy.internal:3128?x=y',
  'http://us%3Aer:pass@proxy.internal',
  'http://user:%zz@proxy.internal',
  'http://proxy .internal',
])('%s is not a proxy, and the issue does not repeat it', (address) => {
  const issues = issuesOf({ EGRESS_PROXY: address, EGRESS_PROXIES: `eu=${address}` });
  expect(Object.keys(issues)).toEqual(['EGRESS_PROXY', 'EGRESS_PROXIES']);
  expect(JSON.stringify(issues)).not.toContain(address);
});

test.each([
  'http://a.internal',
  'direct=http://a.internal',
  'EU=http://a.internal',
  'a=http://a.b,a=http://c.d',
])('proxies have unique names (%s)', (list) =>
  expect(issuesOf({ EGRESS_PROXIES: list })).toHaveProperty('EGRESS_PROXIES'),
);

test('client certificate is read together with its key or not at all', () => {
  const certificate = { EGRESS_CLIENT_CERTIFICATE_FILE: file('client.cert.pem') };
  expect(issuesOf({ ...certificate, EGRESS_CLIENT_KEY_FILE: file('client.key.pem') })).toEqual({});
  expect(issuesOf(certificate)).toEqual({
    EGRESS_CLIENT_CERTIFICATE: 'needs EGRESS_CLIENT_KEY beside it',
  });
  expect(issuesOf({ EGRESS_CLIENT_KEY_FILE: file('client.key.pem') })).toEqual({
    EGRESS_CLIENT_KEY: 'needs EGRESS_CLIENT_CERTIFICATE beside it',
  });
  const mismatchIssues = issuesOf({ ...certificate, EGRESS_CLIENT_KEY: pem('supplier.key.pem') });
  expect(mismatchIssues).toEqual({ EGRESS_CLIENT_KEY: 'is not the key of EGRESS_CLIENT_CERTIFICATE' });
});

test('certificate authorities must be certificates', () => {
  expect(issuesOf({ EGRESS_CA: `${pem('supplier.cert.pem')}${pem('client.cert.pem')}` })).toEqual({});
  expect(issuesOf({ EGRESS_CA: pem('client.key.pem') })).toHaveProperty('EGRESS_CA');
  expect(issuesOf({ EGRESS_CA_FILE: file('nowhere.pem') })).toHaveProperty('EGRESS_CA_FILE');
});
