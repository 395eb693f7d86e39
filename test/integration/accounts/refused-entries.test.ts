import { Secret, TOTP } from 'otpauth';
import type { TestApp } from '../../support/app';
import {
  type Answer,
  Browser,
  goodPassword,
  mailTo,
  newAddress,
  registered,
  registration,
  signedIn,
  startAccountHouse,
  tokenIn,
} from './account-house';

/**
 * Forms of identity are refused here. The field at fault is described and has the focus; what was typed is
 * there again, and no password is. The forms of the dashboard at large: test/integration/web/refused-forms.
 */

const settings = '/dashboard/settings';
let app: TestApp;

beforeAll(async () => {
  app = await startAccountHouse({ environment: { BASE_URL: 'http://portal.localhost' } });
});
afterAll(() => app.close());

interface Marked {
  /** The id of the field: pages have several of one name. */
  readonly field: string;
  readonly says: RegExp;
  readonly kept?: Readonly<Record<string, string>>;
}

const unescaped = (text: string): string =>
  text.replaceAll('&#x27;', "'").replaceAll('&quot;', '"').replaceAll('&amp;', '&');

function hold({ text, status }: Answer, typed: Readonly<Record<string, string>>, marked: Marked): void {
  expect([status >= 400 && status < 500, text.slice(0, 15)]).toEqual([true, '<!doctype html>']);
  const invalid = [...text.matchAll(/<(?:input|select|textarea)\b[^>]* aria-invalid="true"[^>]*>/g)].map(
    ([tag]) => tag,
  );
  const [tag = 'no field is marked'] = invalid;
  expect([invalid.length, tag]).toEqual([1, expect.stringContaining(` id="${marked.field}"`)]);
  expect(tag).toContain(' autofocus');
  // A paragraph within a paragraph is none.
  expect(text).not.toMatch(/<p\b[^>]*>(?:(?!<\/p>)[^])*<p class="error"/);
  const described = / aria-describedby="([^" ]+)/.exec(tag)?.[1] ?? '';
  const note = new RegExp(`<p class="error" id="${described}">(?:<svg.*?</svg>)?([^<]+)`).exec(text)?.[1];
  expect(unescaped(note ?? 'no note')).toMatch(marked.says);
  expect(text.match(/banner-bad" role="alert"/g)).toHaveLength(1);
  for (const [name, value] of Object.entries(marked.kept ?? {})) {
    const fields = [...text.matchAll(/<(?:input|select)\b[^>]*>/g)].map(([field]) => unescaped(field));
    const isKept = fields.some((one) => one.includes(` name="${name}"`) && one.includes(` value="${value}"`));
    expect([name, isKept]).toEqual([name, true]);
  }
  for (const [name, value] of Object.entries(typed))
    if (name.includes('password')) expect(text).not.toContain(value);
}

async function refuse(
  browser: Browser,
  path: string,
  typed: Readonly<Record<string, string>>,
  marked: Marked,
): Promise<void> {
  hold(await browser.submit(path, typed), typed, marked);
}

test('sign-in: the same at the same field for known and unknown addresses, with the address kept', async () => {
  const known = await registered(app);
  for (const email of [known, newAddress()]) {
    const typed = { email, password: 'not the password & "more"', next: '/dashboard/keys' };
    const says = /^The email address or password is not correct\.$/;
    await refuse(new Browser(app.url), '/auth/login', typed, { field: 'password', says, kept: { email } });
  }
  const email = 'nobody@"here"';
  const typed = { email, password: goodPassword };
  await refuse(new Browser(app.url), '/auth/login', typed, { field: 'email', says: /form/, kept: { email } });
  const german = new Browser(app.url, { 'accept-language': 'de' });
  const answer = await german.submit('/auth/login', { email: known, password: 'falsch' });
  hold(answer, { password: 'falsch' }, { field: 'password', says: /Passwort stimmt nicht/ });
});

test('sign-up: name and address are kept, the password never, and the terms are marked', async () => {
  const browser = new Browser(app.url);
  const email = newAddress();
  const good = { ...registration(email), display_name: `Anna "O'Neill"` };
  const kept = { email, display_name: good.display_name };
  await refuse(
    browser,
    '/auth/register',
    { ...good, password: 'letmein' },
    {
      field: 'password',
      says: /too easy to guess/,
      kept,
    },
  );
  const { terms: _, ...without } = good as Record<string, string>;
  await refuse(browser, '/auth/register', without, { field: 'terms', says: /Accept the terms/, kept });
  await refuse(
    browser,
    '/auth/register',
    { ...good, email: 'anna' },
    {
      field: 'email',
      says: /form/,
      kept: { ...kept, email: 'anna' },
    },
  );
});

test('reset, confirmation and a new password', async () => {
  const browser = new Browser(app.url);
  for (const path of ['/auth/forgot-password', '/auth/resend-verification'])
    await refuse(
      browser,
      path,
      { email: 'anna@' },
      { field: 'email', says: /form/, kept: { email: 'anna@' } },
    );
  const email = await registered(app);
  await browser.post('/auth/forgot-password', { email });
  const token = tokenIn(await mailTo(app, email, /Choose a new password/));
  const typed = { token, password: 'qwertyuiop12' };
  const marked = { field: 'password', says: /too easy to guess/, kept: { token } };
  await refuse(browser, '/auth/reset-password', typed, marked);
  const again = await browser.submit('/auth/reset-password', { token, password: goodPassword.toUpperCase() });
  expect(again.status).toBe(303);
});

test('settings: the field of the form that was sent is marked, though others have one of the same name', async () => {
  const email = await registered(app);
  // Passkeys are offered at the address of the portal alone.
  const browser = new Browser(app.url, { host: 'portal.localhost' });
  await browser.post('/auth/login', { email, password: goodPassword });
  const wrong = { current_password: 'not the password' };
  const says = /^This password is not correct\.$/;
  await refuse(
    browser,
    `${settings}/email`,
    { email: 'new@example.com', ...wrong },
    {
      field: 'email_password',
      says,
      kept: { email: 'new@example.com' },
    },
  );
  await refuse(
    browser,
    `${settings}/email`,
    { email: 'new@', current_password: goodPassword },
    {
      field: 'email',
      says: /form/,
      kept: { email: 'new@' },
    },
  );
  const next = 'a wholly different phrase';
  await refuse(
    browser,
    `${settings}/password`,
    { ...wrong, password: next },
    { field: 'current_password', says },
  );
  await refuse(
    browser,
    `${settings}/password`,
    { current_password: goodPassword, password: 'letmein letmein' },
    {
      field: 'password',
      says: /too easy to guess/,
    },
  );
  const profile = { display_name: 'x'.repeat(101), preferred_language: 'it', time_zone: 'Europe/Rome' };
  await refuse(browser, settings, profile, {
    field: 'display_name',
    says: /100/,
    kept: { display_name: profile.display_name },
  });
  await refuse(
    browser,
    settings,
    { ...profile, display_name: 'Ada', time_zone: 'Mars/Base' },
    {
      field: 'time_zone',
      says: /Choose one/,
      kept: { display_name: 'Ada' },
    },
  );
  await refuse(
    browser,
    `${settings}/passkeys/begin`,
    { name: 'My "key"', ...wrong },
    {
      field: 'passkey_password',
      says,
      kept: { name: 'My "key"' },
    },
  );
  await refuse(
    browser,
    `${settings}/delete`,
    { confirmation: 'other@example.com', current_password: 'xyzzy-xyzzy' },
    {
      field: 'confirmation',
      says: /Type the address/,
      kept: { confirmation: 'other@example.com' },
    },
  );
  await refuse(
    browser,
    `${settings}/delete`,
    { confirmation: email, ...wrong },
    {
      field: 'delete_password',
      says,
      kept: { confirmation: email },
    },
  );
  expect((await browser.page(settings)).text).not.toContain('aria-invalid');
});

test('the second factor: its code is marked, and never there again', async () => {
  const email = await registered(app);
  const browser = await signedIn(app, email);
  const page = `${settings}/second-factor`;
  const secret = (
    /<code>([A-Z2-7 ]{39})<\/code>/.exec((await browser.page(page)).text)?.[1] ?? ''
  ).replaceAll(' ', '');
  const says = /^This code is not correct/;
  const current_password = goodPassword;
  await refuse(browser, `${page}/enable`, { code: '123', current_password }, { field: 'code', says });
  const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate();
  expect((await browser.submit(`${page}/enable`, { code, current_password })).status).toBe(200);
  const visitor = new Browser(app.url);
  await visitor.post('/auth/login', { email, password: goodPassword });
  await refuse(visitor, '/auth/second-factor', { code: 'abcde-fghij' }, { field: 'code', says });
  await refuse(
    browser,
    `${page}/disable`,
    { code: '123', current_password: 'not the password' },
    {
      field: 'current_password',
      says: /^This password is not correct\.$/,
    },
  );
  await refuse(
    browser,
    `${page}/disable`,
    { code: '123', current_password: goodPassword },
    { field: 'code', says },
  );
});
