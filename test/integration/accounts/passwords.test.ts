import type { TestApp } from '../../support/app';
import {
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

let app: TestApp;

beforeAll(async () => {
  app = await startAccountFixture();
});
afterAll(() => app.close());

const accountOf = async (email: string) => {
  const [row] = await app.database.query<{ id: number; status: string; password_hash: string }>(
    'SELECT id, status, password_hash FROM user_account WHERE email = $1',
    [email],
  );
  return row;
};
const sessionOf = (browser: Browser) => browser.cookie('svc_session') ?? '';

describe('Registration', () => {
  test('registers, confirms the email address and signs in with plain HTML forms', async () => {
    const email = newAddress();
    const browser = new Browser(app.url);
    expect((await browser.page('/signup')).text).toContain('action="/auth/register"');
    const registrationResponse = await browser.submit('/auth/register', registration(email));
    expect([registrationResponse.status, registrationResponse.location]).toEqual([
      303,
      '/verify-email?sent=register',
    ]);
    expect(await accountOf(email)).toMatchObject({ status: 'pending_verification' });

    const unconfirmedSignIn = await browser.submit('/auth/login', { email, password: goodPassword });
    expect([unconfirmedSignIn.status, unconfirmedSignIn.text]).toEqual([
      403,
      expect.stringContaining('action="/auth/resend-verification"'),
    ]);

    const mail = await mailTo(app, email, /Confirm your email/);
    const link = new URL(/http\S+/.exec(mail.text)?.[0] ?? '');
    const confirmationPage = await browser.page(link.pathname + link.search);
    expect([confirmationPage.status, await accountOf(email)]).toMatchObject([
      200,
      { status: 'pending_verification' },
    ]);
    const confirmation = await browser.submit('/verify-email', { token: tokenIn(mail) });
    expect(confirmation.location).toBe('/login?notice=verified');

    const signInResponse = await browser.submit('/auth/login', {
      email,
      password: goodPassword,
      next: '/dashboard/keys?a=1',
    });
    expect([signInResponse.status, signInResponse.location]).toEqual([303, '/dashboard/keys?a=1']);
    expect(sessionOf(browser)).toMatch(/^[\w-]{43}$/);
  });

  test('stores an argon2id hash and the accepted version of the terms', async () => {
    const email = await registerUser(app);
    const account = await accountOf(email);
    expect(account?.password_hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    const acceptances = await app.database.query('SELECT version FROM legal_acceptance WHERE user_id = $1', [
      account?.id,
    ]);
    expect(acceptances).toHaveLength(1);
  });

  test('changes nothing for an email address in use, and notifies its owner by email only', async () => {
    const email = await registerUser(app);
    const accountBefore = await accountOf(email);
    const answer = await new Browser(app.url).post(
      '/auth/register',
      registration(email, 'another good phrase 77'),
    );
    expect([answer.status, answer.json()]).toEqual([200, { ok: true }]);
    await mailTo(app, email, /already have an account/);
    expect(await accountOf(email)).toEqual(accountBefore);
  });

  test('repeated before confirmation sets the newer password and voids the first confirmation link', async () => {
    const email = newAddress();
    const browser = new Browser(app.url);
    await browser.post('/auth/register', registration(email, 'the first stranger chose this'));
    const first = tokenIn(await mailTo(app, email, /Confirm/));
    await browser.post('/auth/register', registration(email));
    const second = tokenIn(await mailTo(app, email, /Confirm/, 1));
    expect((await browser.post('/verify-email', { token: second })).status).toBe(200);
    expect((await browser.post('/verify-email', { token: first })).json()).toMatchObject({
      code: 'invalid_token',
    });
    const refusal = await browser.post('/auth/login', { email, password: 'the first stranger chose this' });
    expect(refusal.status).toBe(401);
    await signInBrowser(app, email);
  });

  test.each([
    ['short', 'tk4-ux9!'],
    ['a frequent word', 'passwordpassword'],
    ['a run', '123456789012345'],
    ['one letter', 'aaaaaaaaaaaaaaaa'],
    ['the own address', 'annabelle.annabelle'],
  ])('refuses a password that is %s', async (_name, password) => {
    const answer = await new Browser(app.url).post(
      '/auth/register',
      registration('annabelle@example.com', password),
    );
    expect([answer.status, answer.json()['code']]).toEqual([400, 'weak_password']);
  });

  test('requires the terms and a valid email address, and rejects unknown fields', async () => {
    const browser = new Browser(app.url);
    const { terms: _terms, ...without } = registration(newAddress());
    expect((await browser.post('/auth/register', without)).json()).toMatchObject({
      code: 'tos_not_accepted',
    });
    const invalidResponse = await browser.post(
      '/auth/register',
      registration('anna@example.com\nbcc: all@example.com'),
    );
    expect([invalidResponse.status, invalidResponse.json()['code']]).toEqual([422, 'validation_error']);
    for (const extraField of ['role', 'status', 'organisation_id', 'billing_exempt']) {
      const body = JSON.stringify({ ...registration(newAddress()), extra: 1 }).replace(
        '"extra"',
        `"${extraField}"`,
      );
      const answer = await browser.send('/auth/register', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      });
      expect([extraField, answer.status < 500 && answer.status >= 400]).toEqual([extraField, true]);
    }
  });
});

describe('Sign-in', () => {
  test('opens a new session and ends the previous one of the browser', async () => {
    const email = await registerUser(app);
    const browser = await signInBrowser(app, email);
    const first = sessionOf(browser);
    await browser.post('/auth/login', { email: email.toUpperCase(), password: goodPassword });
    expect(sessionOf(browser)).not.toBe(first);
    const rows = await app.database.query(
      'SELECT 1 FROM session s JOIN user_account u ON u.id = s.user_id WHERE u.email = $1',
      [email],
    );
    expect(rows).toHaveLength(1);
  });

  test('never adopts a session id that the browser already has', async () => {
    const email = await registerUser(app);
    const browser = new Browser(app.url);
    browser.setCookie('svc_session', 'A'.repeat(43));
    await browser.post('/auth/login', { email, password: goodPassword });
    expect(sessionOf(browser)).not.toBe('A'.repeat(43));
  });

  test('returns the same refusal for a wrong password, an unknown address and an account without a password', async () => {
    const email = await registerUser(app);
    const withoutPassword = newAddress();
    await app.database.query(
      "INSERT INTO user_account (email, display_name, status) VALUES ($1, 'x', 'active')",
      [withoutPassword],
    );
    const answers = [];
    for (const name of [email, newAddress(), withoutPassword]) {
      const answer = await new Browser(app.url).post('/auth/login', {
        email: name,
        password: 'not the password',
      });
      const { request_id: _id, ...body } = answer.json();
      answers.push([answer.status, JSON.stringify(body).replace(/[0-9a-f-]{36}/g, 'id')]);
    }
    expect(new Set(answers.map(String)).size).toBe(1);
    expect(answers[0]?.[0]).toBe(401);
  });

  test('replaces a password hash of an older cost', async () => {
    const email = await registerUser(app);
    const olderPrefix = '$argon2id$v=19$m=4096,t=1,p=1$';
    const { hash } = await import('@node-rs/argon2');
    const olderHash = await hash(goodPassword, { memoryCost: 4096, timeCost: 1, parallelism: 1 });
    expect(olderHash.startsWith(olderPrefix)).toBe(true);
    await app.database.query('UPDATE user_account SET password_hash = $2 WHERE email = $1', [
      email,
      olderHash,
    ]);
    await signInBrowser(app, email);
    expect((await accountOf(email))?.password_hash).toContain('m=19456');
    await signInBrowser(app, email);
  });

  test('redirects a member of a provider-only organisation to the provider', async () => {
    const email = await registerUser(app);
    await app.database.query("INSERT INTO organisation (name, slug, sso_only) VALUES ('S', 'sso', true)");
    await app.database.query(
      "UPDATE user_account SET organisation_id = (SELECT id FROM organisation WHERE slug = 'sso') WHERE email = $1",
      [email],
    );
    const answer = await new Browser(app.url).post('/auth/login', { email, password: goodPassword });
    expect([answer.status, answer.json()['code']]).toEqual([403, 'sso_only']);
    const wrongPassword = await new Browser(app.url).post('/auth/login', {
      email,
      password: 'not the password',
    });
    expect(wrongPassword.json()['code']).toBe('invalid_credentials');
  });

  test.each([
    ['//evil.example', '/dashboard'],
    ['\\\\evil.example', '/dashboard'],
    ['/\\evil.example', '/dashboard'],
    ['/\t/evil.example', '/dashboard'],
    ['/.//evil.example', '/dashboard'],
    ['/%2e//evil.example', '/dashboard'],
    ['javascript:alert(1)', '/dashboard'],
    ['https://evil.example', '/dashboard'],
    ['%2F%2Fevil.example', '/dashboard'],
    ['', '/dashboard'],
    ['/dashboard/usage?days=7', '/dashboard/usage?days=7'],
  ])('redirects only to pages of the portal: %j', async (next, location) => {
    const email = await registerUser(app);
    const answer = await new Browser(app.url).submit('/auth/login', { email, password: goodPassword, next });
    expect(answer.location).toBe(location);
  });

  test('shows the form again with the address and without the password', async () => {
    const answer = await new Browser(app.url).submit('/auth/login', {
      email: 'a@example.com',
      password: 'hunter2 hunter2',
    });
    expect(answer.status).toBe(401);
    expect(answer.text).toContain('value="a@example.com"');
    expect(answer.text).not.toContain('hunter2');
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });

  test('uses the language of the browser', async () => {
    const answer = await new Browser(app.url, { 'accept-language': 'de-CH,de' }).submit('/auth/login', {
      email: 'a@example.com',
      password: 'hunter2 hunter2',
    });
    expect(answer.text).toContain('Das Passwort stimmt nicht'.slice(4));
  });
});

describe('Sign-out', () => {
  test('ends the session, unless the request is cross-site', async () => {
    const email = await registerUser(app);
    const browser = await signInBrowser(app, email);
    const session = sessionOf(browser);
    for (const site of ['cross-site', 'same-site']) {
      expect((await browser.get('/logout', { 'sec-fetch-site': site })).json()).toMatchObject({
        code: 'csrf_rejected',
      });
    }
    expect(sessionOf(browser)).toBe(session);
    const answer = await browser.page('/logout', { 'sec-fetch-site': 'same-origin' });
    expect([answer.status, answer.location]).toEqual([303, '/login?notice=signed-out']);
    expect(sessionOf(browser)).toBe('');
    const rows = await app.database.query(
      'SELECT 1 FROM session s JOIN user_account u ON u.id = s.user_id WHERE u.email = $1',
      [email],
    );
    expect(rows).toEqual([]);
  });
});

describe('Password reset', () => {
  const resetToken = async (email: string) => {
    const answer = await new Browser(app.url).post('/auth/forgot-password', { email });
    expect([answer.status, answer.json()]).toEqual([200, { ok: true }]);
    return tokenIn(await mailTo(app, email, /Choose a new password/));
  };

  test('sets a new password through the emailed link, ends every session and notifies the user by email', async () => {
    const email = await registerUser(app);
    const otherBrowser = await signInBrowser(app, email);
    const token = await resetToken(email);
    const browser = new Browser(app.url);
    expect((await browser.page(`/reset-password?token=${token}`)).text).toContain('name="password"');
    const resetResponse = await browser.submit('/auth/reset-password', {
      token,
      password: 'a wholly different phrase',
    });
    expect(resetResponse.location).toBe('/login?notice=password-changed');
    expect(otherBrowser.cookie('svc_session')).toBeDefined();
    const rows = await app.database.query(
      'SELECT 1 FROM session s JOIN user_account u ON u.id = s.user_id WHERE u.email = $1',
      [email],
    );
    expect(rows).toEqual([]);
    await mailTo(app, email, /password was changed/);
    await signInBrowser(app, email, 'a wholly different phrase');
  });

  test('refuses an invalid token', async () => {
    const email = await registerUser(app);
    const password = 'a wholly different phrase';
    const browser = new Browser(app.url);
    const validToken = await resetToken(email);
    const bodies: object[] = [
      { password },
      { token: null, password },
      { token: [validToken], password },
      { token: { $ne: null }, password },
    ];
    for (const body of bodies) expect((await browser.post('/auth/reset-password', body)).status).toBe(422);
    for (const token of ['', 'null', 'A'.repeat(43), `${validToken} `, validToken.toLowerCase()]) {
      const answer = await browser.post('/auth/reset-password', { token, password });
      expect([token, answer.json()['code']]).toEqual([token, 'invalid_token']);
    }
    expect((await browser.post('/auth/reset-password', { token: validToken, password })).status).toBe(200);
    expect((await browser.post('/auth/reset-password', { token: validToken, password })).json()['code']).toBe(
      'invalid_token',
    );
    const page = await browser.page(`/reset-password?token=${validToken}`);
    expect(page.text).toContain('href="/forgot-password"');
  });

  test('refuses a link older than one hour', async () => {
    const email = await registerUser(app);
    const token = await resetToken(email);
    await app.database.query(
      `WITH gone AS (DELETE FROM account_token WHERE purpose = 'reset_password' RETURNING *)
       INSERT INTO account_token SELECT token_hash, purpose, user_id, data, created_at, now() - interval '1 second' FROM gone`,
    );
    const answer = await new Browser(app.url).post('/auth/reset-password', { token, password: goodPassword });
    expect(answer.json()['code']).toBe('invalid_token');
  });

  test('accepts a link once when two requests use it at the same time', async () => {
    const email = await registerUser(app);
    const token = await resetToken(email);
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        new Browser(app.url).post('/auth/reset-password', {
          token,
          password: `a wholly different phrase ${n}`,
        }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array<number>(7).fill(401)]);
  });

  test('keeps the link valid when the new password is too weak', async () => {
    const email = await registerUser(app);
    const token = await resetToken(email);
    const browser = new Browser(app.url);
    const weakResponse = await browser.submit('/auth/reset-password', { token, password: 'password' });
    expect([weakResponse.status, weakResponse.text]).toEqual([400, expect.stringContaining(token)]);
    expect((await browser.post('/auth/reset-password', { token, password: goodPassword })).status).toBe(200);
  });

  test('uses the configured address in links, whatever host the request names', async () => {
    const email = await registerUser(app);
    const spoofedHeaders = { 'x-forwarded-host': 'evil.example', forwarded: 'host=evil.example' };
    await new Browser(app.url).post('/auth/forgot-password', { email }, spoofedHeaders);
    const mail = await mailTo(app, email, /Choose a new password/);
    expect(mail.text).toContain('http://localhost');
    expect(mail.text + (mail.html ?? '')).not.toContain('evil');
  });
});

test('registration, password reset and resend return the same response for known and unknown addresses', async () => {
  const knownAddress = await registerUser(app);
  for (const [path, body] of [
    ['/auth/register', (email: string) => registration(email)],
    ['/auth/forgot-password', (email: string) => ({ email })],
    ['/auth/resend-verification', (email: string) => ({ email })],
  ] as const) {
    const [one, other] = await Promise.all(
      [knownAddress, newAddress()].map((email) => new Browser(app.url).post(path, body(email))),
    );
    expect([one?.status, one?.text]).toEqual([other?.status, other?.text]);
  }
});

test('no password or token appears in the log', async () => {
  const email = await registerUser(app);
  await new Browser(app.url).post('/auth/forgot-password', { email });
  const token = tokenIn(await mailTo(app, email, /Choose a new password/));
  const log = app.log.join('\n');
  expect(log).not.toContain(token);
  expect(log).not.toContain(goodPassword);
  expect(log).not.toContain('$argon2');
});
