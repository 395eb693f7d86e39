import { Secret, TOTP } from 'otpauth';
import type { TestApp } from '../../support/app';
import {
  type BrowserResponse,
  Browser,
  goodPassword,
  mailTo,
  newAddress,
  registerUser,
  registration,
  signInBrowser,
  startAccountFixture,
  tokenIn,
} from './account-fixture';

/**
 * Validation errors of the account forms: the invalid field is described and focused, and inputs keep their values
 * except passwords. Dashboard forms: test/integration/web/refused-forms.
 */

const settings = '/dashboard/settings';
let app: TestApp;

beforeAll(async () => {
  app = await startAccountFixture({ environment: { BASE_URL: 'http://portal.localhost' } });
});
afterAll(() => app.close());

interface ExpectedFieldError {
  /** Id of the field, because a page can have several fields of one name. */
  readonly field: string;
  readonly says: RegExp;
  readonly kept?: Readonly<Record<string, string>>;
}

const unescaped = (text: string): string =>
  text.replaceAll('&#x27;', "'").replaceAll('&quot;', '"').replaceAll('&amp;', '&');

function expectFieldError(
  { text, status }: BrowserResponse,
  inputs: Readonly<Record<string, string>>,
  expectedError: ExpectedFieldError,
): void {
  expect([status >= 400 && status < 500, text.slice(0, 15)]).toEqual([true, '<!doctype html>']);
  const invalid = [...text.matchAll(/<(?:input|select|textarea)\b[^>]* aria-invalid="true"[^>]*>/g)].map(
    ([tag]) => tag,
  );
  const [tag = 'no field is marked'] = invalid;
  expect([invalid.length, tag]).toEqual([1, expect.stringContaining(` id="${expectedError.field}"`)]);
  expect(tag).toContain(' autofocus');
  // A paragraph must not contain another paragraph.
  expect(text).not.toMatch(/<p\b[^>]*>(?:(?!<\/p>)[^])*<p class="error"/);
  const descriptionId = / aria-describedby="([^" ]+)/.exec(tag)?.[1] ?? '';
  const note = new RegExp(`<p class="error" id="${descriptionId}">(?:<svg.*?</svg>)?([^<]+)`).exec(text)?.[1];
  expect(unescaped(note ?? 'no note')).toMatch(expectedError.says);
  expect(text.match(/banner-bad" role="alert"/g)).toHaveLength(1);
  for (const [name, value] of Object.entries(expectedError.kept ?? {})) {
    const fields = [...text.matchAll(/<(?:input|select)\b[^>]*>/g)].map(([field]) => unescaped(field));
    const isPreserved = fields.some(
      (one) => one.includes(` name="${name}"`) && one.includes(` value="${value}"`),
    );
    expect([name, isPreserved]).toEqual([name, true]);
  }
  for (const [name, value] of Object.entries(inputs))
    if (name.includes('password')) expect(text).not.toContain(value);
}

async function expectRefusal(
  browser: Browser,
  path: string,
  typed: Readonly<Record<string, string>>,
  marked: ExpectedFieldError,
): Promise<void> {
  expectFieldError(await browser.submit(path, typed), typed, marked);
}

test('the sign-in form marks the same field for known and unknown addresses and keeps the address', async () => {
  const knownAddress = await registerUser(app);
  for (const email of [knownAddress, newAddress()]) {
    const inputs = { email, password: 'not the password & "more"', next: '/dashboard/keys' };
    const errorPattern = /^The email address or password is not correct\.$/;
    await expectRefusal(new Browser(app.url), '/auth/login', inputs, {
      field: 'password',
      says: errorPattern,
      kept: { email },
    });
  }
  const email = 'nobody@"here"';
  const inputs = { email, password: goodPassword };
  await expectRefusal(new Browser(app.url), '/auth/login', inputs, {
    field: 'email',
    says: /form/,
    kept: { email },
  });
  const germanBrowser = new Browser(app.url, { 'accept-language': 'de' });
  const answer = await germanBrowser.submit('/auth/login', { email: knownAddress, password: 'falsch' });
  expectFieldError(answer, { password: 'falsch' }, { field: 'password', says: /Passwort stimmt nicht/ });
});

test('the sign-up form keeps name and address but no password, and marks the unaccepted terms', async () => {
  const browser = new Browser(app.url);
  const email = newAddress();
  const validForm = { ...registration(email), display_name: `Anna "O'Neill"` };
  const preserved = { email, display_name: validForm.display_name };
  await expectRefusal(
    browser,
    '/auth/register',
    { ...validForm, password: 'letmein' },
    {
      field: 'password',
      says: /too easy to guess/,
      kept: preserved,
    },
  );
  const { terms: _, ...without } = validForm as Record<string, string>;
  await expectRefusal(browser, '/auth/register', without, {
    field: 'terms',
    says: /Accept the terms/,
    kept: preserved,
  });
  await expectRefusal(
    browser,
    '/auth/register',
    { ...validForm, email: 'anna' },
    {
      field: 'email',
      says: /form/,
      kept: { ...preserved, email: 'anna' },
    },
  );
});

test('the forgot-password, confirmation and new-password forms mark their invalid field', async () => {
  const browser = new Browser(app.url);
  for (const path of ['/auth/forgot-password', '/auth/resend-verification'])
    await expectRefusal(
      browser,
      path,
      { email: 'anna@' },
      { field: 'email', says: /form/, kept: { email: 'anna@' } },
    );
  const email = await registerUser(app);
  await browser.post('/auth/forgot-password', { email });
  const token = tokenIn(await mailTo(app, email, /Choose a new password/));
  const inputs = { token, password: 'qwertyuiop12' };
  const expectedError = { field: 'password', says: /too easy to guess/, kept: { token } };
  await expectRefusal(browser, '/auth/reset-password', inputs, expectedError);
  const secondAttempt = await browser.submit('/auth/reset-password', {
    token,
    password: goodPassword.toUpperCase(),
  });
  expect(secondAttempt.status).toBe(303);
});

test('a settings page marks the field of the submitted form when another form has a field of the same name', async () => {
  const email = await registerUser(app);
  // Passkeys are only offered at the portal's own address.
  const browser = new Browser(app.url, { host: 'portal.localhost' });
  await browser.post('/auth/login', { email, password: goodPassword });
  const wrongPassword = { current_password: 'not the password' };
  const errorPattern = /^This password is not correct\.$/;
  await expectRefusal(
    browser,
    `${settings}/email`,
    { email: 'new@example.com', ...wrongPassword },
    {
      field: 'email_password',
      says: errorPattern,
      kept: { email: 'new@example.com' },
    },
  );
  await expectRefusal(
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
  await expectRefusal(
    browser,
    `${settings}/password`,
    { ...wrongPassword, password: next },
    { field: 'current_password', says: errorPattern },
  );
  await expectRefusal(
    browser,
    `${settings}/password`,
    { current_password: goodPassword, password: 'letmein letmein' },
    {
      field: 'password',
      says: /too easy to guess/,
    },
  );
  const profile = { display_name: 'x'.repeat(101), preferred_language: 'it', time_zone: 'Europe/Rome' };
  await expectRefusal(browser, settings, profile, {
    field: 'display_name',
    says: /100/,
    kept: { display_name: profile.display_name },
  });
  await expectRefusal(
    browser,
    settings,
    { ...profile, display_name: 'Ada', time_zone: 'Mars/Base' },
    {
      field: 'time_zone',
      says: /Choose one/,
      kept: { display_name: 'Ada' },
    },
  );
  await expectRefusal(
    browser,
    `${settings}/passkeys/begin`,
    { name: 'My "key"', ...wrongPassword },
    {
      field: 'passkey_password',
      says: errorPattern,
      kept: { name: 'My "key"' },
    },
  );
  await expectRefusal(
    browser,
    `${settings}/delete`,
    { confirmation: 'other@example.com', current_password: 'xyzzy-xyzzy' },
    {
      field: 'confirmation',
      says: /Type the address/,
      kept: { confirmation: 'other@example.com' },
    },
  );
  await expectRefusal(
    browser,
    `${settings}/delete`,
    { confirmation: email, ...wrongPassword },
    {
      field: 'delete_password',
      says: errorPattern,
      kept: { confirmation: email },
    },
  );
  expect((await browser.page(settings)).text).not.toContain('aria-invalid');
});

test('the second-factor form marks the code and never keeps it', async () => {
  const email = await registerUser(app);
  const browser = await signInBrowser(app, email);
  const page = `${settings}/second-factor`;
  const secret = (
    /<code>([A-Z2-7 ]{39})<\/code>/.exec((await browser.page(page)).text)?.[1] ?? ''
  ).replaceAll(' ', '');
  const errorPattern = /^This code is not correct/;
  const current_password = goodPassword;
  await expectRefusal(
    browser,
    `${page}/enable`,
    { code: '123', current_password },
    { field: 'code', says: errorPattern },
  );
  const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate();
  expect((await browser.submit(`${page}/enable`, { code, current_password })).status).toBe(200);
  const visitorBrowser = new Browser(app.url);
  await visitorBrowser.post('/auth/login', { email, password: goodPassword });
  await expectRefusal(
    visitorBrowser,
    '/auth/second-factor',
    { code: 'abcde-fghij' },
    { field: 'code', says: errorPattern },
  );
  await expectRefusal(
    browser,
    `${page}/disable`,
    { code: '123', current_password: 'not the password' },
    {
      field: 'current_password',
      says: /^This password is not correct\.$/,
    },
  );
  await expectRefusal(
    browser,
    `${page}/disable`,
    { code: '123', current_password: goodPassword },
    { field: 'code', says: errorPattern },
  );
});
