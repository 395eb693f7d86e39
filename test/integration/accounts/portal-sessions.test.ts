import type { TestApp } from '../../support/app';
import { goodPassword, registered } from './account-house';
import {
  agree,
  codeOf,
  HandOffHouse,
  isIn,
  type Member,
  proven,
  secretIn,
  stateIn,
  unproven,
} from './hand-off-house';
import { base, reseller } from './provider-house';

/** On which portal a session is good, and where a second factor is asked for (ADR 58). */
let hand: HandOffHouse;
let app: TestApp;

beforeAll(async () => {
  hand = await HandOffHouse.start();
  app = hand.providers.app;
});
afterAll(() => hand.providers.close());

describe('sessions', () => {
  const enter = (origin: string, email: string) => {
    const browser = hand.providers.traveller(origin);
    return browser
      .post('/auth/login', { email, password: goodPassword })
      .then((answer) => ({ browser, answer }));
  };

  test('one of BASE_URL is not good on another portal', async () => {
    const { browser } = await enter(base, await registered(app));
    expect(await isIn(browser)).toBe(true);
    for (const origin of [proven, unproven, reseller]) {
      const moved = hand.providers.traveller(origin);
      moved.keep('svc_session', browser.cookie('svc_session') ?? '');
      expect([origin, await isIn(moved)]).toEqual([origin, false]);
      expect((await moved.page('/dashboard')).status).not.toBe(200);
    }
  });

  test('one that an older node has opened is good nowhere: nobody knows for which host it was made', async () => {
    const { browser } = await enter(base, await registered(app));
    await app.database.query('UPDATE session SET host = NULL');
    expect(await isIn(browser)).toBe(false);
  });

  test('administrators of the platform have none on another portal, by no way in', async () => {
    for (const origin of [proven, unproven, reseller]) {
      const email = await registered(app);
      const { browser } = await enter(origin, email);
      expect(await isIn(browser)).toBe(true);
      await app.database.query("UPDATE user_account SET role = 'platform_admin' WHERE email = $1", [email]);
      expect(await isIn(browser)).toBe(false);
      const again = await enter(origin, email);
      expect([again.answer.status, again.answer.json()['code']]).toEqual([403, 'permission_denied']);
      expect(again.browser.cookie('svc_session')).toBeUndefined();
      expect(await isIn((await enter(base, email)).browser)).toBe(true);
    }
  });
});

test('a remembered browser is asked for no code at the portal alone that remembers it', async () => {
  const email = await registered(app);
  const page = '/dashboard/settings/second-factor';
  const enter = async (origin: string, trusted = '') => {
    const browser = hand.providers.traveller(origin);
    if (trusted !== '') browser.keep('svc_trusted', trusted);
    return { browser, ...(await browser.post('/auth/login', { email, password: goodPassword })).json() };
  };
  const { browser } = await enter(base);
  const secret = secretIn(await browser.page(page));
  const form = { code: codeOf(secret), current_password: goodPassword };
  expect((await browser.post(`${page}/enable`, form)).status).toBe(200);
  const there = (await enter(proven)).browser;
  expect((await there.post('/auth/second-factor', { code: codeOf(secret, 1), remember: true })).status).toBe(
    200,
  );
  const trusted = there.cookie('svc_trusted') ?? '';
  expect(await enter(proven, trusted)).toMatchObject({ ok: true });
  for (const elsewhere of [base, reseller])
    expect(await enter(elsewhere, trusted)).toMatchObject({ second_factor: true });
});

describe('a second factor', () => {
  const settings = '/dashboard/settings/second-factor';

  async function switchedOn(): Promise<{ person: Member; secret: string }> {
    const person = await hand.member();
    const { browser } = await hand.providers.enter(1, person);
    const secret = secretIn(await browser.page(settings));
    expect((await browser.post(`${settings}/enable`, { code: codeOf(secret) })).status).toBe(200);
    return { person, secret };
  }

  test('is asked for after a provider as after a password', async () => {
    const { person, secret } = await switchedOn();
    const { browser, location } = await hand.providers.enter(1, person, '?next=/dashboard/keys');
    expect([location, browser.cookie('svc_session')]).toEqual(['/login/second-factor', undefined]);
    const entered = await browser.submit('/auth/second-factor', { code: codeOf(secret, 1) });
    expect([entered.location, await isIn(browser)]).toEqual(['/dashboard/keys', true]);
  });

  test('is asked for before the consent', async () => {
    const { person, secret } = await switchedOn();
    const { there, here, answer } = await hand.cameBack(person);
    expect([answer.location, here.cookie('svc_handoff_consent')]).toEqual([
      '/login/second-factor',
      undefined,
    ]);
    expect((await here.get('/login/hand-off')).status).toBe(401);
    const passed = await here.submit('/auth/second-factor', { code: codeOf(secret, 1), remember: 'on' });
    expect(passed.location).toBe('/login/hand-off');
    const { url } = (await agree(here, stateIn(await here.page('/login/hand-off')))).json();
    const address = new URL(String(url));
    expect((await there.get(address.pathname + address.search)).status).toBe(303);
    // The browser is remembered at BASE_URL, so this browser is not asked again there.
    expect((await hand.cameBack(person, { here })).answer.location).toBe('/login/hand-off');
  });
});
