import { Secret, TOTP } from 'otpauth';
import type { TestApp } from '../../support/app';
import { administer } from '../../support/postgres';
import { Authenticator, type CreationAsked, type RequestAsked } from '../../support/authenticator';
import {
  type Answer,
  Browser,
  goodPassword,
  mailTo,
  registered,
  signedIn,
  startAccountHouse,
} from './account-house';
import { until } from '../../support/until';

const base = 'http://portal.localhost';
const reseller = 'http://models.reseller.example';
const settings = '/dashboard/settings';
let app: TestApp;

beforeAll(async () => {
  app = await startAccountHouse({
    environment: { BASE_URL: base, PORTAL_ORIGINS: reseller, ACCOUNT_FREE_ATTEMPTS: '8' },
  });
});
afterAll(() => app.close());

const newBrowser = (host = new URL(base).host): Browser => new Browser(app.url, { host });

async function begin(browser: Browser, fields: object = {}): Promise<CreationAsked> {
  const answer = await browser.post(`${settings}/passkeys/begin`, {
    current_password: goodPassword,
    ...fields,
  });
  expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('"ok":true')]);
  return answer.json()['options'] as CreationAsked;
}

const enrol = (browser: Browser, credential: string, name = 'Laptop'): Promise<Answer> =>
  browser.post(`${settings}/passkeys`, { credential, name });

interface Owner {
  readonly email: string;
  readonly userId: number;
  readonly browser: Browser;
  readonly device: Authenticator;
}

async function owner(device = new Authenticator(base)): Promise<Owner> {
  const email = await registered(app);
  const browser = await signedIn(app, email);
  expect((await enrol(browser, device.create(await begin(browser)))).json()).toMatchObject({ ok: true });
  const [row] = await app.database.query<{ id: number }>('SELECT id FROM user_account WHERE email = $1', [
    email,
  ]);
  return { email, userId: row?.id ?? 0, browser, device };
}

async function asked(browser: Browser, path = '/auth/passkey/options'): Promise<RequestAsked> {
  const answer = await browser.post(path);
  expect(answer.status).toBe(200);
  return answer.json()['options'] as RequestAsked;
}

const enter = (browser: Browser, credential: string): Promise<Answer> =>
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

test('a passkey is added with the password, told by mail, and signs in without an address', async () => {
  const { email, userId, device } = await owner();
  expect((await mailTo(app, email, /passkey was added/)).text).toContain('Laptop');
  const browser = newBrowser();
  const page = await browser.page('/login?next=/dashboard/keys');
  expect(page.text).toContain('data-passkey="get"');
  expect(page.text).toContain('Passkeys need JavaScript');
  const question = await asked(browser);
  expect(question).toMatchObject({ rpId: 'portal.localhost', userVerification: 'required' });
  expect(question.allowCredentials ?? []).toEqual([]);
  const entered = await browser.submit('/auth/passkey', {
    credential: device.get(question),
    next: '/dashboard/keys',
  });
  expect([entered.status, entered.location]).toEqual([303, '/dashboard/keys']);
  expect(await isOpen(browser)).toBe(true);
  expect(await actionsOf(userId)).toEqual(
    expect.arrayContaining(['account.passkey-added', 'session.signed-in']),
  );
  expect((await browser.page(settings)).text).toMatch(/<b>Laptop<\/b>.*Last used <time/s);
});

test('only who proves the account adds one, in the session and the browser that asked', async () => {
  const { browser, device, email } = await owner();
  const wrong = await browser.submit(`${settings}/passkeys/begin`, { current_password: 'not the password' });
  expect(wrong.status).toBe(401);
  expect((await browser.post(`${settings}/passkeys/begin`)).json()['code']).toBe('invalid_credentials');

  const question = await begin(browser);
  expect(question.excludeCredentials).toHaveLength(1);
  const credential = device.create(question);
  const cookie = browser.cookie('svc_passkey') ?? '';
  const other = await signedIn(app, email);
  expect((await enrol(other, credential)).json()['code']).toBe('invalid_token');
  other.keep('svc_passkey', cookie);
  expect((await enrol(other, credential)).json()['code']).toBe('invalid_token');
  // The first try has used it up, for the rightful session as well.
  expect((await enrol(browser, credential)).json()['code']).toBe('invalid_token');
  const stranger = await signedIn(app, await registered(app));
  const again = device.create(await begin(browser));
  stranger.keep('svc_passkey', browser.cookie('svc_passkey') ?? '');
  expect((await enrol(stranger, again)).json()['code']).toBe('invalid_token');
});

test('what a device says of another page, host, person or challenge adds nothing', async () => {
  const { browser, device } = await owner();
  const manners = [
    { origin: 'https://evil.example' },
    { origin: reseller },
    { rpId: 'evil.example' },
    { type: 'webauthn.get' },
    { challenge: 'A'.repeat(43) },
    { isVerified: false },
  ];
  for (const manner of manners) {
    const answer = await enrol(browser, device.create(await begin(browser), manner));
    expect([manner, answer.status, answer.json()['code']]).toEqual([manner, 422, 'validation_error']);
  }
  for (const credential of ['{}', 'null', '{"id":"x"}', '{"id":"x","response":{}}', 'no JSON', '[1]']) {
    await begin(browser);
    expect([credential, (await enrol(browser, credential)).status]).toEqual([credential, 422]);
  }
  expect((await browser.page(settings)).text.match(/<b>Laptop<\/b>/g)).toHaveLength(1);
});

test('a device that holds one is not added twice', async () => {
  const { browser, device, userId } = await owner();
  const first = device.create(await begin(browser));
  const cookie = browser.cookie('svc_passkey');
  expect(cookie).toMatch(/^[\w-]{43}$/);
  expect((await enrol(browser, first, 'Phone')).status).toBe(200);
  const held = await app.database.query<{ handles: string }>(
    'SELECT count(DISTINCT user_handle) AS handles FROM passkey WHERE user_id = $1',
    [userId],
  );
  expect(held).toEqual([{ handles: '1' }]);
  await app.database.query(
    `INSERT INTO passkey (credential_id, public_id, user_id, user_handle, public_key, sign_count, transports, name)
     SELECT decode(md5(n::text), 'hex'), gen_random_uuid(), $1, user_handle, public_key, 0, '{}', 'n'
     FROM passkey, generate_series(3, 20) n WHERE user_id = $1 AND name = 'Phone'`,
    [userId],
  );
  const full = await browser.post(`${settings}/passkeys/begin`, { current_password: goodPassword });
  expect([full.status, full.json()['code']]).toEqual([409, 'conflict']);
});

test('a challenge works once, in the browser that asked, and for signing in alone', async () => {
  const { browser: own, device } = await owner();
  const browser = newBrowser();
  const credential = device.get(await asked(browser));
  const thief = newBrowser();
  expect((await enter(thief, credential)).json()['code']).toBe('invalid_token');
  const cookie = browser.cookie('svc_passkey') ?? '';
  expect((await enter(browser, credential)).json()).toMatchObject({ ok: true });
  for (const replaying of [browser, thief]) {
    replaying.keep('svc_passkey', cookie);
    expect((await enter(replaying, credential)).json()['code']).toBe('invalid_token');
  }
  const enrolment = await begin(own);
  const crossed = newBrowser();
  crossed.keep('svc_passkey', own.cookie('svc_passkey') ?? '');
  const signed = device.get({ rpId: 'portal.localhost', challenge: enrolment.challenge });
  expect((await enter(crossed, signed)).json()['code']).toBe('invalid_token');
  const late = newBrowser();
  const { challenge } = await asked(late);
  await administer(
    String(app.environment['MIGRATION_DATABASE_URL']),
    "UPDATE account_token SET expires_at = now() - interval '1 s' WHERE purpose = 'passkey_sign_in'",
  );
  expect((await enter(late, device.get({ rpId: 'portal.localhost', challenge }))).json()['code']).toBe(
    'invalid_token',
  );
  expect(await isOpen(thief)).toBe(false);
});

test('a wrong page, host, person, key or count opens nothing, and all are refused alike', async () => {
  const { device, userId } = await owner();
  const { device: another } = await owner();
  const answers = new Set<string>();
  const refuse = async (what: string, credential: (question: RequestAsked) => string): Promise<void> => {
    const browser = newBrowser();
    const answer = await enter(browser, credential(await asked(browser)));
    expect([what, answer.status, answer.json()['code']]).toEqual([what, 401, 'invalid_credentials']);
    answers.add(answer.text.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, ''));
    expect(await isOpen(browser)).toBe(false);
  };
  await refuse('origin', (question) => device.get(question, { origin: 'https://portal.localhost.evil' }));
  await refuse('host', (question) => device.get(question, { rpId: 'evil.example' }));
  await refuse('type', (question) => device.get(question, { type: 'webauthn.create' }));
  await refuse('challenge', (question) => device.get(question, { challenge: 'A'.repeat(43) }));
  await refuse('not verified', (question) => device.get(question, { isVerified: false }));
  await refuse('handle', (question) => device.get(question, { userHandle: 'A'.repeat(43) }));
  await refuse('key', (question) => {
    const mine = JSON.parse(device.get(question)) as { id: string; rawId: string };
    const theirs = JSON.parse(another.get(question)) as object;
    return JSON.stringify({ ...theirs, id: mine.id, rawId: mine.rawId });
  });
  await refuse('unknown', (question) => {
    const stranger = new Authenticator(base);
    stranger.create({ challenge: question.challenge, rp: { id: 'portal.localhost' }, user: { id: 'AAAA' } });
    return stranger.get(question);
  });
  expect(answers.size).toBe(1);
  const failed = async () =>
    (await actionsOf(userId)).filter((action) => action === 'session.sign-in-failed').length;
  await until(async () => (await failed()) >= 7);
  expect(await failed()).toBe(7);
});

test('a count that goes back, or stands still, is refused: the key was copied', async () => {
  const { device } = await owner();
  const entered = async (count: number) => {
    const browser = newBrowser();
    return (await enter(browser, device.get(await asked(browser), { count }))).status;
  };
  expect(await entered(5)).toBe(200);
  expect([await entered(5), await entered(4), await entered(0)]).toEqual([401, 401, 401]);
  expect(await entered(6)).toBe(200);
  const [one, two] = [newBrowser(), newBrowser()];
  const both = [
    enter(one, device.get(await asked(one), { count: 7 })),
    enter(two, device.get(await asked(two), { count: 7 })),
  ];
  expect((await Promise.all(both)).map(({ status }) => status).sort()).toEqual([200, 401]);
});

test('guesses are counted, and wait longer and longer', async () => {
  const { device } = await owner();
  const codes: unknown[] = [];
  for (let n = 0; n < 12; n += 1) {
    const browser = newBrowser();
    const credential = device.get(await asked(browser), { origin: 'https://evil.example' });
    codes.push((await enter(browser, credential)).json()['code']);
  }
  expect(codes.at(-1)).toBe('rate_limit_exceeded');
});

test('suspended and archived people get their notice; where a provider alone signs in, it opens nothing', async () => {
  for (const status of ['suspended', 'archived']) {
    const { device, userId } = await owner();
    await app.database.query('UPDATE user_account SET status = $2 WHERE id = $1', [userId, status]);
    const browser = newBrowser();
    const entered = await enter(browser, device.get(await asked(browser)));
    expect(entered.json()).toMatchObject({ status, next: `/account/${status}` });
    expect((await browser.get(settings)).status).toBe(403);
  }
  const { device, userId, browser: own } = await owner();
  await app.database.query(
    `WITH made AS (INSERT INTO organisation (name, slug, sso_only) VALUES ('Pine', 'pine-passkeys', true) RETURNING id)
     UPDATE user_account SET organisation_id = (SELECT id FROM made) WHERE id = $1`,
    [userId],
  );
  const browser = newBrowser();
  const refused = await enter(browser, device.get(await asked(browser)));
  expect([refused.status, refused.json()['code']]).toEqual([403, 'sso_only']);
  expect(await isOpen(browser)).toBe(false);
  expect((await own.post(`${settings}/passkeys/begin`, {})).json()['code']).toBe('sso_only');
  expect((await own.page(settings)).text).not.toContain('passkeys/begin');
});

test('stands in for the code of the second step, for the person whose password was right', async () => {
  const { email, browser: own, device } = await owner();
  const page = `${settings}/second-factor`;
  const secret = (/<code>([A-Z2-7 ]{39})<\/code>/.exec((await own.page(page)).text)?.[1] ?? '').replaceAll(
    ' ',
    '',
  );
  const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate();
  const current_password = goodPassword;
  expect((await own.post(`${page}/enable`, { code, current_password })).status).toBe(200);

  const browser = newBrowser();
  const begun = await browser.post('/auth/login', { email, password: goodPassword });
  expect(begun.json()).toMatchObject({ ok: false, second_factor: true });
  expect((await browser.page('/login/second-factor')).text).toContain('action="/auth/second-factor/passkey"');
  const options = '/auth/second-factor/passkey/options';
  const { device: theirs } = await owner();
  const question = await asked(browser, options);
  expect(question.allowCredentials).toHaveLength(1);
  const foreign = theirs.get({ rpId: 'portal.localhost', challenge: question.challenge });
  const refused = await browser.post('/auth/second-factor/passkey', { credential: foreign });
  expect([refused.status, refused.json()['code']]).toEqual([401, 'invalid_credentials']);
  // A challenge of the door is none of the second step.
  const door = device.get(await asked(browser));
  expect((await browser.post('/auth/second-factor/passkey', { credential: door })).json()['code']).toBe(
    'invalid_token',
  );
  const right = device.get(await asked(browser, options));
  expect((await browser.post('/auth/second-factor/passkey', { credential: right })).json()).toMatchObject({
    ok: true,
  });
  expect(await isOpen(browser)).toBe(true);
  expect((await newBrowser().post(options)).json()['code']).toBe('invalid_token');

  // A device that verified its person is asked for no code.
  const direct = newBrowser();
  expect((await enter(direct, device.get(await asked(direct)))).json()).toMatchObject({ ok: true });
});

test('is removed with the password, told by mail, and opens nothing then; others cannot', async () => {
  const { email, userId, browser, device } = await owner();
  const [row] = await app.database.query<{ public_id: string }>(
    'SELECT public_id FROM passkey WHERE user_id = $1',
    [userId],
  );
  const passkey = row?.public_id ?? '';
  const remove = (from: Browser, password = goodPassword) =>
    from.post(`${settings}/passkeys/remove`, { passkey, current_password: password });
  expect((await remove(await signedIn(app, await registered(app)))).status).toBe(404);
  expect((await remove(browser, 'not the password')).status).toBe(401);
  expect((await remove(browser)).status).toBe(200);
  expect((await mailTo(app, email, /passkey was removed/)).text).toContain('Laptop');
  expect(await actionsOf(userId)).toContain('account.passkey-removed');
  const entering = newBrowser();
  expect((await enter(entering, device.get(await asked(entering)))).status).toBe(401);
});

test('the file of a person names their passkeys, and erasure leaves none', async () => {
  const { browser, userId, email } = await owner();
  const file = (await browser.get('/account/data')).json();
  expect(file['passkeys']).toEqual([expect.objectContaining({ name: 'Laptop', last_used_at: null })]);
  expect(JSON.stringify(file)).not.toContain('public_key');
  const body = { confirmation: email, current_password: goodPassword };
  expect((await browser.post(`${settings}/delete`, body)).status).toBe(200);
  expect(await app.database.query('SELECT 1 FROM passkey WHERE user_id = $1', [userId])).toEqual([]);
});

test('on the address of a reseller, for which no device holds a key, none is offered', async () => {
  const browser = newBrowser(new URL(reseller).host);
  expect((await browser.page('/login')).text).not.toContain('data-passkey');
});
