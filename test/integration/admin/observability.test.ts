import { UserAccount } from '#product/identity';
import { TokenEvents } from '#product/catalogue';
import type { UserRole } from '../../../src/kernel';
import { RateLimiter } from '#product/keys';
import { startTestApp, type TestApp } from '../../support/app';
import { addKey, addUser, signIn } from '../../support/people';
import { ask } from '../web/raw-exchange';

let app: TestApp;
let platform: string;

const person = async (role: UserRole, organisationId: number | null = null) => {
  const userId = await addUser(app, role);
  await app.database.source.getRepository(UserAccount).update(userId, { organisationId });
  return { userId, cookie: await signIn(app, userId) };
};
const get = async (path: string, cookie = platform) => {
  const { status, body } = await ask(app.url, { path, headers: { cookie, accept: 'application/json' } });
  return { status, json: JSON.parse(body) as Record<string, unknown> };
};

const credentialOf = '00000000-0000-7000-8000-00000000000';
beforeAll(async () => {
  app = await startTestApp({ environment: { KEY_RATE_LIMIT_RPM: '30' } });
  platform = (await person('platform_admin')).cookie;
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

describe('token logs', () => {
  const namesOf = async (query: string) =>
    ((await get(`/api/admin/token-logs${query}`)).json.data as { key_name: string }[]).map(
      ({ key_name: name }) => name,
    );

  test('newest first, in pages, with the usual window', async () => {
    const { status, json } = await get('/api/admin/token-logs');
    expect(status).toBe(200);
    expect(json).toMatchObject({ has_more: false, limit: 100, offset: 0, window_hours: 24 });
    expect(await namesOf('')).toEqual(['second', 'first']);
    expect((await get('/api/admin/token-logs?limit=1')).json.has_more).toBe(true);
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
  ])('%s', async (query, names) => {
    expect(await namesOf(query)).toEqual(names);
  });

  test.each(['limit=0', 'limit=1001', 'limit=x', 'offset=-1', 'window_hours=0', 'since_ms=-1', 'other=1'])(
    'refuses %s',
    async (query) => {
      expect((await get(`/api/admin/token-logs?${query}`)).status).toBe(422);
    },
  );

  test('are for the platform alone', async () => {
    const { cookie } = await person('org_owner');
    expect((await get('/api/admin/token-logs', cookie)).status).toBe(403);
    expect((await get('/api/admin/token-logs', '')).status).toBe(401);
  });
});

test('proxy health tells each pool and token, and no secret', async () => {
  const { status, json } = await get('/dashboard/admin/api/proxy-health');
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
  expect((await get('/dashboard/admin/api/proxy-health', (await person('org_owner')).cookie)).status).toBe(
    403,
  );
});

describe('the limiter of a key', () => {
  test('is told without being used', async () => {
    const owner = await person('user');
    const key = await addKey(app, owner.userId);
    await app.application.get(RateLimiter, { strict: false }).take({ keyId: key.id, rateLimitRpm: 30 });
    for (const _ of [1, 2]) {
      const { status, json } = await get(`/dashboard/admin/api/key-rate-limit-state?key_id=${key.id}`);
      expect(status).toBe(200);
      expect(json).toMatchObject({ key_id: key.id, limit: 30, used: 1, remaining: 29, blocked: false });
      expect(Date.parse(String(json.resets_at))).toBeGreaterThan(Date.now());
    }
  });

  test('of a foreign key is as one that does not exist', async () => {
    const [row] = await app.database.query<{ id: number }>(
      `INSERT INTO organisation (name, slug) VALUES ('A', 'a'), ('B', 'b') RETURNING id`,
    );
    const key = await addKey(app, (await person('user', row?.id)).userId);
    const near = await person('org_admin', row?.id);
    const far = await person('org_admin', (row?.id ?? 0) + 1);
    const path = '/dashboard/admin/api/key-rate-limit-state?key_id=';
    expect((await get(`${path}${key.id}`, near.cookie)).status).toBe(200);
    const foreign = await get(`${path}${key.id}`, far.cookie);
    const absent = await get(`${path}2147483647`, far.cookie);
    expect(foreign.status).toBe(404);
    const { request_id: _one, ...one } = foreign.json.error as Record<string, unknown>;
    const { request_id: _other, ...other } = absent.json.error as Record<string, unknown>;
    expect(one).toEqual(other);
    expect((await get(`${path}${key.id}`, (await person('user')).cookie)).status).toBe(403);
  });

  test.each(['', '?key_id=', '?key_id=x', '?key_id=0', '?key_id=1.5'])('refuses "%s"', async (query) => {
    expect((await get(`/dashboard/admin/api/key-rate-limit-state${query}`)).status).toBe(422);
  });
});
