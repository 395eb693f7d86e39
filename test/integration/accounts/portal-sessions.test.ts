import type { TestApp } from '../../support/app';
import { goodPassword, registerUser } from './account-fixture';
import {
  agree,
  codeOf,
  HandOffFixture,
  isIn,
  type HandOffMember,
  proven,
  secretIn,
  stateIn,
  unproven,
} from './hand-off-fixture';
import { base, reseller } from './provider-fixture';

/** Portals on which a session is valid, and on which a second factor is required (ADR 58). */
let fixture: HandOffFixture;
let app: TestApp;

beforeAll(async () => {
  fixture = await HandOffFixture.start();
  app = fixture.providers.app;
});
afterAll(() => fixture.providers.close());

describe('Session scope', () => {
  const signInAt = (origin: string, email: string) => {
    const browser = fixture.providers.browserAt(origin);
    return browser
      .post('/auth/login', { email, password: goodPassword })
      .then((answer) => ({ browser, answer }));
  };

  test('a session of BASE_URL is not valid on another portal', async () => {
    const { browser } = await signInAt(base, await registerUser(app));
    expect(await isIn(browser)).toBe(true);
    for (const origin of [proven, unproven, reseller]) {
      const otherBrowser = fixture.providers.browserAt(origin);
      otherBrowser.setCookie('svc_session', browser.cookie('svc_session') ?? '');
      expect([origin, await isIn(otherBrowser)]).toEqual([origin, false]);
      expect((await otherBrowser.page('/dashboard')).status).not.toBe(200);
    }
  });

  test('a session opened by an older node without a host is valid nowhere', async () => {
    const { browser } = await signInAt(base, await registerUser(app));
    await app.database.query('UPDATE session SET host = NULL');
    expect(await isIn(browser)).toBe(false);
  });

  test('platform administrators cannot sign in on another portal by any method', async () => {
    for (const origin of [proven, unproven, reseller]) {
      const email = await registerUser(app);
      const { browser } = await signInAt(origin, email);
      expect(await isIn(browser)).toBe(true);
      await app.database.query("UPDATE user_account SET role = 'platform_admin' WHERE email = $1", [email]);
      expect(await isIn(browser)).toBe(false);
      const repeatedSignIn = await signInAt(origin, email);
      expect([repeatedSignIn.answer.status, repeatedSignIn.answer.json()['code']]).toEqual([
        403,
        'permission_denied',
      ]);
      expect(repeatedSignIn.browser.cookie('svc_session')).toBeUndefined();
      expect(await isIn((await signInAt(base, email)).browser)).toBe(true);
    }
  });
});

test('a remembered browser skips the code only on the portal that remembers it', async () => {
  const email = await registerUser(app);
  const page = '/dashboard/settings/second-factor';
  const signInAt = async (origin: string, trusted = '') => {
    const browser = fixture.providers.browserAt(origin);
    if (trusted !== '') browser.setCookie('svc_trusted', trusted);
    return { browser, ...(await browser.post('/auth/login', { email, password: goodPassword })).json() };
  };
  const { browser } = await signInAt(base);
  const secret = secretIn(await browser.page(page));
  const form = { code: codeOf(secret), current_password: goodPassword };
  expect((await browser.post(`${page}/enable`, form)).status).toBe(200);
  const there = (await signInAt(proven)).browser;
  expect((await there.post('/auth/second-factor', { code: codeOf(secret, 1), remember: true })).status).toBe(
    200,
  );
  const trustedCookie = there.cookie('svc_trusted') ?? '';
  expect(await signInAt(proven, trustedCookie)).toMatchObject({ ok: true });
  for (const otherOrigin of [base, reseller])
    expect(await signInAt(otherOrigin, trustedCookie)).toMatchObject({ second_factor: true });
});

describe('Second factor in a hand-off', () => {
  const settings = '/dashboard/settings/second-factor';

  async function memberWithSecondFactor(): Promise<{ person: HandOffMember; secret: string }> {
    const person = await fixture.createMember();
    const { browser } = await fixture.providers.signIn(1, person);
    const secret = secretIn(await browser.page(settings));
    expect((await browser.post(`${settings}/enable`, { code: codeOf(secret) })).status).toBe(200);
    return { person, secret };
  }

  test('the code is required after a provider sign-in as after a password', async () => {
    const { person, secret } = await memberWithSecondFactor();
    const { browser, location } = await fixture.providers.signIn(1, person, '?next=/dashboard/keys');
    expect([location, browser.cookie('svc_session')]).toEqual(['/login/second-factor', undefined]);
    const codeResponse = await browser.submit('/auth/second-factor', { code: codeOf(secret, 1) });
    expect([codeResponse.location, await isIn(browser)]).toEqual(['/dashboard/keys', true]);
  });

  test('the code is required before the consent', async () => {
    const { person, secret } = await memberWithSecondFactor();
    const { there, here, answer } = await fixture.signInThroughProvider(person);
    expect([answer.location, here.cookie('svc_handoff_consent')]).toEqual([
      '/login/second-factor',
      undefined,
    ]);
    expect((await here.get('/login/hand-off')).status).toBe(401);
    const codeResponse = await here.submit('/auth/second-factor', {
      code: codeOf(secret, 1),
      remember: 'on',
    });
    expect(codeResponse.location).toBe('/login/hand-off');
    const { url } = (await agree(here, stateIn(await here.page('/login/hand-off')))).json();
    const address = new URL(String(url));
    expect((await there.get(address.pathname + address.search)).status).toBe(303);
    // BASE_URL remembers this browser, so the second sign-in there needs no code.
    expect((await fixture.signInThroughProvider(person, { here })).answer.location).toBe('/login/hand-off');
  });
});
