import type { TestApp } from '../../support/app';
import { type Browser, goodPassword, newAddress, registerUser } from './account-fixture';
import { base, ProviderFixture, type ProviderPerson, signInAtProvider } from './provider-fixture';

let app: TestApp;
let fixture: ProviderFixture;

beforeAll(async () => {
  fixture = await ProviderFixture.start();
  app = fixture.app;
});
afterAll(() => fixture.close());

const acceptTerms = (browser: Browser) => browser.post('/auth/accept-tos', { terms: true });
const start = (browser: Browser, slot: 1 | 2, query = '') => fixture.startSignIn(browser, slot, query);
const signInWith = (slot: 1 | 2, person: ProviderPerson, query = '') => fixture.signIn(slot, person, query);
const createPerson = (slot: 1 | 2, attributes: Partial<ProviderPerson> = {}) =>
  fixture.createPerson(slot, attributes);

const userOf = async (email: string) => {
  const [row] = await app.database.query<{ id: number; role: string; display_name: string }>(
    'SELECT id, role, display_name FROM user_account WHERE email = $1',
    [email],
  );
  return row;
};

test('a first sign-in opens one account, and later sign-ins match it after an address change', async () => {
  const person = await createPerson(1);
  const first = await signInWith(1, person, '?next=/dashboard/keys');
  expect([first.status, first.location]).toEqual([303, '/dashboard/keys']);
  const account = await userOf(person.email);
  expect(account).toMatchObject({ role: 'user', display_name: 'Ina Roth' });
  await fixture.setPerson(1, { ...person, email: newAddress() });
  const secondSignIn = await signInWith(1, person);
  const status = await secondSignIn.browser.get('/api/legal/status');
  expect([secondSignIn.status, status.json()['accepted']]).toEqual([303, true]);
  expect(
    await app.database.query('SELECT 1 FROM linked_identity WHERE user_id = $1', [account?.id]),
  ).toHaveLength(1);
});

test('the authorisation request has state, nonce and a PKCE challenge, and the sign-in page names the provider', async () => {
  const browser = fixture.browserAt();
  const query = new URL(await start(browser, 1)).searchParams;
  expect(query.get('code_challenge_method')).toBe('S256');
  for (const name of ['state', 'nonce', 'code_challenge'])
    expect(query.get(name)?.length).toBeGreaterThanOrEqual(32);
  expect((await browser.page('/login')).text).toContain('House directory');
});

test('a callback with two codes returns a validation error for that parameter', async () => {
  const answer = await fixture.browserAt().get('/oauth/idp1/login/callback/?code=one&code=two&state=x');
  expect([answer.status, answer.json()]).toEqual([
    422,
    expect.objectContaining({ detail: [expect.objectContaining({ loc: ['query', 'code'] })] }),
  ]);
});

test('a new user needs accepted terms, and a forged cookie does not count as acceptance', async () => {
  const person = await createPerson(1);
  for (const forgedCookie of [undefined, '1~9999999999~AAAA', `2026-11-01~9999999999~${'A'.repeat(43)}`]) {
    const browser = fixture.browserAt();
    if (forgedCookie !== undefined) browser.setCookie('svc_terms', forgedCookie);
    const answer = await browser.get(await signInAtProvider(await start(browser, 1), person));
    expect([answer.status, answer.json()['code']]).toEqual([403, 'tos_not_accepted']);
    expect(browser.cookie('svc_session')).toBeUndefined();
  }
  expect(await userOf(person.email)).toBeUndefined();
});

describe('Refused provider callbacks', () => {
  const refusalOf = async (browser: Browser, path: string) => {
    const answer = await browser.get(path);
    expect([answer.status, answer.json()['code'], browser.cookie('svc_session')]).toEqual([
      400,
      'invalid_request',
      undefined,
    ]);
  };
  const signInAtFirstProvider = async () => {
    const browser = fixture.browserAt();
    await acceptTerms(browser);
    const callback = await signInAtProvider(await start(browser, 1), await createPerson(1));
    return { browser, callback };
  };

  test('refuses a missing, wrong or used state', async () => {
    const { browser, callback } = await signInAtFirstProvider();
    const url = new URL(callback, base);
    for (const state of [null, 'A'.repeat(43)]) {
      const changedUrl = new URL(url);
      if (state === null) changedUrl.searchParams.delete('state');
      else changedUrl.searchParams.set('state', state);
      await refusalOf(browser, changedUrl.pathname + changedUrl.search);
    }
    const stateCookie = browser.cookie('svc_provider_state') ?? '';
    expect((await browser.get(callback)).status).toBe(303);
    const replayBrowser = fixture.browserAt();
    replayBrowser.setCookie('svc_provider_state', stateCookie);
    await refusalOf(replayBrowser, callback);
  });

  test('refuses a browser that did not start the sign-in', async () => {
    const { callback } = await signInAtFirstProvider();
    await refusalOf(fixture.browserAt(), callback);
  });

  test('refuses the callback path or the issuer of the other provider', async () => {
    const { browser, callback } = await signInAtFirstProvider();
    await refusalOf(browser, callback.replace('/oauth/idp1/', '/oauth/idp2/'));
    const otherJourney = await signInAtFirstProvider();
    const url = new URL(otherJourney.callback, base);
    url.searchParams.set('iss', fixture.issuerOf(2));
    await refusalOf(otherJourney.browser, url.pathname + url.search);
  });

  test('refuses a missing or wrong code and the code of another sign-in', async () => {
    const { browser, callback } = await signInAtFirstProvider();
    const url = new URL(callback, base);
    url.searchParams.delete('code');
    await refusalOf(browser, url.pathname + url.search);
    const [one, other] = [await signInAtFirstProvider(), await signInAtFirstProvider()];
    const mixedUrl = new URL(one.callback, base);
    mixedUrl.searchParams.set('code', new URL(other.callback, base).searchParams.get('code') ?? '');
    await refusalOf(one.browser, mixedUrl.pathname + mixedUrl.search);
  });

  test('refuses when the user denied access at the provider', async () => {
    const { browser, callback } = await signInAtFirstProvider();
    const url = new URL(callback, base);
    url.searchParams.delete('code');
    url.searchParams.set('error', 'access_denied');
    await refusalOf(browser, url.pathname + url.search);
  });
});

test.each([
  ['access_denied', 'provider-cancelled', 'You cancelled the sign-in'],
  ['server_error', 'provider-failed', 'could not sign you in'],
])(
  'shows a readable message on the sign-in page when the provider returns %s',
  async (error, notice, text) => {
    const browser = fixture.browserAt();
    const callback = await signInAtProvider(
      await start(browser, 1, '?next=/dashboard/keys'),
      await createPerson(1),
    );
    const url = new URL(callback, base);
    url.searchParams.delete('code');
    url.searchParams.set('error', error);
    const answer = await browser.page(url.pathname + url.search);
    expect([answer.status, answer.location]).toEqual([
      303,
      `/login?notice=${notice}&next=%2Fdashboard%2Fkeys`,
    ]);
    const page = await browser.page(answer.location ?? '');
    expect([page.status, page.text]).toEqual([200, expect.stringContaining(text)]);
    expect((await browser.get(callback)).json()['code']).toBe('invalid_request');
  },
);

test('an unverified email address opens no account', async () => {
  const answer = await signInWith(1, await createPerson(1, { email_verified: false }));
  expect(answer.status).toBe(403);
});

test('groups set the role at every sign-in: the highest wins, and none grants or removes ownership', async () => {
  const person = await createPerson(2, { groups: ['staff', 'operators', 'heads'] });
  const first = await signInWith(2, person);
  expect(await userOf(person.email)).toMatchObject({ role: 'platform_admin' });
  const signInWithGroups = (groups: readonly string[]) => fixture.setPerson(2, { ...person, groups });
  await signInWithGroups(['heads']);
  await signInWith(2, person);
  expect(await userOf(person.email)).toMatchObject({ role: 'org_admin' });
  // The role change has ended existing sessions.
  expect((await first.browser.get('/api/legal/status')).json()['code']).toBe('invalid_session');
  await signInWithGroups(['platform_owner']);
  await signInWith(2, person);
  expect(await userOf(person.email)).toMatchObject({ role: 'user' });
  await app.database.query("UPDATE user_account SET role = 'platform_owner' WHERE email = $1", [
    person.email,
  ]);
  await signInWith(2, person);
  expect(await userOf(person.email)).toMatchObject({ role: 'platform_owner' });
});

test('acceptance of the terms is required and stored once', async () => {
  const email = await registerUser(app);
  const browser = fixture.browserAt();
  await browser.post('/auth/login', { email, password: goodPassword });
  expect((await browser.get('/api/legal/status')).json()).toMatchObject({ accepted: true });
  expect((await browser.post('/api/legal/accept')).status).toBe(200);
  expect((await fixture.browserAt().get('/api/legal/status')).status).toBe(401);
  expect((await fixture.browserAt().post('/auth/accept-tos', {})).json()['code']).toBe('tos_not_accepted');
});

test('suspended and archived users see their notice and can sign out', async () => {
  for (const status of ['suspended', 'archived']) {
    const email = await registerUser(app);
    await app.database.query('UPDATE user_account SET status = $2 WHERE email = $1', [email, status]);
    const browser = fixture.browserAt();
    const signInResponse = await browser.submit('/auth/login', { email, password: goodPassword });
    expect(signInResponse.location).toBe(`/account/${status}`);
    expect((await browser.page(`/account/${status}`)).status).toBe(200);
    expect((await browser.get('/api/legal/status')).json()['code']).toBe('account_status');
    expect((await browser.page('/logout')).status).toBe(303);
  }
});
