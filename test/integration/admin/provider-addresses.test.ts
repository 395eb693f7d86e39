import { gzipSync } from 'node:zlib';
import { Canary } from '../../../proofs/hostile/addresses/canary';
import { connectable, refusedTexts } from '../../../proofs/hostile/addresses/payloads';
import { ScriptedSupplier } from '../../support/scripted-supplier';
import { AdminHouse, type Json, type JsonAnswer } from './admin-house';

/** Rows 65 to 67 of the threats: whatever an administrator types as an address, nothing inside is reached. */
let house: AdminHouse;
let canary: Canary;
let elsewhere: Canary;
let supplier: ScriptedSupplier;
let providerId: number;
let texts: string[];

const SECRET = 'sk-stored-secret-0123456789';
const PROVIDERS = '/dashboard/admin/providers';
const oauth = (address: string): object => ({ settings: { oauth: { token_url: address } } });

beforeAll(async () => {
  [canary, elsewhere, supplier] = await Promise.all([
    Canary.listen(),
    Canary.listen(),
    ScriptedSupplier.start(),
  ]);
  const { port } = new URL(supplier.url);
  house = await AdminHouse.open({
    environment: { SUPPLIER_ALLOW: `127.0.0.1:${port}=127.0.0.1,localhost:${elsewhere.port}=127.0.0.1` },
  });
  texts = refusedTexts(canary.port);
  supplier.answer = { body: { choices: [] } };
  const made = await house.admin.post(PROVIDERS, {
    name: 'stored',
    style: 'openai-style',
    base_url: `${supplier.url}/v1`,
    secret: SECRET,
  });
  providerId = made.json['id'] as number;
});
afterAll(async () => {
  await house.close();
  await Promise.all([canary.stop(), elsewhere.stop(), supplier.stop()]);
});

/** The addresses for which the answer is not the one that is wanted. */
async function oddOnes(
  addresses: readonly string[],
  ask: (address: string) => Promise<JsonAnswer>,
  isRight: (answer: JsonAnswer) => boolean,
): Promise<string[]> {
  const odd: string[] = [];
  const queue = [...addresses];
  const work = async (): Promise<void> => {
    for (let address = queue.pop(); address !== undefined; address = queue.pop()) {
      const answer = await ask(address);
      if (!isRight(answer)) odd.push(`${address}: ${answer.status} ${JSON.stringify(answer.json)}`);
    }
  };
  await Promise.all([work(), work(), work(), work()]);
  return odd;
}

const isRefused = ({ status, json }: JsonAnswer): boolean =>
  (status === 400 && json['code'] === 'invalid_provider') ||
  // A text with control characters is no line, before it is no address.
  (status === 422 && json['code'] === 'validation_error');

const providers = (): Promise<Json[]> =>
  house.app.database.query('SELECT id, base_url, settings, removed_at FROM provider ORDER BY id');

test('the canary counts, and there are 120 addresses at least', async () => {
  await fetch(`http://127.0.0.1:${canary.port}/here`);
  expect(canary.connections).toBe(1);
  canary.connections = 0;
  expect(texts.length).toBeGreaterThanOrEqual(120);
});

test('no such address is stored, of a new provider or of one that is there', async () => {
  const before = await providers();
  const create = (more: object) =>
    house.admin.post(PROVIDERS, { name: 'inside', style: 'openai-style', ...more });
  expect(await oddOnes(texts, (address) => create({ base_url: address }), isRefused)).toEqual([]);
  const tokens = (address: string) => create({ base_url: 'https://api.example.com', ...oauth(address) });
  expect(await oddOnes(texts.slice(-130), tokens, isRefused)).toEqual([]);
  const update = (more: object) => house.admin.post(`${PROVIDERS}/${providerId}/update`, more);
  expect(await oddOnes(texts, (address) => update({ base_url: address }), isRefused)).toEqual([]);
  expect(await oddOnes(texts.slice(-130), (address) => update(oauth(address)), isRefused)).toEqual([]);
  expect(await providers()).toEqual(before);
  expect(canary.connections).toBe(0);
}, 120_000);

test('no such address is connected to by a test, with a typed secret or with the stored one', async () => {
  const isUnreached = (answer: JsonAnswer): boolean =>
    ['address', 'dns', 'configuration'].includes(String(answer.json['failure'])) || isRefused(answer);
  const heard = supplier.heard.length;
  for (const more of [{ style: 'openai-style', secret: 'typed-secret-1234' }, { provider_id: providerId }]) {
    const probe = (address: string) =>
      house.admin.post(`${PROVIDERS}/test`, { upstream_model: 'm', base_url: address, ...more });
    expect(await oddOnes([...texts, ...connectable(canary.port)], probe, isUnreached)).toEqual([]);
  }
  expect(canary.connections).toBe(0);
  expect(supplier.heard).toHaveLength(heard);
}, 120_000);

describe('the test of a provider', () => {
  const probe = (more: object = {}) =>
    house.admin.post(`${PROVIDERS}/test`, { upstream_model: 'm', provider_id: providerId, ...more });

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

  test('reads a megabyte at most, also of what is packed, and shows nothing of a body that is none', async () => {
    const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024, 0x20));
    supplier.answer = { headers: { 'content-encoding': 'gzip' }, body: bomb };
    expect((await probe()).json).toMatchObject({ ok: false });
    supplier.answer = { body: Buffer.alloc(3 * 1024 * 1024, 0x20) };
    expect((await probe()).json).toMatchObject({ ok: false });
    supplier.answer = { headers: { 'content-type': 'text/html' }, body: '<h1>inside-page-canary</h1>' };
    const page = await probe();
    expect(page.json).toMatchObject({ ok: false, failure: 'shape' });
    expect(JSON.stringify(page.json)).not.toContain('inside-page-canary');
  });

  test('waits ten seconds at most', async () => {
    supplier.answer = { body: '{"choices":', rest: '[]}' };
    const begun = Date.now();
    const answer = await fetch(`${house.app.url}${PROVIDERS}/test`, {
      method: 'POST',
      headers: { ...house.admin.headers, 'content-type': 'application/json' },
      body: JSON.stringify({ upstream_model: 'm', provider_id: providerId }),
    });
    expect(await answer.json()).toMatchObject({ ok: false, failure: 'timeout' });
    expect(Date.now() - begun).toBeLessThan(40_000);
    supplier.resume();
  });
});

test('another host clears the stored secret, and no request of any kind brings it there', async () => {
  supplier.answer = { body: { choices: [] } };
  const address = `http://localhost:${elsewhere.port}/v1`;
  const probe = (more: object = {}) =>
    house.admin.post(`${PROVIDERS}/test`, { upstream_model: 'm', provider_id: providerId, ...more });
  expect((await probe({ base_url: address })).json).toMatchObject({ ok: false, failure: 'configuration' });
  // The same host by another name or port is another host.
  const { port } = new URL(supplier.url);
  const before = supplier.heard.length;
  for (const other of [`http://localhost:${port}/v1`, `https://127.0.0.1:${port}/v1`])
    expect((await probe({ base_url: other })).json).toMatchObject({ ok: false });
  expect(supplier.heard).toHaveLength(before);

  const moved = await house.admin.post(`${PROVIDERS}/${providerId}/update`, { base_url: address });
  expect(moved.json).toMatchObject({ secrets: [], cleared_secrets: ['portal'] });
  const [wiped] = await house.app.database.query<Json>(
    'SELECT octet_length(ciphertext) AS size FROM provider_credential WHERE provider_id = $1',
    [providerId],
  );
  expect(wiped).toEqual({ size: 0 });
  expect((await probe()).json).toMatchObject({ ok: false, failure: 'configuration' });
  // Moved back, it is not there again.
  await house.admin.post(`${PROVIDERS}/${providerId}/update`, { base_url: `${supplier.url}/v1` });
  expect((await probe()).json).toMatchObject({ ok: false, failure: 'configuration' });
  expect(elsewhere.requests.flatMap(({ headers }) => Object.values(headers).flat()).join()).not.toContain(
    SECRET,
  );
  expect(elsewhere.requests).toEqual([]);
  expect(house.app.log.join('')).not.toContain(SECRET);
});
