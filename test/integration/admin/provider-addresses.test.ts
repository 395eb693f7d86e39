import { gzipSync } from 'node:zlib';
import { Canary } from '../../../proofs/hostile/addresses/canary';
import { connectable, refusedTexts } from '../../../proofs/hostile/addresses/payloads';
import { ScriptedSupplier } from '../../support/scripted-supplier';
import { AdminHouse, type Json, type AdminJsonResponse } from './admin-fixture';

/** Rows 65 to 67 of the threat model: no address that an administrator enters reaches an internal service. */
let fixture: AdminHouse;
let canary: Canary;
let otherCanary: Canary;
let supplier: ScriptedSupplier;
let providerId: number;
let internalAddresses: string[];

const SECRET = 'sk-stored-secret-0123456789';
const PROVIDERS = '/dashboard/admin/providers';
const oauthSettings = (address: string): object => ({ settings: { oauth: { token_url: address } } });

beforeAll(async () => {
  [canary, otherCanary, supplier] = await Promise.all([
    Canary.listen(),
    Canary.listen(),
    ScriptedSupplier.start(),
  ]);
  const { port } = new URL(supplier.url);
  fixture = await AdminHouse.open({
    environment: { SUPPLIER_ALLOW: `127.0.0.1:${port}=127.0.0.1,localhost:${otherCanary.port}=127.0.0.1` },
  });
  internalAddresses = refusedTexts(canary.port);
  supplier.answer = { body: { choices: [] } };
  const createResponse = await fixture.admin.post(PROVIDERS, {
    name: 'stored',
    style: 'openai-style',
    base_url: `${supplier.url}/v1`,
    secret: SECRET,
  });
  providerId = createResponse.json['id'] as number;
});
afterAll(async () => {
  await fixture.close();
  await Promise.all([canary.stop(), otherCanary.stop(), supplier.stop()]);
});

/** Returns the addresses with an unexpected response. */
async function findUnexpected(
  addresses: readonly string[],
  request: (address: string) => Promise<AdminJsonResponse>,
  isExpected: (answer: AdminJsonResponse) => boolean,
): Promise<string[]> {
  const unexpected: string[] = [];
  const queue = [...addresses];
  const processQueue = async (): Promise<void> => {
    for (let address = queue.pop(); address !== undefined; address = queue.pop()) {
      const answer = await request(address);
      if (!isExpected(answer)) unexpected.push(`${address}: ${answer.status} ${JSON.stringify(answer.json)}`);
    }
  };
  await Promise.all([processQueue(), processQueue(), processQueue(), processQueue()]);
  return unexpected;
}

const isRefused = ({ status, json }: AdminJsonResponse): boolean =>
  (status === 400 && json['code'] === 'invalid_provider') ||
  // Control characters fail the text validation before the address validation.
  (status === 422 && json['code'] === 'validation_error');

const providers = (): Promise<Json[]> =>
  fixture.app.database.query('SELECT id, base_url, settings, removed_at FROM provider ORDER BY id');

test('the canary counts connections, and the list has at least 120 addresses', async () => {
  await fetch(`http://127.0.0.1:${canary.port}/here`);
  expect(canary.connections).toBe(1);
  canary.connections = 0;
  expect(internalAddresses.length).toBeGreaterThanOrEqual(120);
});

test('no internal address is stored for a new or an existing provider', async () => {
  const providersBefore = await providers();
  const create = (fields: object) =>
    fixture.admin.post(PROVIDERS, { name: 'inside', style: 'openai-style', ...fields });
  expect(
    await findUnexpected(internalAddresses, (address) => create({ base_url: address }), isRefused),
  ).toEqual([]);
  const tokens = (address: string) =>
    create({ base_url: 'https://api.example.com', ...oauthSettings(address) });
  expect(await findUnexpected(internalAddresses.slice(-130), tokens, isRefused)).toEqual([]);
  const update = (fields: object) => fixture.admin.post(`${PROVIDERS}/${providerId}/update`, fields);
  expect(
    await findUnexpected(internalAddresses, (address) => update({ base_url: address }), isRefused),
  ).toEqual([]);
  expect(
    await findUnexpected(
      internalAddresses.slice(-130),
      (address) => update(oauthSettings(address)),
      isRefused,
    ),
  ).toEqual([]);
  expect(await providers()).toEqual(providersBefore);
  expect(canary.connections).toBe(0);
}, 120_000);

test('no internal address is connected to by a test, with a typed or with the stored secret', async () => {
  const isUnreached = (answer: AdminJsonResponse): boolean =>
    ['address', 'dns', 'configuration'].includes(String(answer.json['failure'])) || isRefused(answer);
  const requestsBefore = supplier.requests.length;
  for (const credentials of [
    { style: 'openai-style', secret: 'typed-secret-1234' },
    { provider_id: providerId },
  ]) {
    const probe = (address: string) =>
      fixture.admin.post(`${PROVIDERS}/test`, { upstream_model: 'm', base_url: address, ...credentials });
    expect(
      await findUnexpected([...internalAddresses, ...connectable(canary.port)], probe, isUnreached),
    ).toEqual([]);
  }
  expect(canary.connections).toBe(0);
  expect(supplier.requests).toHaveLength(requestsBefore);
}, 120_000);

describe('The provider connection test', () => {
  const probe = (fields: object = {}) =>
    fixture.admin.post(`${PROVIDERS}/test`, { upstream_model: 'm', provider_id: providerId, ...fields });

  test('follows no redirect, whatever its status', async () => {
    for (const status of [301, 302, 303, 307, 308]) {
      const location = `http://127.0.0.1:${canary.port}/redirected`;
      supplier.answer = { status, headers: { location }, body: '' };
      const { json } = await probe();
      expect(json).toMatchObject({ ok: false, failure: 'shape', status });
      expect(JSON.stringify(json)).not.toContain('redirected');
    }
    expect(canary.connections).toBe(0);
  });

  test('reads at most one megabyte, also after decompression, and shows no part of an invalid body', async () => {
    const zipBomb = gzipSync(Buffer.alloc(64 * 1024 * 1024, 0x20));
    supplier.answer = { headers: { 'content-encoding': 'gzip' }, body: zipBomb };
    expect((await probe()).json).toMatchObject({ ok: false });
    supplier.answer = { body: Buffer.alloc(3 * 1024 * 1024, 0x20) };
    expect((await probe()).json).toMatchObject({ ok: false });
    supplier.answer = { headers: { 'content-type': 'text/html' }, body: '<h1>inside-page-canary</h1>' };
    const page = await probe();
    expect(page.json).toMatchObject({ ok: false, failure: 'shape' });
    expect(JSON.stringify(page.json)).not.toContain('inside-page-canary');
  });

  test('times out after ten seconds', async () => {
    supplier.answer = { body: '{"choices":', rest: '[]}' };
    const answer = await fetch(`${fixture.app.url}${PROVIDERS}/test`, {
      method: 'POST',
      headers: { ...fixture.admin.headers, 'content-type': 'application/json' },
      body: JSON.stringify({ upstream_model: 'm', provider_id: providerId }),
    });
    expect(await answer.json()).toMatchObject({ ok: false, failure: 'timeout' });
    // The supplier has not sent the rest of its response, so only the timeout can have ended the request.
    supplier.resume();
  });
});

test('a changed host clears the stored secret, and no request sends the secret to the new host', async () => {
  supplier.answer = { body: { choices: [] } };
  const address = `http://localhost:${otherCanary.port}/v1`;
  const probe = (fields: object = {}) =>
    fixture.admin.post(`${PROVIDERS}/test`, { upstream_model: 'm', provider_id: providerId, ...fields });
  expect((await probe({ base_url: address })).json).toMatchObject({ ok: false, failure: 'configuration' });
  // Another name or port counts as another host.
  const { port } = new URL(supplier.url);
  const requestsBefore = supplier.requests.length;
  for (const other of [`http://localhost:${port}/v1`, `https://127.0.0.1:${port}/v1`])
    expect((await probe({ base_url: other })).json).toMatchObject({ ok: false });
  expect(supplier.requests).toHaveLength(requestsBefore);

  const updateResponse = await fixture.admin.post(`${PROVIDERS}/${providerId}/update`, { base_url: address });
  expect(updateResponse.json).toMatchObject({ secrets: [], cleared_secrets: ['portal'] });
  const [wiped] = await fixture.app.database.query<Json>(
    'SELECT octet_length(ciphertext) AS size FROM provider_credential WHERE provider_id = $1',
    [providerId],
  );
  expect(wiped).toEqual({ size: 0 });
  expect((await probe()).json).toMatchObject({ ok: false, failure: 'configuration' });
  // Restoring the address does not restore the secret.
  await fixture.admin.post(`${PROVIDERS}/${providerId}/update`, { base_url: `${supplier.url}/v1` });
  expect((await probe()).json).toMatchObject({ ok: false, failure: 'configuration' });
  expect(otherCanary.requests.flatMap(({ headers }) => Object.values(headers).flat()).join()).not.toContain(
    SECRET,
  );
  expect(otherCanary.requests).toEqual([]);
  expect(fixture.app.log.join('')).not.toContain(SECRET);
});
