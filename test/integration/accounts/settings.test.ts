import type { TestApp } from '../../support/app';
import { addUser, signIn } from '../../support/users';
import { parseForms } from '../../support/page-forms';
import {
  Browser,
  goodPassword,
  mailTo,
  registerUser,
  signInBrowser,
  startAccountFixture,
} from './account-fixture';

let app: TestApp;

beforeAll(async () => {
  app = await startAccountFixture();
});
afterAll(() => app.close());

const account = async (email: string) => {
  const [row] = await app.database.query<Record<string, unknown>>(
    'SELECT id, display_name, preferred_language, time_zone FROM user_account WHERE email = $1',
    [email],
  );
  return row;
};

test('the settings page links to the keys, which are its API tokens', async () => {
  const { text } = await (await signInBrowser(app, await registerUser(app))).page('/dashboard/settings');
  const card = text.slice(text.indexOf('id="tokens-heading"'));
  expect(card.slice(0, card.indexOf('</section>'))).toContain('href="/dashboard/keys"');
});

test('name, language and time zone are saved together by the form and one by one through the API', async () => {
  const email = await registerUser(app);
  const browser = await signInBrowser(app, email);
  const fields = { display_name: 'Ada Roth', preferred_language: 'it', time_zone: 'Europe/Rome' };
  const saveResponse = await browser.submit('/dashboard/settings', fields);
  expect([saveResponse.status, saveResponse.location]).toEqual([303, '/dashboard/settings?saved=profile']);
  expect(await account(email)).toMatchObject(fields);
  expect((await browser.page('/dashboard/settings?saved=profile')).text).toContain('Il tuo profilo');
  expect(
    (await browser.post('/dashboard/settings/display-name', { display_name: 'Ada' })).json(),
  ).toMatchObject({ ok: true });
  expect(await account(email)).toMatchObject({ display_name: 'Ada', time_zone: 'Europe/Rome' });
  for (const body of [
    { time_zone: 'Mars/Base' },
    { preferred_language: 'xx' },
    { role: 'platform_owner' },
    { display_name: ' ' },
  ]) {
    expect((await browser.post('/dashboard/settings', body)).status).toBe(422);
  }
});

test.each([
  ['Europe/Kyiv', 'Europe/Kyiv'],
  ['Asia/Calcutta', 'Asia/Kolkata'],
])(
  'the time zone %s is saved under its current name, whichever other settings are saved',
  async (stored, today) => {
    const email = await registerUser(app);
    const browser = await signInBrowser(app, email);
    await app.database.query('UPDATE user_account SET time_zone = $2 WHERE email = $1', [email, stored]);
    const { text } = await browser.page('/dashboard/settings');
    expect(/<option value="([^"]+)" selected>[^<]*\/[^<]*</.exec(text)?.[1]).toBe(today);
    expect((await browser.page('/dashboard/usage')).text).toContain(today);
    const form = parseForms(text).find(({ action }) => action === '/dashboard/settings');
    const sentFields = Object.fromEntries(
      form?.fields.filter(({ isSent }) => isSent).map(({ name, value }) => [name, value]) ?? [],
    );
    expect((await browser.submit('/dashboard/settings', { ...sentFields, display_name: 'Ada' })).status).toBe(
      303,
    );
    expect(await account(email)).toMatchObject({ display_name: 'Ada', time_zone: today });
    expect((await browser.submit('/dashboard/settings', { ...sentFields, time_zone: stored })).status).toBe(
      303,
    );
    expect(await account(email)).toMatchObject({ time_zone: today });
  },
);

test('changing the password requires the old one, ends every other session and keeps the current one', async () => {
  const email = await registerUser(app);
  const [here, there] = [await signInBrowser(app, email), await signInBrowser(app, email)];
  const next = 'a wholly different phrase';
  const refusal = await here.post('/dashboard/settings/password', {
    current_password: 'not this one',
    password: next,
  });
  expect([refusal.status, refusal.json()['code']]).toEqual([401, 'invalid_credentials']);
  const changeResponse = await here.post('/dashboard/settings/password', {
    current_password: goodPassword,
    password: next,
  });
  expect(changeResponse.status).toBe(200);
  expect((await here.get('/api/legal/status')).status).toBe(200);
  expect((await there.get('/api/legal/status')).json()['code']).toBe('invalid_session');
  await mailTo(app, email, /password was changed/);
  await signInBrowser(app, email, next);
});

test('setting a first password requires a fresh sign-in, so that a stolen session gains no permanent access', async () => {
  const email = await registerUser(app);
  const browser = await signInBrowser(app, email);
  await app.database.query('UPDATE user_account SET password_hash = NULL WHERE email = $1', [email]);
  const ageSession = (minutes: number) =>
    app.database.query(
      `UPDATE session SET created_at = now() - make_interval(mins => $2)
       WHERE user_id = (SELECT id FROM user_account WHERE email = $1)`,
      [email, minutes],
    );
  const password = 'a wholly different phrase';
  const setPassword = () => browser.post('/dashboard/settings/password', { password });
  await ageSession(11);
  const staleResponse = await setPassword();
  expect([staleResponse.status, staleResponse.json()]).toMatchObject([
    401,
    { details: { reason: 'fresh-sign-in' } },
  ]);
  await ageSession(0);
  expect((await setPassword()).status).toBe(200);
  await signInBrowser(app, email, password);
});

test('a user lists their own sessions and ends one or all others, but cannot see the sessions of other users', async () => {
  const email = await registerUser(app);
  const [here, second, third] = [
    await signInBrowser(app, email),
    await signInBrowser(app, email),
    await signInBrowser(app, email),
  ];
  const otherUser = await signInBrowser(app, await registerUser(app));
  const ids = async (browser: Browser) =>
    [...(await browser.page('/dashboard/settings')).text.matchAll(/name="session" value="([\w-]{36})"/g)].map(
      ([, id]) => id ?? '',
    );
  const ownSessionIds = await ids(here);
  expect(ownSessionIds).toHaveLength(3);
  const [foreign = ''] = await ids(otherUser);
  expect((await here.post('/dashboard/settings/sessions/end', { session: foreign })).status).toBe(404);
  expect((await otherUser.get('/api/legal/status')).status).toBe(200);
  expect((await here.post('/dashboard/settings/sessions/end', { session: ownSessionIds[0] })).status).toBe(
    200,
  );
  expect((await third.get('/api/legal/status')).status).toBe(401);
  expect((await here.post('/dashboard/settings/sessions/end')).status).toBe(200);
  expect((await second.get('/api/legal/status')).status).toBe(401);
  expect((await here.get('/api/legal/status')).status).toBe(200);
});

test('a linked provider can be unlinked unless it is the only sign-in method', async () => {
  const email = await registerUser(app);
  const browser = await signInBrowser(app, email);
  const issuer = 'https://id.example.com';
  const linkProvider = () =>
    app.database.query(
      'INSERT INTO linked_identity (issuer, subject, user_id, email) SELECT $1, email, id, email FROM user_account WHERE email = $2',
      [issuer, email],
    );
  await linkProvider();
  expect((await browser.page('/dashboard/settings')).text).toContain(issuer);
  expect((await browser.post('/dashboard/settings/providers/unlink', { issuer })).status).toBe(200);
  expect((await browser.post('/dashboard/settings/providers/unlink', { issuer })).status).toBe(404);
  await linkProvider();
  await app.database.query('UPDATE user_account SET password_hash = NULL WHERE email = $1', [email]);
  expect((await browser.post('/dashboard/settings/providers/unlink', { issuer })).json()['code']).toBe(
    'conflict',
  );
  await app.database.query("UPDATE user_account SET preferred_language = 'de' WHERE email = $1", [email]);
  const refusalPage = await browser.submit('/dashboard/settings/providers/unlink', { issuer });
  expect(refusalPage.text).toContain(
    'Das ist der einzige Weg in Ihr Konto. Legen Sie zuerst ein Passwort fest.',
  );
});

test('every settings route refuses visitors, and pages redirect to sign-in and back', async () => {
  const browser = new Browser(app.url);
  expect((await browser.get('/dashboard/settings')).json()['code']).toBe('authentication_required');
  expect((await browser.page('/dashboard/settings')).location).toBe('/login?next=%2Fdashboard%2Fsettings');
  for (const path of ['', '/display-name', '/password', '/sessions/end', '/providers/unlink', '/delete']) {
    expect((await browser.post(`/dashboard/settings${path}`, {})).status).toBe(401);
    const crossSiteResponse = await browser.post(
      `/dashboard/settings${path}`,
      {},
      { 'sec-fetch-site': 'cross-site' },
    );
    expect(crossSiteResponse.json()['code']).toBe('csrf_rejected');
  }
});

test('a refused form is shown again with its error and the submitted values', async () => {
  const browser = await signInBrowser(app, await registerUser(app));
  const profile = { display_name: 'A'.repeat(101), preferred_language: 'fr', time_zone: 'Europe/Paris' };
  const refusal = await browser.submit('/dashboard/settings', profile);
  expect(refusal.status).toBe(422);
  expect(refusal.text).toMatch(/value="A{101}"[^>]*aria-invalid="true"/);
  expect(refusal.text).toContain('<option value="fr" selected>');
  expect(refusal.text).toContain('<option value="Europe/Paris" selected>');
  const addressRefusal = await browser.submit('/dashboard/settings/email', {
    email: 'no address',
    current_password: goodPassword,
  });
  expect(addressRefusal.status).toBe(422);
  expect(addressRefusal.text).toContain('value="no address"');
  const weakResponse = await browser.submit('/dashboard/settings/password', {
    current_password: goodPassword,
    password: 'aaaaaaaaaaaa',
  });
  expect(weakResponse.text).toMatch(/id="password"[^>]*aria-invalid="true"/);
  expect(weakResponse.text).not.toContain('aaaaaaaaaaaa');
});

test('sessions are named after browser and system', async () => {
  const email = await registerUser(app);
  const agent =
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36 Edg/140.0';
  const edgeBrowser = new Browser(app.url, { 'user-agent': agent });
  await edgeBrowser.post('/auth/login', { email, password: goodPassword });
  const page = await edgeBrowser.page('/dashboard/settings');
  expect(page.text).toContain('<b>Edge on Windows</b>');
  expect(page.text).not.toContain('Mozilla');
});

test('a newer version of the terms is requested on every page until the user accepts it', async () => {
  const userId = await addUser(app);
  const browser = new Browser(app.url);
  browser.setCookie('svc_session', (await signIn(app, userId)).split('=')[1] ?? '');
  const form = 'action="/api/legal/accept"';
  expect((await browser.page('/dashboard/keys')).text).not.toContain(form);
  await app.database.query("INSERT INTO legal_acceptance (user_id, version) VALUES ($1, 'earlier')", [
    userId,
  ]);
  const pageBefore = await browser.page('/dashboard/keys');
  expect(pageBefore.text).toContain(form);
  const acceptResponse = await browser.submit('/api/legal/accept', { next: '/dashboard/keys' });
  expect([acceptResponse.status, acceptResponse.location]).toEqual([303, '/dashboard/keys']);
  expect((await browser.get('/api/legal/status')).json()).toMatchObject({ accepted: true });
  const pageAfter = await browser.page('/dashboard/keys');
  expect(pageAfter.text).not.toContain(form);
  expect(pageAfter.text).toContain('You have accepted the terms of service.');
});
