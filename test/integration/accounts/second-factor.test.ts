import { Secret, TOTP } from 'otpauth';
import type { TestApp } from '../../support/app';
import {
  Browser,
  goodPassword,
  mailTo,
  newAddress,
  registerUser,
  signInBrowser,
  startAccountFixture,
  tokenIn,
} from './account-fixture';

let app: TestApp;

beforeAll(async () => {
  app = await startAccountFixture({ environment: { ACCOUNT_FREE_ATTEMPTS: '20' } });
});
afterAll(() => app.close());

const page = '/dashboard/settings/second-factor';

/**
 * Returns an unused code. The service accepts the previous, current and next step, so the current and then the next
 * code stay valid for at least 30 s.
 */
const codeOf = (secret: string, step = 0): string =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() + step * 30_000 });

interface SecondFactorUser {
  email: string;
  secret: string;
  codes: string[];
  browser: Browser;
  used: string;
}

async function enableSecondFactor(): Promise<SecondFactorUser> {
  const email = await registerUser(app);
  const browser = await signInBrowser(app, email);
  const setupPage = await browser.page(page);
  expect(setupPage.text).toMatch(/<svg class="code-picture"[^>]*><path d="M2 2h7v1/);
  expect(setupPage.text).not.toContain('style=');
  const secret = (/<code>([A-Z2-7 ]{39})<\/code>/.exec(setupPage.text)?.[1] ?? '').replaceAll(' ', '');
  const current_password = goodPassword;
  const usedCode = codeOf(secret);
  const enableResponse = await browser.submit(`${page}/enable`, { code: usedCode, current_password });
  expect(enableResponse.status).toBe(200);
  const codes = [...enableResponse.text.matchAll(/<code>([a-z0-9]{5}-[a-z0-9]{5})<\/code>/g)].map(
    ([, code]) => code ?? '',
  );
  expect(codes).toHaveLength(10);
  return { email, secret, codes, browser, used: usedCode };
}

test('enabling two-factor authentication voids a pending address change', async () => {
  const email = await registerUser(app);
  const browser = await signInBrowser(app, email);
  const newEmail = newAddress();
  await browser.post('/dashboard/settings/email', { email: newEmail, current_password: goodPassword });
  const token = tokenIn(await mailTo(app, newEmail, /Confirm your new address/));
  const { text } = await browser.page(page);
  const secret = (/<code>([A-Z2-7 ]{39})<\/code>/.exec(text)?.[1] ?? '').replaceAll(' ', '');
  const form = { code: codeOf(secret), current_password: goodPassword };
  expect((await browser.post(`${page}/enable`, form)).status).toBe(200);
  expect((await new Browser(app.url).post('/account/email', { token })).json()['code']).toBe('invalid_token');
});

/** Signs in with the password, as far as the second step. */
async function passPassword(
  email: string,
  password = goodPassword,
  browser = new Browser(app.url),
): Promise<Browser> {
  const answer = await browser.post('/auth/login', { email, password });
  expect(answer.json()).toMatchObject({ ok: false, second_factor: true });
  expect(browser.cookie('svc_session')).toBeUndefined();
  return browser;
}

const submitCode = (browser: Browser, code: string, extraFields: object = {}) =>
  browser.post('/auth/second-factor', { code, ...extraFields });

test('a password alone opens no session; a device code does, and each code works once', async () => {
  const { email, secret, used } = await enableSecondFactor();
  await mailTo(app, email, /Two-step sign-in is on/);
  const browser = await passPassword(email);
  expect((await browser.page('/login/second-factor')).text).toContain('autocomplete="one-time-code"');
  expect((await browser.get('/api/legal/status')).status).toBe(401);
  expect((await submitCode(browser, '000000')).json()['code']).toBe('invalid_credentials');
  // The code that enabled two-factor authentication is used up.
  expect((await submitCode(browser, used)).status).toBe(401);
  const code = codeOf(secret, 1);
  expect((await submitCode(browser, code)).json()).toMatchObject({ ok: true });
  expect((await browser.get('/api/legal/status')).status).toBe(200);
  expect((await submitCode(await passPassword(email), code)).status).toBe(401);
  expect((await submitCode(new Browser(app.url), codeOf(secret, 1))).json()['code']).toBe('invalid_token');
});

test('enabling requires the password, or a fresh sign-in if there is no password', async () => {
  const email = await registerUser(app);
  const browser = await signInBrowser(app, email);
  const setupPage = await browser.page(page);
  const secret = (/<code>([A-Z2-7 ]{39})<\/code>/.exec(setupPage.text)?.[1] ?? '').replaceAll(' ', '');
  const code = codeOf(secret);
  const refusal = await browser.submit(`${page}/enable`, { code, current_password: 'not the password' });
  expect([refusal.status, refusal.text]).toEqual([
    401,
    expect.stringMatching(/id="current_password"[^>]*aria-invalid="true"/),
  ]);
  await app.database.query('UPDATE user_account SET password_hash = NULL WHERE email = $1', [email]);
  const ageSession = (minutes: number) =>
    app.database.query(
      `UPDATE session SET created_at = now() - make_interval(mins => $2)
       WHERE user_id = (SELECT id FROM user_account WHERE email = $1)`,
      [email, minutes],
    );
  await ageSession(11);
  const staleResponse = await browser.post(`${page}/enable`, { code });
  expect(staleResponse.json()).toMatchObject({ details: { reason: 'fresh-sign-in' } });
  await ageSession(0);
  expect((await browser.page(page)).text).not.toContain('id="current_password"');
  expect((await browser.post(`${page}/enable`, { code })).status).toBe(200);
});

test('one of ten simultaneous requests with the same code opens a session', async () => {
  const { email, secret } = await enableSecondFactor();
  const browsers = await Promise.all(Array.from({ length: 10 }, () => passPassword(email)));
  const code = codeOf(secret, 1);
  const answers = await Promise.all(browsers.map((browser) => submitCode(browser, code)));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
});

test('recovery codes work once each and are stored as hashes', async () => {
  const { email, codes } = await enableSecondFactor();
  const [first = '', second = ''] = codes;
  expect((await submitCode(await passPassword(email), first.toUpperCase())).status).toBe(200);
  expect((await submitCode(await passPassword(email), first)).status).toBe(401);
  expect((await submitCode(await passPassword(email), second)).status).toBe(200);
  const storedCodes = await app.database.query('SELECT code_hash FROM recovery_code');
  expect(JSON.stringify(storedCodes)).not.toContain(second);
});

test('a password reset does not bypass the second factor, and forgets remembered browsers', async () => {
  const { email, secret, codes } = await enableSecondFactor();
  const browser = await passPassword(email);
  expect((await submitCode(browser, codeOf(secret, 1), { remember: true })).status).toBe(200);
  await browser.page('/logout');
  expect((await browser.post('/auth/login', { email, password: goodPassword })).json()).toMatchObject({
    ok: true,
  });
  await browser.post('/auth/forgot-password', { email });
  const token = tokenIn(await mailTo(app, email, /Choose a new password/));
  const next = 'a wholly different phrase';
  expect((await browser.post('/auth/reset-password', { token, password: next })).status).toBe(200);
  await passPassword(email, next, browser);
  expect((await submitCode(browser, codes[0] ?? '')).status).toBe(200);
});

test('disabling requires the password and a code', async () => {
  const { email, codes, browser } = await enableSecondFactor();
  const disable = (current_password: string, code: string) =>
    browser.post(`${page}/disable`, { current_password, code });
  expect((await disable('not the password', codes[0] ?? '')).status).toBe(401);
  expect((await disable(goodPassword, '123456')).status).toBe(401);
  expect((await disable(goodPassword, codes[0] ?? '')).status).toBe(200);
  await mailTo(app, email, /Two-step sign-in is off/);
  await signInBrowser(app, email);
});

test('failed codes are throttled', async () => {
  const { email } = await enableSecondFactor();
  const browser = await passPassword(email);
  const codes: unknown[] = [];
  for (let n = 0; n < 25; n += 1) codes.push((await submitCode(browser, String(100_000 + n))).json()['code']);
  expect(codes.at(-1)).toBe('rate_limit_exceeded');
});

test('administrators without a second factor lose their rights when the setting requires it', async () => {
  const strictApp = await startAccountFixture({ environment: { SECOND_FACTOR_FOR: 'administrators' } });
  try {
    const email = await registerUser(strictApp);
    await strictApp.database.query("UPDATE user_account SET role = 'org_admin' WHERE email = $1", [email]);
    const browser = await signInBrowser(strictApp, email);
    const toggleAdminMode = () => browser.post('/dashboard/toggle-admin-mode', {});
    expect((await toggleAdminMode()).json()).toMatchObject({ code: 'permission_denied' });
    await strictApp.database.query(
      `INSERT INTO second_factor (user_id, secret, enabled_at) SELECT id, '\\x00', now() FROM user_account WHERE email = $1`,
      [email],
    );
    expect((await toggleAdminMode()).json()).toMatchObject({ admin_mode: true });
    const [colleague] = await strictApp.database.query<{ id: number; organisation_id: number }>(
      `WITH made AS (INSERT INTO organisation (name, slug) VALUES ('Firm', 'firm') RETURNING id),
         moved AS (UPDATE user_account SET organisation_id = (SELECT id FROM made) WHERE email = $1)
       INSERT INTO user_account (email, display_name, status, organisation_id)
       SELECT 'colleague@example.com', 'Colleague', 'active', id FROM made RETURNING id, organisation_id`,
      [email],
    );
    const createKey = async (name: string) =>
      (await browser.post('/dashboard/keys/new', { name, user_id: colleague?.id })).status;
    const seesWallets = async () => (await browser.get('/dashboard/keys')).text.includes('on their wallet');
    expect([await createKey('on their wallet'), await seesWallets()]).toEqual([200, true]);
    await strictApp.database.query('DELETE FROM second_factor');
    expect([await createKey('without a factor'), await seesWallets()]).not.toContain(true);
    expect(
      await strictApp.database.query('SELECT name FROM api_key WHERE user_id = $1', [colleague?.id]),
    ).toEqual([{ name: 'on their wallet' }]);
    for (const path of ['/dashboard/admin/users', '/dashboard/admin/organisations'])
      expect((await browser.get(path)).status).toBe(403);
  } finally {
    await strictApp.close();
  }
});
