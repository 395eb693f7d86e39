import { UserAccount } from '#product/identity';
import { TokenEvents } from '#product/catalogue';
import type { UserRole } from '../../../src/kernel';
import { RateLimiter } from '#product/keys';
import { startTestApp, type TestApp } from '../../support/app';
import { addKey, addUser, signIn } from '../../support/users';
import { sendRaw } from '../web/raw-exchange';

let app: TestApp;
let platformCookie: string;

const signInAs = async (role: UserRole, organisationId: number | null = null) => {
  const userId = await addUser(app, role);
  await app.database.source.getRepository(UserAccount).update(userId, { organisationId });
  return { userId, cookie: await signIn(app, userId) };
};
const getJson = async (path: string, cookie = platformCookie) => {
  const { status, body } = await sendRaw(app.url, { path, headers: { cookie, accept: 'application/json' } });
  return { status, json: JSON.parse(body) as Record<string, unknown> };
};

const credentialOf = '00000000-0000-7000-8000-00000000000';
beforeAll(async () => {
  app = await startTestApp({ environment: { KEY_RATE_LIMIT_RPM: '30' } });
  platformCookie = (await signInAs('platform_admin')).cookie;
  await app.database.query(
    `INSERT INTO provider (name, style, base_url) VALUES ('pooled', 'native-oauth', 'https://pool.example')`,
  );
  for (const [place, [label, health]] of Object.entries([
    ['first', 'ok'],
    ['second', 'rejected'],
  ])) {
    await app.database.query(
      `INSERT INTO provider_credential (id, provider_id, label, kind, host, key_id, wrapped_key, nonce, ciphertext, health)
       SELECT $1, id, $2, 'oauth-pool', 'https://pool.example', 'none', '', '', '', $3 FROM provider WHERE name = 'pooled'`,
      [`${credentialOf}${place}`, label, health],
    );
  }
  const events = app.application.get(TokenEvents, { strict: false });
  await events.record({
    credentialId: `${credentialOf}0`,
    provider: 'pooled',
    keyName: 'first',
    kind: 'refreshed',
    source: 'refresh',
  });
  await events.record({
    credentialId: `${credentialOf}1`,
    provider: 'pooled',
    keyName: 'second',
    kind: 'rejected',
    source: 'call',
    errorKind: '401',
  });
});
afterAll(() => app.close());

describe('Token logs', () => {
  const namesOf = async (query: string) =>
    ((await getJson(`/api/admin/token-logs${query}`)).json.data as { key_name: string }[]).map(
      ({ key_name: name }) => name,
    );

  test('returns the newest entries first, in pages, for the default window', async () => {
    const { status, json } = await getJson('/api/admin/token-logs');
    expect(status).toBe(200);
    expect(json).toMatchObject({ has_more: false, limit: 100, offset: 0, window_hours: 24 });
    expect(await namesOf('')).toEqual(['second', 'first']);
    expect((await getJson('/api/admin/token-logs?limit=1')).json.has_more).toBe(true);
    expect(await namesOf('?limit=1&offset=1')).toEqual(['first']);
  });

  test.each([
    ['?provider=pooled&key_name=first', ['first']],
    ['?provider=other', []],
    ['?kinds=rejected,limited', ['second']],
    ['?kinds=refreshed,rejected', ['second', 'first']],
    ['?source=refresh', ['first']],
    ['?error_kind=401', ['second']],
    ['?since_ms=9999999999999', []],
    ['?provider=&key_name=&kinds=&source=&error_kind=&since_ms=0&window_hours=1', ['second', 'first']],
  ])('filters by %s', async (query, names) => {
    expect(await namesOf(query)).toEqual(names);
  });

  test.each(['limit=0', 'limit=1001', 'limit=x', 'offset=-1', 'window_hours=0', 'since_ms=-1', 'other=1'])(
    'refuses %s',
    async (query) => {
      expect((await getJson(`/api/admin/token-logs?${query}`)).status).toBe(422);
    },
  );

  test('is available to platform administrators only', async () => {
    const { cookie } = await signInAs('org_owner');
    expect((await getJson('/api/admin/token-logs', cookie)).status).toBe(403);
    expect((await getJson('/api/admin/token-logs', '')).status).toBe(401);
  });
});

test('the proxy health endpoint lists each pool and token without secrets', async () => {
  const { status, json } = await getJson('/dashboard/admin/api/proxy-health');
  expect(status).toBe(200);
  expect(json.pools).toMatchObject([
    {
      provider: 'pooled',
      state: 'degraded',
      pool_size: 2,
      usable: 1,
      tokens: [
        { key_name: 'first', health: 'ok', last_event: { kind: 'refreshed' } },
        { key_name: 'second', health: 'rejected', last_event: { kind: 'rejected', error_kind: '401' } },
      ],
    },
  ]);
  expect(
    (await getJson('/dashboard/admin/api/proxy-health', (await signInAs('org_owner')).cookie)).status,
  ).toBe(403);
});

describe('The rate limit state of a key', () => {
  test('is reported without consuming the limit', async () => {
    const owner = await signInAs('user');
    const key = await addKey(app, owner.userId);
    await app.application.get(RateLimiter, { strict: false }).take({ keyId: key.id, rateLimitRpm: 30 });
    for (const _ of [1, 2]) {
      const { status, json } = await getJson(`/dashboard/admin/api/key-rate-limit-state?key_id=${key.id}`);
      expect(status).toBe(200);
      expect(json).toMatchObject({ key_id: key.id, limit: 30, used: 1, remaining: 29, blocked: false });
      expect(Date.parse(String(json.resets_at))).toBeGreaterThan(Date.now());
    }
  });

  test('is reported as not found for an inaccessible key, as for an unknown one', async () => {
    const [row] = await app.database.query<{ id: number }>(
      `INSERT INTO organisation (name, slug) VALUES ('A', 'a'), ('B', 'b') RETURNING id`,
    );
    const key = await addKey(app, (await signInAs('user', row?.id)).userId);
    const ownAdmin = await signInAs('org_admin', row?.id);
    const otherAdmin = await signInAs('org_admin', (row?.id ?? 0) + 1);
    const path = '/dashboard/admin/api/key-rate-limit-state?key_id=';
    expect((await getJson(`${path}${key.id}`, ownAdmin.cookie)).status).toBe(200);
    const otherKey = await getJson(`${path}${key.id}`, otherAdmin.cookie);
    const unknownKey = await getJson(`${path}2147483647`, otherAdmin.cookie);
    expect(otherKey.status).toBe(404);
    const { request_id: _one, ...one } = otherKey.json.error as Record<string, unknown>;
    const { request_id: _other, ...other } = unknownKey.json.error as Record<string, unknown>;
    expect(one).toEqual(other);
    expect((await getJson(`${path}${key.id}`, (await signInAs('user')).cookie)).status).toBe(403);
  });

  test.each(['', '?key_id=', '?key_id=x', '?key_id=0', '?key_id=1.5'])('refuses "%s"', async (query) => {
    expect((await getJson(`/dashboard/admin/api/key-rate-limit-state${query}`)).status).toBe(422);
  });
});
