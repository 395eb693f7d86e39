import { Secret, TOTP } from 'otpauth';
import type { TestApp } from '../../support/app';
import {
  Browser,
  goodPassword,
  mailTo,
  newAddress,
  registered,
  signedIn,
  startAccountHouse,
  tokenIn,
} from './account-house';

let app: TestApp;

beforeAll(async () => {
  app = await startAccountHouse({ environment: { ACCOUNT_FREE_ATTEMPTS: '20' } });
});
afterAll(() => app.close());

const page = '/dashboard/settings/second-factor';

/**
 * A code that no earlier sign-in has used: the service takes those of the steps before and after as well.
 * Tests take the present step and then the next one, so each code stays good for at least 30 s.
 */
const codeOf = (secret: string, step = 0): string =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() + step * 30_000 });

interface SwitchedOn {
  email: string;
  secret: string;
  codes: string[];
  browser: Browser;
  used: string;
}

async function switchedOn(): Promise<SwitchedOn> {
  const email = await registered(app);
  const browser = await signedIn(app, email);
  const shown = await browser.page(page);
  expect(shown.text).toMatch(/<svg class="code-picture"[^>]*><path d="M2 2h7v1/);
  expect(shown.text).not.toContain('style=');
  const secret = (/<code>([A-Z2-7 ]{39})<\/code>/.exec(shown.text)?.[1] ?? '').replaceAll(' ', '');
  const current_password = goodPassword;
  const used = codeOf(secret);
  const enabled = await browser.submit(`${page}/enable`, { code: used, current_password });
  expect(enabled.status).toBe(200);
  const codes = [...enabled.text.matchAll(/<code>([a-z0-9]{5}-[a-z0-9]{5})<\/code>/g)].map(
    ([, code]) => code ?? '',
  );
  expect(codes).toHaveLength(10);
  return { email, secret, codes, browser, used };
}

test('switching it on ends a change of address that was begun before', async () => {
  const email = await registered(app);
  const browser = await signedIn(app, email);
  const elsewhere = newAddress();
  await browser.post('/dashboard/settings/email', { email: elsewhere, current_password: goodPassword });
  const token = tokenIn(await mailTo(app, elsewhere, /Confirm your new address/));
  const { text } = await browser.page(page);
  const secret = (/<code>([A-Z2-7 ]{39})<\/code>/.exec(text)?.[1] ?? '').replaceAll(' ', '');
  const form = { code: codeOf(secret), current_password: goodPassword };
  expect((await browser.post(`${page}/enable`, form)).status).toBe(200);
  expect((await new Browser(app.url).post('/account/email', { token })).json()['code']).toBe('invalid_token');
});

/** Past the password. */
async function begun(
  email: string,
  password = goodPassword,
  browser = new Browser(app.url),
): Promise<Browser> {
  const answer = await browser.post('/auth/login', { email, password });
  expect(answer.json()).toMatchObject({ ok: false, second_factor: true });
  expect(browser.cookie('svc_session')).toBeUndefined();
  return browser;
}

const enter = (browser: Browser, code: string, more: object = {}) =>
  browser.post('/auth/second-factor', { code, ...more });

test('a password alone opens nothing; with a code of the device there is a session, and each code works once', async () => {
  const { email, secret, used } = await switchedOn();
  await mailTo(app, email, /Two-step sign-in is on/);
  const browser = await begun(email);
  expect((await browser.page('/login/second-factor')).text).toContain('autocomplete="one-time-code"');
  expect((await browser.get('/api/legal/status')).status).toBe(401);
  expect((await enter(browser, '000000')).json()['code']).toBe('invalid_credentials');
  // The code that switched it on is used up.
  expect((await enter(browser, used)).status).toBe(401);
  const code = codeOf(secret, 1);
  expect((await enter(browser, code)).json()).toMatchObject({ ok: true });
  expect((await browser.get('/api/legal/status')).status).toBe(200);
  expect((await enter(await begun(email), code)).status).toBe(401);
  expect((await enter(new Browser(app.url), codeOf(secret, 1))).json()['code']).toBe('invalid_token');
});

test('is switched on with the password, or without one with a fresh sign-in', async () => {
  const email = await registered(app);
  const browser = await signedIn(app, email);
  const shown = await browser.page(page);
  const secret = (/<code>([A-Z2-7 ]{39})<\/code>/.exec(shown.text)?.[1] ?? '').replaceAll(' ', '');
  const code = codeOf(secret);
  const wrong = await browser.submit(`${page}/enable`, { code, current_password: 'not the password' });
  expect([wrong.status, wrong.text]).toEqual([
    401,
    expect.stringMatching(/id="current_password"[^>]*aria-invalid="true"/),
  ]);
  await app.database.query('UPDATE user_account SET password_hash = NULL WHERE email = $1', [email]);
  const age = (minutes: number) =>
    app.database.query(
      `UPDATE session SET created_at = now() - make_interval(mins => $2)
       WHERE user_id = (SELECT id FROM user_account WHERE email = $1)`,
      [email, minutes],
    );
  await age(11);
  const stale = await browser.post(`${page}/enable`, { code });
  expect(stale.json()).toMatchObject({ details: { reason: 'fresh-sign-in' } });
  await age(0);
  expect((await browser.page(page)).text).not.toContain('id="current_password"');
  expect((await browser.post(`${page}/enable`, { code })).status).toBe(200);
});

test('of ten that bring one code at once, one gets in', async () => {
  const { email, secret } = await switchedOn();
  const browsers = await Promise.all(Array.from({ length: 10 }, () => begun(email)));
  const code = codeOf(secret, 1);
  const answers = await Promise.all(browsers.map((browser) => enter(browser, code)));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
});

test('recovery codes stand in, once each, and are kept as hashes', async () => {
  const { email, codes } = await switchedOn();
  const [first = '', second = ''] = codes;
  expect((await enter(await begun(email), first.toUpperCase())).status).toBe(200);
  expect((await enter(await begun(email), first)).status).toBe(401);
  expect((await enter(await begun(email), second)).status).toBe(200);
  const kept = await app.database.query('SELECT code_hash FROM recovery_code');
  expect(JSON.stringify(kept)).not.toContain(second);
});

test('a reset of the password goes round nothing, and ends what browsers remembered', async () => {
  const { email, secret, codes } = await switchedOn();
  const browser = await begun(email);
  expect((await enter(browser, codeOf(secret, 1), { remember: true })).status).toBe(200);
  await browser.page('/logout');
  expect((await browser.post('/auth/login', { email, password: goodPassword })).json()).toMatchObject({
    ok: true,
  });
  await browser.post('/auth/forgot-password', { email });
  const token = tokenIn(await mailTo(app, email, /Choose a new password/));
  const next = 'a wholly different phrase';
  expect((await browser.post('/auth/reset-password', { token, password: next })).status).toBe(200);
  await begun(email, next, browser);
  expect((await enter(browser, codes[0] ?? '')).status).toBe(200);
});

test('is switched off with password and code together', async () => {
  const { email, codes, browser } = await switchedOn();
  const off = (current_password: string, code: string) =>
    browser.post(`${page}/disable`, { current_password, code });
  expect((await off('not the password', codes[0] ?? '')).status).toBe(401);
  expect((await off(goodPassword, '123456')).status).toBe(401);
  expect((await off(goodPassword, codes[0] ?? '')).status).toBe(200);
  await mailTo(app, email, /Two-step sign-in is off/);
  await signedIn(app, email);
});

test('guesses are counted', async () => {
  const { email } = await switchedOn();
  const browser = await begun(email);
  const codes: unknown[] = [];
  for (let n = 0; n < 25; n += 1) codes.push((await enter(browser, String(100_000 + n))).json()['code']);
  expect(codes.at(-1)).toBe('rate_limit_exceeded');
});

test('administrators have no rights of theirs without it where the setting says so', async () => {
  const strict = await startAccountHouse({ environment: { SECOND_FACTOR_FOR: 'administrators' } });
  try {
    const email = await registered(strict);
    await strict.database.query("UPDATE user_account SET role = 'org_admin' WHERE email = $1", [email]);
    const browser = await signedIn(strict, email);
    const toggle = () => browser.post('/dashboard/toggle-admin-mode', {});
    expect((await toggle()).json()).toMatchObject({ code: 'permission_denied' });
    await strict.database.query(
      `INSERT INTO second_factor (user_id, secret, enabled_at) SELECT id, '\\x00', now() FROM user_account WHERE email = $1`,
      [email],
    );
    expect((await toggle()).json()).toMatchObject({ admin_mode: true });
    const [colleague] = await strict.database.query<{ id: number; organisation_id: number }>(
      `WITH made AS (INSERT INTO organisation (name, slug) VALUES ('Firm', 'firm') RETURNING id),
         moved AS (UPDATE user_account SET organisation_id = (SELECT id FROM made) WHERE email = $1)
       INSERT INTO user_account (email, display_name, status, organisation_id)
       SELECT 'colleague@example.com', 'Colleague', 'active', id FROM made RETURNING id, organisation_id`,
      [email],
    );
    const keyFor = async (name: string) =>
      (await browser.post('/dashboard/keys/new', { name, user_id: colleague?.id })).status;
    const seen = async () => (await browser.get('/dashboard/keys')).text.includes('on their wallet');
    expect([await keyFor('on their wallet'), await seen()]).toEqual([200, true]);
    await strict.database.query('DELETE FROM second_factor');
    expect([await keyFor('without a factor'), await seen()]).not.toContain(true);
    expect(
      await strict.database.query('SELECT name FROM api_key WHERE user_id = $1', [colleague?.id]),
    ).toEqual([{ name: 'on their wallet' }]);
    for (const path of ['/dashboard/admin/users', '/dashboard/admin/organisations'])
      expect((await browser.get(path)).status).toBe(403);
  } finally {
    await strict.close();
  }
});
