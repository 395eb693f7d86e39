import { Secret, TOTP } from 'otpauth';
import type { TestApp } from '../../support/app';
import { administer } from '../../support/postgres';
import {
  Authenticator,
  type CreationCeremonyOptions,
  type RequestCeremonyOptions,
} from '../../support/authenticator';
import {
  type BrowserResponse,
  Browser,
  goodPassword,
  mailTo,
  registerUser,
  signInBrowser,
  startAccountFixture,
} from './account-fixture';
import { until } from '../../support/until';

const base = 'http://portal.localhost';
const reseller = 'http://models.reseller.example';
const settings = '/dashboard/settings';
let app: TestApp;

beforeAll(async () => {
  app = await startAccountFixture({
    environment: { BASE_URL: base, PORTAL_ORIGINS: reseller, ACCOUNT_FREE_ATTEMPTS: '8' },
  });
});
afterAll(() => app.close());

const newBrowser = (host = new URL(base).host): Browser => new Browser(app.url, { host });

async function beginEnrolment(browser: Browser, fields: object = {}): Promise<CreationCeremonyOptions> {
  const answer = await browser.post(`${settings}/passkeys/begin`, {
    current_password: goodPassword,
    ...fields,
  });
  expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('"ok":true')]);
  return answer.json()['options'] as CreationCeremonyOptions;
}

const enrol = (browser: Browser, credential: string, name = 'Laptop'): Promise<BrowserResponse> =>
  browser.post(`${settings}/passkeys`, { credential, name });

interface PasskeyOwner {
  readonly email: string;
  readonly userId: number;
  readonly browser: Browser;
  readonly device: Authenticator;
}

async function createOwner(device = new Authenticator(base)): Promise<PasskeyOwner> {
  const email = await registerUser(app);
  const browser = await signInBrowser(app, email);
  expect((await enrol(browser, device.create(await beginEnrolment(browser)))).json()).toMatchObject({
    ok: true,
  });
  const [row] = await app.database.query<{ id: number }>('SELECT id FROM user_account WHERE email = $1', [
    email,
  ]);
  return { email, userId: row?.id ?? 0, browser, device };
}

async function requestChallenge(
  browser: Browser,
  path = '/auth/passkey/options',
): Promise<RequestCeremonyOptions> {
  const answer = await browser.post(path);
  expect(answer.status).toBe(200);
  return answer.json()['options'] as RequestCeremonyOptions;
}

const signInWithPasskey = (browser: Browser, credential: string): Promise<BrowserResponse> =>
  browser.post('/auth/passkey', { credential });

const isOpen = async (browser: Browser): Promise<boolean> =>
  (await browser.get('/api/legal/status')).status === 200;

async function actionsOf(userId: number): Promise<string[]> {
  const rows = await app.database.query<{ action: string }>(
    'SELECT action FROM activity WHERE user_id = $1 ORDER BY id',
    [userId],
  );
  return rows.map(({ action }) => action);
}

test('a passkey is added with the password, confirmed by email, and signs in without an email address', async () => {
  const { email, userId, device } = await createOwner();
  expect((await mailTo(app, email, /passkey was added/)).text).toContain('Laptop');
  const browser = newBrowser();
  const page = await browser.page('/login?next=/dashboard/keys');
  expect(page.text).toContain('data-passkey="get"');
  expect(page.text).toContain('Passkeys need JavaScript');
  const challenge = await requestChallenge(browser);
  expect(challenge).toMatchObject({ rpId: 'portal.localhost', userVerification: 'required' });
  expect(challenge.allowCredentials ?? []).toEqual([]);
  const signInResponse = await browser.submit('/auth/passkey', {
    credential: device.get(challenge),
    next: '/dashboard/keys',
  });
  expect([signInResponse.status, signInResponse.location]).toEqual([303, '/dashboard/keys']);
  expect(await isOpen(browser)).toBe(true);
  expect(await actionsOf(userId)).toEqual(
    expect.arrayContaining(['account.passkey-added', 'session.signed-in']),
  );
  expect((await browser.page(settings)).text).toMatch(/<b>Laptop<\/b>.*Last used <time/s);
});

test('adding a passkey requires the password, the same session and the browser that requested the challenge', async () => {
  const { browser, device, email } = await createOwner();
  const refusal = await browser.submit(`${settings}/passkeys/begin`, {
    current_password: 'not the password',
  });
  expect(refusal.status).toBe(401);
  expect((await browser.post(`${settings}/passkeys/begin`)).json()['code']).toBe('invalid_credentials');

  const challenge = await beginEnrolment(browser);
  expect(challenge.excludeCredentials).toHaveLength(1);
  const credential = device.create(challenge);
  const cookie = browser.cookie('svc_passkey') ?? '';
  const otherBrowser = await signInBrowser(app, email);
  expect((await enrol(otherBrowser, credential)).json()['code']).toBe('invalid_token');
  otherBrowser.setCookie('svc_passkey', cookie);
  expect((await enrol(otherBrowser, credential)).json()['code']).toBe('invalid_token');
  // The first attempt has used up the challenge, for the rightful session as well.
  expect((await enrol(browser, credential)).json()['code']).toBe('invalid_token');
  const stranger = await signInBrowser(app, await registerUser(app));
  const otherCredential = device.create(await beginEnrolment(browser));
  stranger.setCookie('svc_passkey', browser.cookie('svc_passkey') ?? '');
  expect((await enrol(stranger, otherCredential)).json()['code']).toBe('invalid_token');
});

test('a credential for another origin, host, user or challenge is not added', async () => {
  const { browser, device } = await createOwner();
  const forgeries = [
    { origin: 'https://evil.example' },
    { origin: reseller },
    { rpId: 'evil.example' },
    { type: 'webauthn.get' },
    { challenge: 'A'.repeat(43) },
    { isVerified: false },
  ];
  for (const forgery of forgeries) {
    const answer = await enrol(browser, device.create(await beginEnrolment(browser), forgery));
    expect([forgery, answer.status, answer.json()['code']]).toEqual([forgery, 422, 'validation_error']);
  }
  for (const credential of ['{}', 'null', '{"id":"x"}', '{"id":"x","response":{}}', 'no JSON', '[1]']) {
    await beginEnrolment(browser);
    expect([credential, (await enrol(browser, credential)).status]).toEqual([credential, 422]);
  }
  expect((await browser.page(settings)).text.match(/<b>Laptop<\/b>/g)).toHaveLength(1);
});

test('a device that already holds a passkey of the account cannot be added again', async () => {
  const { browser, device, userId } = await createOwner();
  const first = device.create(await beginEnrolment(browser));
  const cookie = browser.cookie('svc_passkey');
  expect(cookie).toMatch(/^[\w-]{43}$/);
  expect((await enrol(browser, first, 'Phone')).status).toBe(200);
  const userHandles = await app.database.query<{ handles: string }>(
    'SELECT count(DISTINCT user_handle) AS handles FROM passkey WHERE user_id = $1',
    [userId],
  );
  expect(userHandles).toEqual([{ handles: '1' }]);
  await app.database.query(
    `INSERT INTO passkey (credential_id, public_id, user_id, user_handle, public_key, sign_count, transports, name)
     SELECT decode(md5(n::text), 'hex'), gen_random_uuid(), $1, user_handle, public_key, 0, '{}', 'n'
     FROM passkey, generate_series(3, 20) n WHERE user_id = $1 AND name = 'Phone'`,
    [userId],
  );
  const refusalAtLimit = await browser.post(`${settings}/passkeys/begin`, { current_password: goodPassword });
  expect([refusalAtLimit.status, refusalAtLimit.json()['code']]).toEqual([409, 'conflict']);
});

test('a challenge works once, in the browser that requested it, and only for signing in', async () => {
  const { browser: own, device } = await createOwner();
  const browser = newBrowser();
  const credential = device.get(await requestChallenge(browser));
  const otherBrowser = newBrowser();
  expect((await signInWithPasskey(otherBrowser, credential)).json()['code']).toBe('invalid_token');
  const cookie = browser.cookie('svc_passkey') ?? '';
  expect((await signInWithPasskey(browser, credential)).json()).toMatchObject({ ok: true });
  for (const replayBrowser of [browser, otherBrowser]) {
    replayBrowser.setCookie('svc_passkey', cookie);
    expect((await signInWithPasskey(replayBrowser, credential)).json()['code']).toBe('invalid_token');
  }
  const enrolment = await beginEnrolment(own);
  const freshBrowser = newBrowser();
  freshBrowser.setCookie('svc_passkey', own.cookie('svc_passkey') ?? '');
  const enrolmentCredential = device.get({ rpId: 'portal.localhost', challenge: enrolment.challenge });
  expect((await signInWithPasskey(freshBrowser, enrolmentCredential)).json()['code']).toBe('invalid_token');
  const lateBrowser = newBrowser();
  const { challenge } = await requestChallenge(lateBrowser);
  await administer(
    String(app.environment['MIGRATION_DATABASE_URL']),
    "UPDATE account_token SET expires_at = now() - interval '1 s' WHERE purpose = 'passkey_sign_in'",
  );
  expect(
    (await signInWithPasskey(lateBrowser, device.get({ rpId: 'portal.localhost', challenge }))).json()[
      'code'
    ],
  ).toBe('invalid_token');
  expect(await isOpen(otherBrowser)).toBe(false);
});

test('a wrong origin, host, user, key or counter opens no session, with the same refusal for all', async () => {
  const { device, userId } = await createOwner();
  const { device: another } = await createOwner();
  const refusals = new Set<string>();
  const expectRefusal = async (
    label: string,
    credential: (question: RequestCeremonyOptions) => string,
  ): Promise<void> => {
    const browser = newBrowser();
    const answer = await signInWithPasskey(browser, credential(await requestChallenge(browser)));
    expect([label, answer.status, answer.json()['code']]).toEqual([label, 401, 'invalid_credentials']);
    refusals.add(answer.text.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, ''));
    expect(await isOpen(browser)).toBe(false);
  };
  await expectRefusal('origin', (question) =>
    device.get(question, { origin: 'https://portal.localhost.evil' }),
  );
  await expectRefusal('host', (question) => device.get(question, { rpId: 'evil.example' }));
  await expectRefusal('type', (question) => device.get(question, { type: 'webauthn.create' }));
  await expectRefusal('challenge', (question) => device.get(question, { challenge: 'A'.repeat(43) }));
  await expectRefusal('not verified', (question) => device.get(question, { isVerified: false }));
  await expectRefusal('handle', (question) => device.get(question, { userHandle: 'A'.repeat(43) }));
  await expectRefusal('key', (question) => {
    const ownCredential = JSON.parse(device.get(question)) as { id: string; rawId: string };
    const otherCredential = JSON.parse(another.get(question)) as object;
    return JSON.stringify({ ...otherCredential, id: ownCredential.id, rawId: ownCredential.rawId });
  });
  await expectRefusal('unknown', (question) => {
    const unknownDevice = new Authenticator(base);
    unknownDevice.create({
      challenge: question.challenge,
      rp: { id: 'portal.localhost' },
      user: { id: 'AAAA' },
    });
    return unknownDevice.get(question);
  });
  expect(refusals.size).toBe(1);
  const countFailures = async () =>
    (await actionsOf(userId)).filter((action) => action === 'session.sign-in-failed').length;
  await until(async () => (await countFailures()) >= 7);
  expect(await countFailures()).toBe(7);
});

test('a signature counter that does not increase is refused, because the key was copied', async () => {
  const { device } = await createOwner();
  const signInStatus = async (count: number) => {
    const browser = newBrowser();
    return (await signInWithPasskey(browser, device.get(await requestChallenge(browser), { count }))).status;
  };
  expect(await signInStatus(5)).toBe(200);
  expect([await signInStatus(5), await signInStatus(4), await signInStatus(0)]).toEqual([401, 401, 401]);
  expect(await signInStatus(6)).toBe(200);
  const [one, two] = [newBrowser(), newBrowser()];
  const both = [
    signInWithPasskey(one, device.get(await requestChallenge(one), { count: 7 })),
    signInWithPasskey(two, device.get(await requestChallenge(two), { count: 7 })),
  ];
  expect((await Promise.all(both)).map(({ status }) => status).sort()).toEqual([200, 401]);
});

test('failed passkey attempts are throttled with growing waits', async () => {
  const { device } = await createOwner();
  const codes: unknown[] = [];
  for (let n = 0; n < 12; n += 1) {
    const browser = newBrowser();
    const credential = device.get(await requestChallenge(browser), { origin: 'https://evil.example' });
    codes.push((await signInWithPasskey(browser, credential)).json()['code']);
  }
  expect(codes.at(-1)).toBe('rate_limit_exceeded');
});

test('suspended and archived users get their notice, and passkeys are refused when only a provider can sign users in', async () => {
  for (const status of ['suspended', 'archived']) {
    const { device, userId } = await createOwner();
    await app.database.query('UPDATE user_account SET status = $2 WHERE id = $1', [userId, status]);
    const browser = newBrowser();
    const signInResponse = await signInWithPasskey(browser, device.get(await requestChallenge(browser)));
    expect(signInResponse.json()).toMatchObject({ status, next: `/account/${status}` });
    expect((await browser.get(settings)).status).toBe(403);
  }
  const { device, userId, browser: own } = await createOwner();
  await app.database.query(
    `WITH made AS (INSERT INTO organisation (name, slug, sso_only) VALUES ('Pine', 'pine-passkeys', true) RETURNING id)
     UPDATE user_account SET organisation_id = (SELECT id FROM made) WHERE id = $1`,
    [userId],
  );
  const browser = newBrowser();
  const refusal = await signInWithPasskey(browser, device.get(await requestChallenge(browser)));
  expect([refusal.status, refusal.json()['code']]).toEqual([403, 'sso_only']);
  expect(await isOpen(browser)).toBe(false);
  expect((await own.post(`${settings}/passkeys/begin`, {})).json()['code']).toBe('sso_only');
  expect((await own.page(settings)).text).not.toContain('passkeys/begin');
});

test('a passkey replaces the code of the second step for the user whose password was correct', async () => {
  const { email, browser: own, device } = await createOwner();
  const page = `${settings}/second-factor`;
  const secret = (/<code>([A-Z2-7 ]{39})<\/code>/.exec((await own.page(page)).text)?.[1] ?? '').replaceAll(
    ' ',
    '',
  );
  const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate();
  const current_password = goodPassword;
  expect((await own.post(`${page}/enable`, { code, current_password })).status).toBe(200);

  const browser = newBrowser();
  const passwordResponse = await browser.post('/auth/login', { email, password: goodPassword });
  expect(passwordResponse.json()).toMatchObject({ ok: false, second_factor: true });
  expect((await browser.page('/login/second-factor')).text).toContain('action="/auth/second-factor/passkey"');
  const options = '/auth/second-factor/passkey/options';
  const { device: theirs } = await createOwner();
  const challenge = await requestChallenge(browser, options);
  expect(challenge.allowCredentials).toHaveLength(1);
  const otherCredential = theirs.get({ rpId: 'portal.localhost', challenge: challenge.challenge });
  const refusal = await browser.post('/auth/second-factor/passkey', { credential: otherCredential });
  expect([refusal.status, refusal.json()['code']]).toEqual([401, 'invalid_credentials']);
  // A challenge of the sign-in page is not valid for the second step.
  const signInCredential = device.get(await requestChallenge(browser));
  expect(
    (await browser.post('/auth/second-factor/passkey', { credential: signInCredential })).json()['code'],
  ).toBe('invalid_token');
  const correctCredential = device.get(await requestChallenge(browser, options));
  expect(
    (await browser.post('/auth/second-factor/passkey', { credential: correctCredential })).json(),
  ).toMatchObject({
    ok: true,
  });
  expect(await isOpen(browser)).toBe(true);
  expect((await newBrowser().post(options)).json()['code']).toBe('invalid_token');

  // A passkey with user verification needs no code.
  const directBrowser = newBrowser();
  expect(
    (await signInWithPasskey(directBrowser, device.get(await requestChallenge(directBrowser)))).json(),
  ).toMatchObject({ ok: true });
});

test('a passkey is removed with the password, by its owner only, is confirmed by email and no longer signs in', async () => {
  const { email, userId, browser, device } = await createOwner();
  const [row] = await app.database.query<{ public_id: string }>(
    'SELECT public_id FROM passkey WHERE user_id = $1',
    [userId],
  );
  const passkey = row?.public_id ?? '';
  const remove = (from: Browser, password = goodPassword) =>
    from.post(`${settings}/passkeys/remove`, { passkey, current_password: password });
  expect((await remove(await signInBrowser(app, await registerUser(app)))).status).toBe(404);
  expect((await remove(browser, 'not the password')).status).toBe(401);
  expect((await remove(browser)).status).toBe(200);
  expect((await mailTo(app, email, /passkey was removed/)).text).toContain('Laptop');
  expect(await actionsOf(userId)).toContain('account.passkey-removed');
  const signInBrowserAfterwards = newBrowser();
  expect(
    (
      await signInWithPasskey(
        signInBrowserAfterwards,
        device.get(await requestChallenge(signInBrowserAfterwards)),
      )
    ).status,
  ).toBe(401);
});

test("the data export lists the user's passkeys, and deletion removes them", async () => {
  const { browser, userId, email } = await createOwner();
  const file = (await browser.get('/account/data')).json();
  expect(file['passkeys']).toEqual([expect.objectContaining({ name: 'Laptop', last_used_at: null })]);
  expect(JSON.stringify(file)).not.toContain('public_key');
  const body = { confirmation: email, current_password: goodPassword };
  expect((await browser.post(`${settings}/delete`, body)).status).toBe(200);
  expect(await app.database.query('SELECT 1 FROM passkey WHERE user_id = $1', [userId])).toEqual([]);
});

test("the host of a reseller offers no passkeys, because credentials are bound to the portal's own host", async () => {
  const browser = newBrowser(new URL(reseller).host);
  expect((await browser.page('/login')).text).not.toContain('data-passkey');
});
