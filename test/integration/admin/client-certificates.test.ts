import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AdminHouse } from './admin-house';

let house: AdminHouse;
let providerId: number;

beforeAll(async () => {
  house = await AdminHouse.open({ environment: {} });
  const made = await house.admin.post('/dashboard/admin/providers', {
    name: 'mutual',
    style: 'openai-style',
    base_url: 'https://models.example/v1',
    secret: 'sk-very-secret-0123456789',
  });
  providerId = made.json['id'] as number;
});
afterAll(() => house.close());

test('a certificate of ours comes with its key, beside the secret', async () => {
  const fixture = (name: string): string => readFileSync(join(__dirname, '../../fixtures/tls', name), 'utf8');
  const [certificate, key] = [fixture('client.cert.pem'), fixture('client.key.pem')];
  const send = (form: object) => house.admin.post(`/dashboard/admin/providers/${providerId}/update`, form);
  const kept = await send({ client_certificate: certificate, client_key: key });
  const end = new X509Certificate(certificate).fingerprint256.replaceAll(':', '').slice(-4);
  expect(kept.json).toMatchObject({
    secrets: expect.arrayContaining([
      expect.objectContaining({ kind: 'client-certificate', last4: end, fits: true }),
    ]) as unknown,
  });
  expect(await house.entries('credential.changed')).toContainEqual(
    expect.objectContaining({ object_label: expect.stringMatching(/: client-certificate$/) as string }),
  );
  for (const [form, words] of [
    [{ client_certificate: certificate }, 'the private key of the certificate'],
    [{ client_key: key }, 'certificates in PEM'],
    [
      { client_certificate: certificate, client_key: fixture('directory.key.pem') },
      'the private key of the certificate',
    ],
    [{ settings: { egress: { proxy: 'http://10.0.0.1:3128' } } }, 'The setting "egress" takes as proxy'],
  ] as const)
    expect((await send(form)).json).toMatchObject({ error: expect.stringContaining(words) as string });
});
