import type { TestApp } from '../../support/app';
import {
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

let app: TestApp;

beforeAll(async () => {
  app = await startAccountHouse();
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

describe('registration', () => {
  test('works without scripts, from the form to the first session', async () => {
    const email = newAddress();
    const browser = new Browser(app.url);
    expect((await browser.page('/signup')).text).toContain('action="/auth/register"');
    const sent = await browser.submit('/auth/register', registration(email));
    expect([sent.status, sent.location]).toEqual([303, '/verify-email?sent=register']);
    expect(await accountOf(email)).toMatchObject({ status: 'pending_verification' });

    const early = await browser.submit('/auth/login', { email, password: goodPassword });
    expect([early.status, early.text]).toEqual([
      403,
      expect.stringContaining('action="/auth/resend-verification"'),
    ]);

    const mail = await mailTo(app, email, /Confirm your email/);
    const link = new URL(/http\S+/.exec(mail.text)?.[0] ?? '');
    const opened = await browser.page(link.pathname + link.search);
    expect([opened.status, await accountOf(email)]).toMatchObject([200, { status: 'pending_verification' }]);
    const confirmed = await browser.submit('/verify-email', { token: tokenIn(mail) });
    expect(confirmed.location).toBe('/login?notice=verified');

    const entered = await browser.submit('/auth/login', {
      email,
      password: goodPassword,
      next: '/dashboard/keys?a=1',
    });
    expect([entered.status, entered.location]).toEqual([303, '/dashboard/keys?a=1']);
    expect(sessionOf(browser)).toMatch(/^[\w-]{43}$/);
  });

  test('keeps an argon2id hash, and the version of the terms', async () => {
    const email = await registered(app);
    const account = await accountOf(email);
    expect(account?.password_hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    const accepted = await app.database.query('SELECT version FROM legal_acceptance WHERE user_id = $1', [
      account?.id,
    ]);
    expect(accepted).toHaveLength(1);
  });

  test('of an address that has an account changes nothing, and says so there alone', async () => {
    const email = await registered(app);
    const before = await accountOf(email);
    const answer = await new Browser(app.url).post(
      '/auth/register',
      registration(email, 'another good phrase 77'),
    );
    expect([answer.status, answer.json()]).toEqual([200, { ok: true }]);
    await mailTo(app, email, /already have an account/);
    expect(await accountOf(email)).toEqual(before);
  });

  test('anew before the address is confirmed brings its own password, and its link voids the first', async () => {
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
    const wrong = await browser.post('/auth/login', { email, password: 'the first stranger chose this' });
    expect(wrong.status).toBe(401);
    await signedIn(app, email);
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

  test('needs the terms, a mail address, and no more than was asked for', async () => {
    const browser = new Browser(app.url);
    const { terms: _terms, ...without } = registration(newAddress());
    expect((await browser.post('/auth/register', without)).json()).toMatchObject({
      code: 'tos_not_accepted',
    });
    const crooked = await browser.post(
      '/auth/register',
      registration('anna@example.com\nbcc: all@example.com'),
    );
    expect([crooked.status, crooked.json()['code']]).toEqual([422, 'validation_error']);
    for (const extra of ['role', 'status', 'organisation_id', 'billing_exempt']) {
      const body = JSON.stringify({ ...registration(newAddress()), extra: 1 }).replace(
        '"extra"',
        `"${extra}"`,
      );
      const answer = await browser.ask('/auth/register', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      });
      expect([extra, answer.status < 500 && answer.status >= 400]).toEqual([extra, true]);
    }
  });
});

describe('signing in', () => {
  test('gives a new session, and ends the one the browser brought', async () => {
    const email = await registered(app);
    const browser = await signedIn(app, email);
    const first = sessionOf(browser);
    await browser.post('/auth/login', { email: email.toUpperCase(), password: goodPassword });
    expect(sessionOf(browser)).not.toBe(first);
    const rows = await app.database.query(
      'SELECT 1 FROM session s JOIN user_account u ON u.id = s.user_id WHERE u.email = $1',
      [email],
    );
    expect(rows).toHaveLength(1);
  });

  test('never takes the session that a browser was given by somebody else', async () => {
    const email = await registered(app);
    const browser = new Browser(app.url);
    browser.keep('svc_session', 'A'.repeat(43));
    await browser.post('/auth/login', { email, password: goodPassword });
    expect(sessionOf(browser)).not.toBe('A'.repeat(43));
  });

  test('is refused in the same words for a wrong password, an unknown address and an account without one', async () => {
    const email = await registered(app);
    const without = newAddress();
    await app.database.query(
      "INSERT INTO user_account (email, display_name, status) VALUES ($1, 'x', 'active')",
      [without],
    );
    const answers = [];
    for (const name of [email, newAddress(), without]) {
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

  test('with a hash of an older cost makes a new one', async () => {
    const email = await registered(app);
    const older = '$argon2id$v=19$m=4096,t=1,p=1$';
    const { hash } = await import('@node-rs/argon2');
    const old = await hash(goodPassword, { memoryCost: 4096, timeCost: 1, parallelism: 1 });
    expect(old.startsWith(older)).toBe(true);
    await app.database.query('UPDATE user_account SET password_hash = $2 WHERE email = $1', [email, old]);
    await signedIn(app, email);
    expect((await accountOf(email))?.password_hash).toContain('m=19456');
    await signedIn(app, email);
  });

  test('of a member whose organisation signs in elsewhere is refused with the way to go', async () => {
    const email = await registered(app);
    await app.database.query("INSERT INTO organisation (name, slug, sso_only) VALUES ('S', 'sso', true)");
    await app.database.query(
      "UPDATE user_account SET organisation_id = (SELECT id FROM organisation WHERE slug = 'sso') WHERE email = $1",
      [email],
    );
    const answer = await new Browser(app.url).post('/auth/login', { email, password: goodPassword });
    expect([answer.status, answer.json()['code']]).toEqual([403, 'sso_only']);
    const wrong = await new Browser(app.url).post('/auth/login', { email, password: 'not the password' });
    expect(wrong.json()['code']).toBe('invalid_credentials');
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
  ])('then goes on to a page of ours only: %j', async (next, location) => {
    const email = await registered(app);
    const answer = await new Browser(app.url).submit('/auth/login', { email, password: goodPassword, next });
    expect(answer.location).toBe(location);
  });

  test('shows the form again with the address, and never with the password', async () => {
    const answer = await new Browser(app.url).submit('/auth/login', {
      email: 'a@example.com',
      password: 'hunter2 hunter2',
    });
    expect(answer.status).toBe(401);
    expect(answer.text).toContain('value="a@example.com"');
    expect(answer.text).not.toContain('hunter2');
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });

  test('speaks the language of the browser', async () => {
    const answer = await new Browser(app.url, { 'accept-language': 'de-CH,de' }).submit('/auth/login', {
      email: 'a@example.com',
      password: 'hunter2 hunter2',
    });
    expect(answer.text).toContain('Das Passwort stimmt nicht'.slice(4));
  });
});

describe('signing out', () => {
  test('ends the session, unless another site sent the browser there', async () => {
    const email = await registered(app);
    const browser = await signedIn(app, email);
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

describe('a forgotten password', () => {
  const resetToken = async (email: string) => {
    const answer = await new Browser(app.url).post('/auth/forgot-password', { email });
    expect([answer.status, answer.json()]).toEqual([200, { ok: true }]);
    return tokenIn(await mailTo(app, email, /Choose a new password/));
  };

  test('is replaced by the link in a mail; every session ends, and a mail says so', async () => {
    const email = await registered(app);
    const elsewhere = await signedIn(app, email);
    const token = await resetToken(email);
    const browser = new Browser(app.url);
    expect((await browser.page(`/reset-password?token=${token}`)).text).toContain('name="password"');
    const changed = await browser.submit('/auth/reset-password', {
      token,
      password: 'a wholly different phrase',
    });
    expect(changed.location).toBe('/login?notice=password-changed');
    expect(elsewhere.cookie('svc_session')).toBeDefined();
    const rows = await app.database.query(
      'SELECT 1 FROM session s JOIN user_account u ON u.id = s.user_id WHERE u.email = $1',
      [email],
    );
    expect(rows).toEqual([]);
    await mailTo(app, email, /password was changed/);
    await signedIn(app, email, 'a wholly different phrase');
  });

  test('opens nothing with a token that is not one', async () => {
    const email = await registered(app);
    const password = 'a wholly different phrase';
    const browser = new Browser(app.url);
    const mine = await resetToken(email);
    const bodies: object[] = [
      { password },
      { token: null, password },
      { token: [mine], password },
      { token: { $ne: null }, password },
    ];
    for (const body of bodies) expect((await browser.post('/auth/reset-password', body)).status).toBe(422);
    for (const token of ['', 'null', 'A'.repeat(43), `${mine} `, mine.toLowerCase()]) {
      const answer = await browser.post('/auth/reset-password', { token, password });
      expect([token, answer.json()['code']]).toEqual([token, 'invalid_token']);
    }
    expect((await browser.post('/auth/reset-password', { token: mine, password })).status).toBe(200);
    expect((await browser.post('/auth/reset-password', { token: mine, password })).json()['code']).toBe(
      'invalid_token',
    );
    const page = await browser.page(`/reset-password?token=${mine}`);
    expect(page.text).toContain('href="/forgot-password"');
  });

  test('is not replaced by a link whose hour is over', async () => {
    const email = await registered(app);
    const token = await resetToken(email);
    await app.database.query(
      `WITH gone AS (DELETE FROM account_token WHERE purpose = 'reset_password' RETURNING *)
       INSERT INTO account_token SELECT token_hash, purpose, user_id, data, created_at, now() - interval '1 second' FROM gone`,
    );
    const answer = await new Browser(app.url).post('/auth/reset-password', { token, password: goodPassword });
    expect(answer.json()['code']).toBe('invalid_token');
  });

  test('is replaced once by a link that two bring at the same moment', async () => {
    const email = await registered(app);
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

  test('keeps the link for another try when the new one is too weak', async () => {
    const email = await registered(app);
    const token = await resetToken(email);
    const browser = new Browser(app.url);
    const weak = await browser.submit('/auth/reset-password', { token, password: 'password' });
    expect([weak.status, weak.text]).toEqual([400, expect.stringContaining(token)]);
    expect((await browser.post('/auth/reset-password', { token, password: goodPassword })).status).toBe(200);
  });

  test('links lead to the configured address, whatever the request calls itself', async () => {
    const email = await registered(app);
    const poisoned = { 'x-forwarded-host': 'evil.example', forwarded: 'host=evil.example' };
    await new Browser(app.url).post('/auth/forgot-password', { email }, poisoned);
    const mail = await mailTo(app, email, /Choose a new password/);
    expect(mail.text).toContain('http://localhost');
    expect(mail.text + (mail.html ?? '')).not.toContain('evil');
  });
});

test('answers of register, forgot and resend are the same for a known and an unknown address', async () => {
  const known = await registered(app);
  for (const [path, body] of [
    ['/auth/register', (email: string) => registration(email)],
    ['/auth/forgot-password', (email: string) => ({ email })],
    ['/auth/resend-verification', (email: string) => ({ email })],
  ] as const) {
    const [one, other] = await Promise.all(
      [known, newAddress()].map((email) => new Browser(app.url).post(path, body(email))),
    );
    expect([one?.status, one?.text]).toEqual([other?.status, other?.text]);
  }
});

test('no secret is in the log', async () => {
  const email = await registered(app);
  await new Browser(app.url).post('/auth/forgot-password', { email });
  const token = tokenIn(await mailTo(app, email, /Choose a new password/));
  const log = app.log.join('\n');
  expect(log).not.toContain(token);
  expect(log).not.toContain(goodPassword);
  expect(log).not.toContain('$argon2');
});
