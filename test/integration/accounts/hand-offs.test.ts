import { bindingOf } from '#product/identity';
import type { TestApp } from '../../support/app';
import { Browser, startAccountHouse } from './account-house';
import { agree, HandOffHouse, isIn, type Member, proven, stateIn, unproven } from './hand-off-house';
import { base, reseller, type Someone, throughProvider } from './provider-house';

/**
 * A sign-in that begins on another portal than BASE_URL's (ADR 58). The attacker chooses every part of it: the portal,
 * the binding, `next`, states, tokens and cookies, and runs the host.
 */
let hand: HandOffHouse;
let app: TestApp;

beforeAll(async () => {
  hand = await HandOffHouse.start();
  app = hand.providers.app;
});
afterAll(() => hand.providers.close());

const change = (userId: number, column: string, value: unknown) =>
  app.database.query(`UPDATE user_account SET ${column} = $2 WHERE id = $1`, [userId, value]);
const organisations = (): Record<string, number | null> => ({
  ours: hand.ours,
  theirs: hand.theirs,
  none: null,
});

describe.each([
  ['a proven host of the organisation', proven],
  ['an origin of PORTAL_ORIGINS', reseller],
])('at %s', (_, portal) => {
  test('a page names host and account, and after its button the browser that began is in, there alone', async () => {
    const person = await hand.member();
    const { there, here, page, state } = await hand.asked(person, { portal });
    expect(page.text).toContain(new URL(portal).host);
    expect(page.text).toContain(person.email);
    expect(page.text).not.toContain(here.cookie('svc_handoff_consent'));
    expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    expect([page.headers.get('x-frame-options'), page.headers.get('cache-control')]).toEqual([
      'DENY',
      expect.stringContaining('no-store'),
    ]);
    expect(here.cookie('svc_session')).toBeUndefined();
    const onward = await here.submit('/auth/sso/hand-off', { state });
    expect([onward.status, onward.headers.get('referrer-policy')]).toEqual([200, 'no-referrer']);
    const address = new URL(/url=(.*)$/.exec(onward.headers.get('refresh') ?? '')?.[1] ?? '');
    expect([address.origin, address.pathname]).toEqual([portal, '/auth/sso/complete']);
    const completed = await there.get(address.pathname + address.search);
    expect([completed.status, completed.location]).toEqual([303, '/dashboard/usage']);
    expect(completed.headers.get('referrer-policy')).toBe('no-referrer');
    expect([await isIn(there), await isIn(here)]).toEqual([true, false]);
    const token = address.searchParams.get('token') ?? 'none';
    expect(app.log.filter((line) => line.includes(token))).toEqual([]);
    for (const elsewhere of [base, proven, reseller].filter((origin) => origin !== portal)) {
      const moved = hand.providers.traveller(elsewhere);
      moved.keep('svc_session', there.cookie('svc_session') ?? '');
      expect([elsewhere, await isIn(moved)]).toEqual([elsewhere, false]);
    }
  });
});

describe('one link takes nothing over', () => {
  const kept = 'A'.repeat(43);
  const binding = bindingOf(kept);

  test.each([proven, reseller])(
    'with a binding of the attacker at %s nothing leaves BASE_URL',
    async (portal) => {
      const person = await hand.member();
      const victim = hand.providers.traveller();
      const query = new URLSearchParams({ portal, binding, next: '/dashboard' });
      const away = await victim.get(`/auth/idp1?${query.toString()}`);
      const answer = await victim.get(await throughProvider(away.location ?? '', person));
      expect([answer.status, answer.location]).toEqual([303, '/login/hand-off']);
      const tokens = await app.database.query(
        "SELECT 1 FROM account_token WHERE purpose LIKE '%handoff' AND user_id = $1",
        [person.userId],
      );
      expect(tokens).toEqual([]);
    },
  );

  test('the button sends the token to a browser that did not begin, and there it opens nothing', async () => {
    const person = await hand.member();
    const { path } = await hand.agreed(person);
    const victim = hand.providers.traveller(proven);
    victim.keep('svc_handoff', kept);
    expect((await victim.get(path)).json()['code']).toBe('invalid_token');
    expect(await isIn(victim)).toBe(false);
  });

  test.each([
    ['platform_owner', 'ours'],
    ['platform_admin', 'ours'],
    ['user', 'theirs'],
    ['org_owner', 'theirs'],
    ['user', 'none'],
  ])('a %s of %s is not even asked', async (role, organisation) => {
    const person = await hand.member(organisations()[organisation], role);
    const { here, answer } = await hand.cameBack(person);
    expect([answer.status, answer.json()['code']]).toEqual([403, 'permission_denied']);
    expect(here.cookie('svc_handoff_consent')).toBeUndefined();
    expect((await here.get('/login/hand-off')).status).toBe(401);
  });

  test.each(['platform_owner', 'platform_admin'])(
    'a %s is not handed to an origin of PORTAL_ORIGINS',
    async (role) => {
      const { answer } = await hand.cameBack(await hand.member(hand.ours, role), { portal: reseller });
      expect([answer.status, answer.json()['code']]).toEqual([403, 'permission_denied']);
    },
  );

  test('what is no portal, not proven or no binding is refused before anybody leaves', async () => {
    const wrong = [
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
    for (const portal of wrong) {
      const query = new URLSearchParams({ portal, binding });
      const answer = await hand.providers.traveller().get(`/auth/idp1?${query.toString()}`);
      expect([portal, answer.status]).toEqual([portal, 422]);
    }
    for (const given of ['', `&binding=`, `&binding=${'A'.repeat(44)}`, '&binding=%0d%0a'])
      expect((await hand.providers.traveller().get(`/auth/idp1?portal=${proven}${given}`)).status).toBe(422);
  });

  test('a `next` that leads elsewhere is left out', async () => {
    const person = await hand.member();
    for (const next of [
      'https://evil.example/',
      '//evil.example',
      '/\\evil.example',
      'javascript:alert(1)',
    ]) {
      const { there, path } = await hand.agreed(person, { next });
      expect([next, (await there.get(path)).location]).toEqual([next, '/dashboard']);
    }
  });

  test('to link a provider the way begins at BASE_URL with a form and its proof, whatever the link says', async () => {
    const query = new URLSearchParams({ purpose: 'link', portal: proven, binding });
    const answer = await hand.providers.traveller().get(`/auth/idp1?${query.toString()}`);
    expect(answer.location).toBe('/dashboard/settings#providers-heading');
  });

  test('the callback of a provider answers at BASE_URL alone', async () => {
    const person = await hand.member();
    const here = hand.providers.traveller();
    const callback = await throughProvider(await hand.providers.startOf(here, 1), person);
    const there = hand.providers.traveller(proven);
    there.keep('svc_provider_state', here.cookie('svc_provider_state') ?? '');
    expect((await there.get(callback)).json()['code']).toBe('origin_not_allowed');
    expect((await here.get(callback)).status).toBe(303);
  });
});

describe('the button', () => {
  test('counts from the page alone, with the state of this browser, once', async () => {
    const person = await hand.member();
    const { here, state } = await hand.asked(person);
    for (const headers of [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { origin: proven },
      { origin: 'null', 'sec-fetch-site': 'cross-site' },
    ])
      expect((await agree(here, state, headers)).json()['code']).toBe('csrf_rejected');
    for (const wrong of ['', 'A'.repeat(43), here.cookie('svc_handoff_consent') ?? ''])
      expect((await agree(here, wrong)).json()['code']).toBe('invalid_token');
    expect((await agree(hand.providers.traveller(), state)).json()['code']).toBe('invalid_token');
    const there = hand.providers.traveller(proven);
    there.keep('svc_handoff_consent', here.cookie('svc_handoff_consent') ?? '');
    expect((await agree(there, state)).json()['code']).toBe('invalid_token');
    const cookie = here.cookie('svc_handoff_consent') ?? '';
    expect((await agree(here, state)).status).toBe(200);
    here.keep('svc_handoff_consent', cookie);
    expect((await agree(here, state)).json()['code']).toBe('invalid_token');
  });

  test('of an older tab agrees to nothing that a newer one asks', async () => {
    const person = await hand.member();
    const first = await hand.asked(person);
    const second = await hand.asked(person, { portal: reseller, here: first.here });
    const refused = await first.here.submit('/auth/sso/hand-off', { state: first.state });
    expect([refused.status, refused.headers.get('refresh')]).toEqual([401, null]);
    const { url } = (await agree(second.here, second.state)).json();
    expect(new URL(String(url)).origin).toBe(reseller);
  });
});

describe('the token', () => {
  test('works once, at its portal, in the browser that began, for a minute', async () => {
    const person = await hand.member();
    const { there, path, url } = await hand.agreed(person);
    const cookie = there.cookie('svc_handoff') ?? '';
    const used = await there.get(path);
    expect(used.status).toBe(303);
    there.keep('svc_handoff', cookie);
    expect((await there.get(path)).json()['code']).toBe('invalid_token');
    expect((await there.get(path.replace(url.search, ''))).json()['code']).toBe('invalid_token');
    for (const elsewhere of [base, reseller]) {
      const other = await hand.agreed(person);
      const moved = hand.providers.traveller(elsewhere);
      moved.keep('svc_handoff', other.there.cookie('svc_handoff') ?? '');
      expect([elsewhere, (await moved.get(other.path)).json()['code']]).toEqual([elsewhere, 'invalid_token']);
    }
    const late = await hand.agreed(person);
    const [life] = await app.database.query<{ seconds: number }>(
      `SELECT extract(epoch FROM max(expires_at - created_at))::float8 AS seconds FROM account_token
        WHERE purpose = 'handoff'`,
    );
    expect(life?.seconds).toBeLessThanOrEqual(60.5);
    await app.database.query(
      `WITH gone AS (DELETE FROM account_token WHERE purpose = 'handoff' RETURNING *)
       INSERT INTO account_token SELECT token_hash, purpose, user_id, data, created_at, now() FROM gone`,
    );
    expect((await late.there.get(late.path)).json()['code']).toBe('invalid_token');
  });

  const changes: [string, (person: Member) => Promise<unknown>][] = [
    ['moves to another organisation', ({ userId }) => change(userId, 'organisation_id', hand.theirs)],
    ['leaves the organisation', ({ userId }) => change(userId, 'organisation_id', null)],
    ['is suspended', ({ userId }) => change(userId, 'status', 'suspended')],
    ['becomes an administrator of the platform', ({ userId }) => change(userId, 'role', 'platform_admin')],
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
          [hand.theirs],
        ),
    ],
  ];

  test.each(changes)('opens nothing for a person who meanwhile %s', async (_, happen) => {
    const person = await hand.member();
    const before = await hand.asked(person);
    const after = await hand.agreed(person);
    await happen(person);
    try {
      expect((await agree(before.here, before.state)).json()['code']).toBe('permission_denied');
      expect((await after.there.get(after.path)).json()['code']).toBe('permission_denied');
      expect(after.there.cookie('svc_session')).toBeUndefined();
    } finally {
      await app.database.query(
        `UPDATE reseller_domain SET organisation_id = $1, proven_at = now(), seen_at = now()
          WHERE host = 'models.host.example'`,
        [hand.ours],
      );
    }
  });
});

// 5.2.4 accept-tos: "sets a temporary cookie so the callback knows acceptance happened", on a second portal host too.
describe('a new user of a provider on a second portal host', () => {
  const visit = async (there: Browser, here: Browser, start: string, person: Someone) => {
    const toBase = new URL((await there.get(start)).location ?? '');
    const away = await here.get(toBase.pathname + toBase.search);
    return here.page(await throughProvider(away.location ?? '', person));
  };
  const finish = async (there: Browser, here: Browser) => {
    const state = stateIn(await here.page('/login/hand-off'));
    const url = new URL(String((await agree(here, state)).json()['url']));
    const completed = await there.get(url.pathname + url.search);
    return [completed.location, (await there.get('/api/legal/status')).json()['accepted']];
  };
  const accept = async (there: Browser, next: string) => {
    const form = { terms: 'on', provider: 'idp1', next };
    const refresh = (await there.submit('/auth/accept-tos', form)).headers.get('refresh') ?? '';
    return refresh.replace('0; url=', '');
  };

  test('accepts once on its sign-up page and ends where they began', async () => {
    const person = await hand.providers.someone(1);
    const [there, here] = [hand.providers.traveller(reseller), hand.providers.traveller()];
    const answer = await visit(there, here, await accept(there, '/dashboard/usage'), person);
    expect([answer.status, answer.location]).toEqual([303, '/login/hand-off']);
    expect(await finish(there, here)).toEqual(['/dashboard/usage', true]);
  });

  test('is led back to its sign-up page without an acceptance, and ends where they began', async () => {
    const person = await hand.providers.someone(1);
    const [there, here] = [hand.providers.traveller(reseller), hand.providers.traveller()];
    const refused = await visit(there, here, '/auth/idp1?next=/dashboard/usage', person);
    expect(refused.location).toBe(`${reseller}/signup?notice=terms&next=%2Fdashboard%2Fusage`);
    const page = await there.page('/signup?notice=terms&next=%2Fdashboard%2Fusage');
    expect(page.text).toContain('name="next" value="/dashboard/usage"');
    const answer = await visit(there, here, await accept(there, '/dashboard/usage'), person);
    expect([answer.status, answer.location]).toEqual([303, '/login/hand-off']);
    expect(await finish(there, here)).toEqual(['/dashboard/usage', true]);
  });

  test('opens no account with an acceptance of another browser', async () => {
    const person = await hand.providers.someone(1);
    const other = hand.providers.traveller(reseller);
    const accepted = new URL((await other.get(await accept(other, ''))).location ?? '');
    const [there, here] = [hand.providers.traveller(reseller), hand.providers.traveller()];
    const toBase = new URL((await there.get('/auth/idp1')).location ?? '');
    toBase.searchParams.set('terms', accepted.searchParams.get('terms') ?? 'none');
    const away = await here.get(toBase.pathname + toBase.search);
    const answer = await here.get(await throughProvider(away.location ?? '', person));
    expect([answer.status, answer.json()['code']]).toEqual([403, 'tos_not_accepted']);
  });
});

test('to a host that is not proven nothing is handed over: the sign-in ends at BASE_URL', async () => {
  const person = await hand.member();
  const there = hand.providers.traveller(unproven);
  const toBase = new URL(await hand.providers.startOf(there, 1, '?next=/dashboard/usage'));
  expect([toBase.origin, toBase.search]).toEqual([base, '?next=%2Fdashboard%2Fusage']);
  expect(there.cookie('svc_handoff')).toBeUndefined();
  const here = hand.providers.traveller();
  const away = await here.get(toBase.pathname + toBase.search);
  const answer = await here.get(await throughProvider(away.location ?? '', person));
  expect([answer.location, await isIn(here)]).toEqual(['/dashboard/usage', true]);
});

test('to an origin in the clear nothing is handed over where BASE_URL has TLS', async () => {
  const clear = 'http://clear.example';
  const other = await startAccountHouse({
    environment: {
      BASE_URL: 'https://portal.example',
      PORTAL_ORIGINS: `${clear},https://well.example`,
      IDP1_ISSUER: 'https://id.example.com',
      IDP1_CLIENT_ID: 'switchboard',
      IDP1_CLIENT_SECRET: 'a secret of the tests that is long enough',
    },
  });
  try {
    const startAt = async (host: string) => {
      const browser = new Browser(other.url, { host });
      const { location } = await browser.get('/auth/idp1');
      return [location?.includes('portal='), browser.cookie('__Host-svc_handoff') !== undefined];
    };
    expect(await startAt('clear.example')).toEqual([false, false]);
    expect(await startAt('well.example')).toEqual([true, true]);
  } finally {
    await other.close();
  }
});
