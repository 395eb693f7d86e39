import { bindingOf } from '#product/identity';
import type { TestApp } from '../../support/app';
import { Browser, startAccountFixture } from './account-fixture';
import {
  agree,
  HandOffFixture,
  isIn,
  type HandOffMember,
  proven,
  stateIn,
  unproven,
} from './hand-off-fixture';
import { base, reseller, type ProviderPerson, signInAtProvider } from './provider-fixture';

/**
 * Sign-in that starts on a portal other than BASE_URL (ADR 58). The attacker runs the host and chooses the portal, the
 * binding, `next`, states, tokens and cookies.
 */
let fixture: HandOffFixture;
let app: TestApp;

beforeAll(async () => {
  fixture = await HandOffFixture.start();
  app = fixture.providers.app;
});
afterAll(() => fixture.providers.close());

const setColumn = (userId: number, column: string, value: unknown) =>
  app.database.query(`UPDATE user_account SET ${column} = $2 WHERE id = $1`, [userId, value]);
const organisations = (): Record<string, number | null> => ({
  ours: fixture.ownOrganisation,
  theirs: fixture.otherOrganisation,
  none: null,
});

describe.each([
  ['a proven host of the organisation', proven],
  ['an origin of PORTAL_ORIGINS', reseller],
])('Hand-off at %s', (_, portal) => {
  test('the consent page names host and account, and its button signs in only the browser that started, on that host', async () => {
    const person = await fixture.createMember();
    const { there, here, page, state } = await fixture.reachConsentPage(person, { portal });
    expect(page.text).toContain(new URL(portal).host);
    expect(page.text).toContain(person.email);
    expect(page.text).not.toContain(here.cookie('svc_handoff_consent'));
    expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    expect([page.headers.get('x-frame-options'), page.headers.get('cache-control')]).toEqual([
      'DENY',
      expect.stringContaining('no-store'),
    ]);
    expect(here.cookie('svc_session')).toBeUndefined();
    const continuation = await here.submit('/auth/sso/hand-off', { state });
    expect([continuation.status, continuation.headers.get('referrer-policy')]).toEqual([200, 'no-referrer']);
    const address = new URL(/url=(.*)$/.exec(continuation.headers.get('refresh') ?? '')?.[1] ?? '');
    expect([address.origin, address.pathname]).toEqual([portal, '/auth/sso/complete']);
    const completion = await there.get(address.pathname + address.search);
    expect([completion.status, completion.location]).toEqual([303, '/dashboard/usage']);
    expect(completion.headers.get('referrer-policy')).toBe('no-referrer');
    expect([await isIn(there), await isIn(here)]).toEqual([true, false]);
    const token = address.searchParams.get('token') ?? 'none';
    expect(app.log.filter((line) => line.includes(token))).toEqual([]);
    for (const otherOrigin of [base, proven, reseller].filter((origin) => origin !== portal)) {
      const otherBrowser = fixture.providers.browserAt(otherOrigin);
      otherBrowser.setCookie('svc_session', there.cookie('svc_session') ?? '');
      expect([otherOrigin, await isIn(otherBrowser)]).toEqual([otherOrigin, false]);
    }
  });
});

describe('Session takeover through a link', () => {
  const bindingSecret = 'A'.repeat(43);
  const binding = bindingOf(bindingSecret);

  test.each([proven, reseller])(
    'a binding of the attacker at %s gets no token from BASE_URL',
    async (portal) => {
      const person = await fixture.createMember();
      const victim = fixture.providers.browserAt();
      const query = new URLSearchParams({ portal, binding, next: '/dashboard' });
      const redirectToProvider = await victim.get(`/auth/idp1?${query.toString()}`);
      const answer = await victim.get(await signInAtProvider(redirectToProvider.location ?? '', person));
      expect([answer.status, answer.location]).toEqual([303, '/login/hand-off']);
      const tokens = await app.database.query(
        "SELECT 1 FROM account_token WHERE purpose LIKE '%handoff' AND user_id = $1",
        [person.userId],
      );
      expect(tokens).toEqual([]);
    },
  );

  test('a token opens no session in a browser that did not start the sign-in', async () => {
    const person = await fixture.createMember();
    const { path } = await fixture.giveConsent(person);
    const victim = fixture.providers.browserAt(proven);
    victim.setCookie('svc_handoff', bindingSecret);
    expect((await victim.get(path)).json()['code']).toBe('invalid_token');
    expect(await isIn(victim)).toBe(false);
  });

  test.each([
    ['platform_owner', 'ours'],
    ['platform_admin', 'ours'],
    ['user', 'theirs'],
    ['org_owner', 'theirs'],
    ['user', 'none'],
  ])('a %s of organisation %s gets no consent page', async (role, organisation) => {
    const person = await fixture.createMember(organisations()[organisation], role);
    const { here, answer } = await fixture.signInThroughProvider(person);
    expect([answer.status, answer.json()['code']]).toEqual([403, 'permission_denied']);
    expect(here.cookie('svc_handoff_consent')).toBeUndefined();
    expect((await here.get('/login/hand-off')).status).toBe(401);
  });

  test.each(['platform_owner', 'platform_admin'])(
    'a %s is not handed to an origin of PORTAL_ORIGINS',
    async (role) => {
      const { answer } = await fixture.signInThroughProvider(
        await fixture.createMember(fixture.ownOrganisation, role),
        { portal: reseller },
      );
      expect([answer.status, answer.json()['code']]).toEqual([403, 'permission_denied']);
    },
  );

  test('an unknown portal, an unproven host and a malformed binding are refused before the redirect to the provider', async () => {
    const invalidPortals = [
      'https://evil.example',
      'http://evil.example',
      unproven,
      'https://models.host.example',
      `${proven}/`,
      `${proven}@evil.example`,
      `${proven}.evil.example`,
      'javascript:alert(1)',
      '//models.host.example',
      base,
    ];
    for (const portal of invalidPortals) {
      const query = new URLSearchParams({ portal, binding });
      const answer = await fixture.providers.browserAt().get(`/auth/idp1?${query.toString()}`);
      expect([portal, answer.status]).toEqual([portal, 422]);
    }
    for (const bindingQuery of ['', `&binding=`, `&binding=${'A'.repeat(44)}`, '&binding=%0d%0a'])
      expect(
        (await fixture.providers.browserAt().get(`/auth/idp1?portal=${proven}${bindingQuery}`)).status,
      ).toBe(422);
  });

  test('a `next` that leads to another site is dropped', async () => {
    const person = await fixture.createMember();
    for (const next of [
      'https://evil.example/',
      '//evil.example',
      '/\\evil.example',
      'javascript:alert(1)',
    ]) {
      const { there, path } = await fixture.giveConsent(person, { next });
      expect([next, (await there.get(path)).location]).toEqual([next, '/dashboard']);
    }
  });

  test('linking a provider starts at BASE_URL with a form and its password, whatever the link contains', async () => {
    const query = new URLSearchParams({ purpose: 'link', portal: proven, binding });
    const answer = await fixture.providers.browserAt().get(`/auth/idp1?${query.toString()}`);
    expect(answer.location).toBe('/dashboard/settings#providers-heading');
  });

  test('the callback of a provider works only at BASE_URL', async () => {
    const person = await fixture.createMember();
    const here = fixture.providers.browserAt();
    const callback = await signInAtProvider(await fixture.providers.startSignIn(here, 1), person);
    const there = fixture.providers.browserAt(proven);
    there.setCookie('svc_provider_state', here.cookie('svc_provider_state') ?? '');
    expect((await there.get(callback)).json()['code']).toBe('origin_not_allowed');
    expect((await here.get(callback)).status).toBe(303);
  });
});

describe('The consent button', () => {
  test('works once, from the page only, with the state of this browser', async () => {
    const person = await fixture.createMember();
    const { here, state } = await fixture.reachConsentPage(person);
    for (const headers of [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { origin: proven },
      { origin: 'null', 'sec-fetch-site': 'cross-site' },
    ])
      expect((await agree(here, state, headers)).json()['code']).toBe('csrf_rejected');
    for (const invalidState of ['', 'A'.repeat(43), here.cookie('svc_handoff_consent') ?? ''])
      expect((await agree(here, invalidState)).json()['code']).toBe('invalid_token');
    expect((await agree(fixture.providers.browserAt(), state)).json()['code']).toBe('invalid_token');
    const there = fixture.providers.browserAt(proven);
    there.setCookie('svc_handoff_consent', here.cookie('svc_handoff_consent') ?? '');
    expect((await agree(there, state)).json()['code']).toBe('invalid_token');
    const cookie = here.cookie('svc_handoff_consent') ?? '';
    expect((await agree(here, state)).status).toBe(200);
    here.setCookie('svc_handoff_consent', cookie);
    expect((await agree(here, state)).json()['code']).toBe('invalid_token');
  });

  test('in an older tab does not consent to a newer sign-in', async () => {
    const person = await fixture.createMember();
    const first = await fixture.reachConsentPage(person);
    const second = await fixture.reachConsentPage(person, { portal: reseller, here: first.here });
    const refusal = await first.here.submit('/auth/sso/hand-off', { state: first.state });
    expect([refusal.status, refusal.headers.get('refresh')]).toEqual([401, null]);
    const { url } = (await agree(second.here, second.state)).json();
    expect(new URL(String(url)).origin).toBe(reseller);
  });
});

describe('The hand-off token', () => {
  test('works once, at its portal, in the browser that started, for one minute', async () => {
    const person = await fixture.createMember();
    const { there, path, url } = await fixture.giveConsent(person);
    const cookie = there.cookie('svc_handoff') ?? '';
    const firstUse = await there.get(path);
    expect(firstUse.status).toBe(303);
    there.setCookie('svc_handoff', cookie);
    expect((await there.get(path)).json()['code']).toBe('invalid_token');
    expect((await there.get(path.replace(url.search, ''))).json()['code']).toBe('invalid_token');
    for (const otherOrigin of [base, reseller]) {
      const otherHandOff = await fixture.giveConsent(person);
      const otherBrowser = fixture.providers.browserAt(otherOrigin);
      otherBrowser.setCookie('svc_handoff', otherHandOff.there.cookie('svc_handoff') ?? '');
      expect([otherOrigin, (await otherBrowser.get(otherHandOff.path)).json()['code']]).toEqual([
        otherOrigin,
        'invalid_token',
      ]);
    }
    const expiredHandOff = await fixture.giveConsent(person);
    const [life] = await app.database.query<{ seconds: number }>(
      `SELECT extract(epoch FROM max(expires_at - created_at))::float8 AS seconds FROM account_token
        WHERE purpose = 'handoff'`,
    );
    expect(life?.seconds).toBeLessThanOrEqual(60.5);
    await app.database.query(
      `WITH gone AS (DELETE FROM account_token WHERE purpose = 'handoff' RETURNING *)
       INSERT INTO account_token SELECT token_hash, purpose, user_id, data, created_at, now() FROM gone`,
    );
    expect((await expiredHandOff.there.get(expiredHandOff.path)).json()['code']).toBe('invalid_token');
  });

  const changes: [string, (person: HandOffMember) => Promise<unknown>][] = [
    [
      'moves to another organisation',
      ({ userId }) => setColumn(userId, 'organisation_id', fixture.otherOrganisation),
    ],
    ['leaves the organisation', ({ userId }) => setColumn(userId, 'organisation_id', null)],
    ['is suspended', ({ userId }) => setColumn(userId, 'status', 'suspended')],
    ['becomes an administrator of the platform', ({ userId }) => setColumn(userId, 'role', 'platform_admin')],
    [
      'comes to a host whose proof has ended',
      () =>
        app.database.query("UPDATE reseller_domain SET proven_at = NULL WHERE host = 'models.host.example'"),
    ],
    [
      'comes to a host whose record nobody has seen for a week',
      () =>
        app.database.query(
          "UPDATE reseller_domain SET seen_at = now() - interval '7 days 1 s' WHERE host = 'models.host.example'",
        ),
    ],
    [
      'comes to a host that has passed to another organisation',
      () =>
        app.database.query(
          "UPDATE reseller_domain SET organisation_id = $1 WHERE host = 'models.host.example'",
          [fixture.otherOrganisation],
        ),
    ],
  ];

  test.each(changes)('opens no session for a user who meanwhile %s', async (_, applyChange) => {
    const person = await fixture.createMember();
    const beforeConsent = await fixture.reachConsentPage(person);
    const afterConsent = await fixture.giveConsent(person);
    await applyChange(person);
    try {
      expect((await agree(beforeConsent.here, beforeConsent.state)).json()['code']).toBe('permission_denied');
      expect((await afterConsent.there.get(afterConsent.path)).json()['code']).toBe('permission_denied');
      expect(afterConsent.there.cookie('svc_session')).toBeUndefined();
    } finally {
      await app.database.query(
        `UPDATE reseller_domain SET organisation_id = $1, proven_at = now(), seen_at = now()
          WHERE host = 'models.host.example'`,
        [fixture.ownOrganisation],
      );
    }
  });
});

// 5.2.4 accept-tos: "sets a temporary cookie so the callback knows acceptance happened", on a second portal host too.
describe('A new user of a provider on a second portal host', () => {
  const signInFrom = async (there: Browser, here: Browser, start: string, person: ProviderPerson) => {
    const baseUrl = new URL((await there.get(start)).location ?? '');
    const redirectToProvider = await here.get(baseUrl.pathname + baseUrl.search);
    return here.page(await signInAtProvider(redirectToProvider.location ?? '', person));
  };
  const completeHandOff = async (there: Browser, here: Browser) => {
    const state = stateIn(await here.page('/login/hand-off'));
    const url = new URL(String((await agree(here, state)).json()['url']));
    const completion = await there.get(url.pathname + url.search);
    return [completion.location, (await there.get('/api/legal/status')).json()['accepted']];
  };
  const acceptTerms = async (there: Browser, next: string) => {
    const form = { terms: 'on', provider: 'idp1', next };
    const refresh = (await there.submit('/auth/accept-tos', form)).headers.get('refresh') ?? '';
    return refresh.replace('0; url=', '');
  };

  test('accepts the terms once on the sign-up page of the host and returns to that host', async () => {
    const person = await fixture.providers.createPerson(1);
    const [there, here] = [fixture.providers.browserAt(reseller), fixture.providers.browserAt()];
    const answer = await signInFrom(there, here, await acceptTerms(there, '/dashboard/usage'), person);
    expect([answer.status, answer.location]).toEqual([303, '/login/hand-off']);
    expect(await completeHandOff(there, here)).toEqual(['/dashboard/usage', true]);
  });

  test('is redirected to the sign-up page of the host without an acceptance and returns to that host', async () => {
    const person = await fixture.providers.createPerson(1);
    const [there, here] = [fixture.providers.browserAt(reseller), fixture.providers.browserAt()];
    const refusal = await signInFrom(there, here, '/auth/idp1?next=/dashboard/usage', person);
    expect(refusal.location).toBe(`${reseller}/signup?notice=terms&next=%2Fdashboard%2Fusage`);
    const page = await there.page('/signup?notice=terms&next=%2Fdashboard%2Fusage');
    expect(page.text).toContain('name="next" value="/dashboard/usage"');
    const answer = await signInFrom(there, here, await acceptTerms(there, '/dashboard/usage'), person);
    expect([answer.status, answer.location]).toEqual([303, '/login/hand-off']);
    expect(await completeHandOff(there, here)).toEqual(['/dashboard/usage', true]);
  });

  test('opens no account with the acceptance of another browser', async () => {
    const person = await fixture.providers.createPerson(1);
    const otherBrowser = fixture.providers.browserAt(reseller);
    const acceptedUrl = new URL((await otherBrowser.get(await acceptTerms(otherBrowser, ''))).location ?? '');
    const [there, here] = [fixture.providers.browserAt(reseller), fixture.providers.browserAt()];
    const baseUrl = new URL((await there.get('/auth/idp1')).location ?? '');
    baseUrl.searchParams.set('terms', acceptedUrl.searchParams.get('terms') ?? 'none');
    const redirectToProvider = await here.get(baseUrl.pathname + baseUrl.search);
    const answer = await here.get(await signInAtProvider(redirectToProvider.location ?? '', person));
    expect([answer.status, answer.json()['code']]).toEqual([403, 'tos_not_accepted']);
  });
});

test('an unproven host gets no session: the sign-in ends at BASE_URL', async () => {
  const person = await fixture.createMember();
  const there = fixture.providers.browserAt(unproven);
  const baseUrl = new URL(await fixture.providers.startSignIn(there, 1, '?next=/dashboard/usage'));
  expect([baseUrl.origin, baseUrl.search]).toEqual([base, '?next=%2Fdashboard%2Fusage']);
  expect(there.cookie('svc_handoff')).toBeUndefined();
  const here = fixture.providers.browserAt();
  const redirectToProvider = await here.get(baseUrl.pathname + baseUrl.search);
  const answer = await here.get(await signInAtProvider(redirectToProvider.location ?? '', person));
  expect([answer.location, await isIn(here)]).toEqual(['/dashboard/usage', true]);
});

test('an http origin gets no session when BASE_URL is https', async () => {
  const httpOrigin = 'http://clear.example';
  const otherApp = await startAccountFixture({
    environment: {
      BASE_URL: 'https://portal.example',
      PORTAL_ORIGINS: `${httpOrigin},https://well.example`,
      IDP1_ISSUER: 'https://id.example.com',
      IDP1_CLIENT_ID: 'switchboard',
      IDP1_CLIENT_SECRET: 'a secret of the tests that is long enough',
    },
  });
  try {
    const startAt = async (host: string) => {
      const browser = new Browser(otherApp.url, { host });
      const { location } = await browser.get('/auth/idp1');
      return [location?.includes('portal='), browser.cookie('__Host-svc_handoff') !== undefined];
    };
    expect(await startAt('clear.example')).toEqual([false, false]);
    expect(await startAt('well.example')).toEqual([true, true]);
  } finally {
    await otherApp.close();
  }
});
