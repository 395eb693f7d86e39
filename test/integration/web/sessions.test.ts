import { SessionsService } from '#product/identity';
import { startTestApp, type TestApp } from '../../support/app';
import { addUser, signIn } from '../../support/users';
import { sendRaw, type RawAnswer } from './raw-exchange';
import { TrialModule } from './trial.module';

let app: TestApp;

beforeAll(async () => {
  app = await startTestApp({ modules: [TrialModule], environment: { BASE_URL: 'http://portal.localhost' } });
});
afterAll(() => app.close());

const outcomeOf = (answer: RawAnswer): [number, string | undefined] => [
  answer.status,
  (JSON.parse(answer.body) as { code?: string }).code,
];
const visitWith = async (path: string, cookie?: string) =>
  outcomeOf(await sendRaw(app.url, { path, headers: cookie === undefined ? {} : { cookie } }));

const SIGNED_IN = [200, undefined];

describe('A session', () => {
  test('signs its user in, whatever other cookies are sent', async () => {
    const userId = await addUser(app, 'platform_admin');
    const cookie = await signIn(app, userId);
    const answer = await sendRaw(app.url, {
      path: '/trial/me',
      headers: { cookie: `a=1; other_svc_session=x;${cookie} ; b` },
    });
    expect(JSON.parse(answer.body)).toEqual({ userId, role: 'platform_admin', scope: { kind: 'platform' } });
    expect(answer.headers['cache-control']).toBe('no-store');
  });

  test.each([
    ['no cookie', undefined, 'authentication_required'],
    ['another cookie', 'session=x', 'authentication_required'],
    ['an empty one', 'svc_session=', 'invalid_session'],
    ['an invented one', `svc_session=${'A'.repeat(43)}`, 'invalid_session'],
    ['SQL', "svc_session=' OR 1=1 --", 'invalid_session'],
    ['8 KB', `svc_session=${'A'.repeat(8_000)}`, 'invalid_session'],
  ])('is refused for %s', async (_name, cookie, code) => {
    expect(await visitWith('/trial/me', cookie)).toEqual([401, code]);
  });

  test('is stored as a hash only', async () => {
    const cookie = await signIn(app, await addUser(app));
    const [row] = await app.database.query<{ text: string }>(
      'SELECT s::text AS text FROM session s LIMIT 1000',
    );
    expect(row?.text).toBeDefined();
    const hashes = await app.database.query<{ hash: string }>(
      "SELECT encode(token_hash, 'base64') AS hash FROM session",
    );
    for (const { hash } of hashes)
      expect(await visitWith('/trial/me', `svc_session=${hash}`)).toEqual([401, 'invalid_session']);
    expect(await visitWith('/trial/me', cookie)).toEqual(SIGNED_IN);
  });

  const moveBack = (userId: number, column: string, by: string) =>
    app.database.query(`UPDATE session SET ${column} = now() + $2::interval WHERE user_id = $1`, [
      userId,
      by,
    ]);

  test.each([
    ['user', 'last_seen_at', '-6 days 23 hours', true],
    ['user', 'last_seen_at', '-7 days -1 minute', false],
    ['org_admin', 'last_seen_at', '-11 hours -59 minutes', true],
    ['org_admin', 'last_seen_at', '-12 hours -1 minute', false],
    ['platform_owner', 'last_seen_at', '-12 hours -1 minute', false],
    ['user', 'expires_at', '1 minute', true],
    ['user', 'expires_at', '-1 second', false],
  ] as const)(
    'is valid only within its lifetime for a %s with %s at %s from now',
    async (role, column, by, open) => {
      const userId = await addUser(app, role);
      const cookie = await signIn(app, userId);
      await moveBack(userId, column, by);
      expect(await visitWith('/trial/me', cookie)).toEqual(open ? SIGNED_IN : [401, 'invalid_session']);
    },
  );

  test('stays alive while it is used and is updated at most once per minute', async () => {
    const userId = await addUser(app);
    const cookie = await signIn(app, userId);
    const lastSeenAt = async () => {
      const rows = await app.database.query<{ at: string }>(
        'SELECT last_seen_at::text AS at FROM session WHERE user_id = $1',
        [userId],
      );
      return rows[0]?.at;
    };
    const first = await lastSeenAt();
    await visitWith('/trial/me', cookie);
    expect(await lastSeenAt()).toBe(first);
    await moveBack(userId, 'last_seen_at', '-2 minutes');
    const older = await lastSeenAt();
    await visitWith('/trial/me', cookie);
    expect(await lastSeenAt()).not.toBe(older);
  });

  test('can be ended permanently, singly or for all devices of the user', async () => {
    const userId = await addUser(app);
    const [one, two, three] = await Promise.all([
      signIn(app, userId),
      signIn(app, userId),
      signIn(app, userId),
    ]);
    const sessions = app.application.get(SessionsService);
    await app.database.transaction((tx) => sessions.end(tx, one.slice('svc_session='.length)));
    expect(await visitWith('/trial/me', one)).toEqual([401, 'invalid_session']);
    expect(await visitWith('/trial/me', two)).toEqual(SIGNED_IN);
    await app.database.transaction((tx) => sessions.endAll(tx, userId));
    expect(await visitWith('/trial/me', two)).toEqual([401, 'invalid_session']);
    expect(await visitWith('/trial/me', three)).toEqual([401, 'invalid_session']);
  });

  test('ends when its user is suspended or archived', async () => {
    const userId = await addUser(app);
    const cookie = await signIn(app, userId);
    for (const status of ['suspended', 'archived', 'deleted', 'pending_verification']) {
      await app.database.query('UPDATE user_account SET status = $2 WHERE id = $1', [userId, status]);
      expect((await visitWith('/trial/me', cookie))[1]).toBe('account_status');
    }
  });

  test('loses a role that is revoked during the session', async () => {
    const userId = await addUser(app, 'org_owner');
    const cookie = await signIn(app, userId);
    expect(await visitWith('/trial/administration', cookie)).toEqual(SIGNED_IN);
    await app.database.query("UPDATE user_account SET role = 'department_admin' WHERE id = $1", [userId]);
    expect(await visitWith('/trial/administration', cookie)).toEqual([403, 'permission_denied']);
    expect(await visitWith('/trial/me', cookie)).toEqual(SIGNED_IN);
  });

  test.each([
    ['user', false],
    ['department_admin', false],
    ['org_admin', true],
    ['org_owner', true],
    ['platform_admin', true],
    ['platform_owner', true],
  ] as const)('opens a route for organisation administrators for a %s: %s', async (role, allowed) => {
    const cookie = await signIn(app, await addUser(app, role));
    expect(await visitWith('/trial/administration', cookie)).toEqual(
      allowed ? SIGNED_IN : [403, 'permission_denied'],
    );
  });
});

describe('Cross-site protection of changes', () => {
  const change = (headers: Record<string, string>, body = '{"email":"a@example.com"}') =>
    sendRaw(app.url, {
      method: 'POST',
      path: '/trial/change',
      body,
      headers: { 'content-type': 'application/json', ...headers },
    });

  const sameOriginHeaders: Record<string, string>[] = [
    { origin: 'null', 'sec-fetch-site': 'same-origin' },
    { 'sec-fetch-site': 'same-origin' },
    { 'sec-fetch-site': 'none' },
    { origin: 'http://portal.localhost' },
    { origin: 'http://portal.localhost', 'sec-fetch-site': 'same-origin' },
    { origin: 'http://localhost:9', host: 'localhost:9', 'sec-fetch-site': 'same-origin' },
  ];
  const crossSiteHeaders: Record<string, string>[] = [
    {},
    { origin: 'null' },
    { origin: '' },
    { origin: 'http://elsewhere.example' },
    { origin: 'http://sub.portal.localhost' },
    { origin: 'http://portal.localhost.elsewhere.example' },
    { origin: 'http://portal.localhost:8080' },
    { origin: 'http://elsewhere.example', 'sec-fetch-site': 'same-origin' },
    { origin: 'http://elsewhere.example', 'x-forwarded-host': 'elsewhere.example' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': '' },
    { 'sec-fetch-site': 'same-origin, same-origin' },
    { origin: 'http://portal.localhost', 'sec-fetch-site': 'cross-site' },
    { origin: 'null', 'content-type': 'text/plain' },
    { origin: 'http://elsewhere.example', 'content-type': 'text/plain' },
    { origin: 'http://elsewhere.example', 'content-type': 'application/x-www-form-urlencoded' },
    { origin: 'http://elsewhere.example', 'x-http-method-override': 'GET' },
  ];

  test.each(sameOriginHeaders)('accepts %j', async (headers) => {
    const cookie = await signIn(app, await addUser(app));
    expect(outcomeOf(await change({ cookie, ...headers }))).toEqual(SIGNED_IN);
  });

  test.each(crossSiteHeaders)('refuses %j before reading session and body', async (headers) => {
    const cookie = await signIn(app, await addUser(app));
    expect(outcomeOf(await change({ cookie, ...headers }, '{'))).toEqual([403, 'csrf_rejected']);
    expect(outcomeOf(await change({ cookie: 'x=1', ...headers }))).toEqual([403, 'csrf_rejected']);
  });

  test('needs no origin from a client without cookies, which gains no access', async () => {
    expect(outcomeOf(await change({}))).toEqual([401, 'authentication_required']);
  });

  test('does not apply to reads', async () => {
    const cookie = await signIn(app, await addUser(app));
    const answer = await sendRaw(app.url, {
      path: '/trial/me',
      headers: { cookie, origin: 'http://elsewhere.example', 'sec-fetch-site': 'cross-site' },
    });
    expect(answer.status).toBe(200);
    expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
  });

  test('reads no body of a request without a session', async () => {
    const answer = await sendRaw(app.url, {
      method: 'POST',
      path: '/trial/change',
      headers: { 'content-type': 'application/json', 'content-length': '1000000' },
    });
    expect([...outcomeOf(answer), answer.headers.connection]).toEqual([
      401,
      'authentication_required',
      'close',
    ]);
  });
});
