import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AdminHouse } from './admin-fixture';

let fixture: AdminHouse;
let providerId: number;

beforeAll(async () => {
  fixture = await AdminHouse.open({ environment: { EGRESS_PROXIES: 'eu=http://127.0.0.1:9' } });
  const createResponse = await fixture.admin.post('/dashboard/admin/providers', {
    name: 'mutual',
    style: 'openai-style',
    base_url: 'https://models.example/v1',
    secret: 'sk-very-secret-0123456789',
  });
  providerId = createResponse.json['id'] as number;
});
afterAll(() => fixture.close());

test('a client certificate is stored with its key, separate from the secret', async () => {
  const readFixtureFile = (name: string): string =>
    readFileSync(join(__dirname, '../../fixtures/tls', name), 'utf8');
  const [certificate, key] = [readFixtureFile('client.cert.pem'), readFixtureFile('client.key.pem')];
  const send = (form: object) => fixture.admin.post(`/dashboard/admin/providers/${providerId}/update`, form);
  const saveResponse = await send({ client_certificate: certificate, client_key: key });
  const end = new X509Certificate(certificate).fingerprint256.replaceAll(':', '').slice(-4);
  expect(saveResponse.json).toMatchObject({
    secrets: expect.arrayContaining([
      expect.objectContaining({ kind: 'client-certificate', last4: end, fits: true }),
    ]) as unknown,
  });
  expect(await fixture.entries('credential.changed')).toContainEqual(
    expect.objectContaining({ object_label: expect.stringMatching(/: client-certificate$/) as string }),
  );
  for (const [form, words] of [
    [{ client_certificate: certificate }, 'the private key of the certificate'],
    [{ client_key: key }, 'certificates in PEM'],
    [
      { client_certificate: certificate, client_key: readFixtureFile('directory.key.pem') },
      'the private key of the certificate',
    ],
    [
      { client_certificate: readFixtureFile('weak.cert.pem'), client_key: readFixtureFile('weak.key.pem') },
      'the private key of the certificate',
    ],
  ] as const)
    expect((await send(form)).json).toMatchObject({ error: expect.stringContaining(words) as string });
});

test.each([
  ['an address in place of a name', { proxy: 'http://10.0.0.1:3128' }, 'takes as proxy "direct"'],
  ['a name that the settings lack', { proxy: 'us' }, 'names "us" as proxy, but EGRESS_PROXIES has eu'],
  [
    'authorities that cannot be read',
    { ca: '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----' },
    'takes as ca certificates in PEM',
  ],
])('egress settings with %s are refused on save, and nothing is stored', async (_, egress, words) => {
  const path = `/dashboard/admin/providers/${providerId}`;
  const refusal = await fixture.admin.post(`${path}/update`, { settings: { egress } });
  expect([refusal.status, refusal.json]).toMatchObject([
    400,
    { code: 'invalid_provider', error: expect.stringContaining(words) as string },
  ]);
  expect(JSON.stringify(refusal.json)).toContain('settings.egress');
  const createResponse = await fixture.admin.post('/dashboard/admin/providers', {
    name: 'with-a-way',
    style: 'openai-style',
    base_url: 'https://models.example/v1',
    settings: { egress },
  });
  expect([createResponse.status, createResponse.json]).toMatchObject([400, { code: 'invalid_provider' }]);
  const rows = await fixture.app.database.query<{ egress: unknown }>(
    `SELECT settings->'egress' AS egress FROM provider WHERE name IN ('mutual', 'with-a-way')`,
  );
  expect(rows).toEqual([{ egress: null }]);
});
