import type { TestApp } from '../../support/app';
import { addUser, signIn } from '../../support/people';
import { formsOf } from '../../support/page-forms';
import { Browser, goodPassword, mailTo, registered, signedIn, startAccountHouse } from './account-house';

let app: TestApp;

beforeAll(async () => {
  app = await startAccountHouse();
});
afterAll(() => app.close());

const account = async (email: string) => {
  const [row] = await app.database.query<Record<string, unknown>>(
    'SELECT id, display_name, preferred_language, time_zone FROM user_account WHERE email = $1',
    [email],
  );
  return row;
};

test('the settings page has a link to the keys, which are its API tokens', async () => {
  const { text } = await (await signedIn(app, await registered(app))).page('/dashboard/settings');
  const card = text.slice(text.indexOf('id="tokens-heading"'));
  expect(card.slice(0, card.indexOf('</section>'))).toContain('href="/dashboard/keys"');
});

test('name, language and time zone are saved from the page, and from a program one by one', async () => {
  const email = await registered(app);
  const browser = await signedIn(app, email);
  const fields = { display_name: 'Ada Roth', preferred_language: 'it', time_zone: 'Europe/Rome' };
  const saved = await browser.submit('/dashboard/settings', fields);
  expect([saved.status, saved.location]).toEqual([303, '/dashboard/settings?saved=profile']);
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
])('the zone %s is kept by its name of today, whatever else is saved', async (stored, today) => {
  const email = await registered(app);
  const browser = await signedIn(app, email);
  await app.database.query('UPDATE user_account SET time_zone = $2 WHERE email = $1', [email, stored]);
  const { text } = await browser.page('/dashboard/settings');
  expect(/<option value="([^"]+)" selected>[^<]*\/[^<]*</.exec(text)?.[1]).toBe(today);
  expect((await browser.page('/dashboard/usage')).text).toContain(today);
  const form = formsOf(text).find(({ action }) => action === '/dashboard/settings');
  const sent = Object.fromEntries(
    form?.fields.filter(({ isSent }) => isSent).map(({ name, value }) => [name, value]) ?? [],
  );
  expect((await browser.submit('/dashboard/settings', { ...sent, display_name: 'Ada' })).status).toBe(303);
  expect(await account(email)).toMatchObject({ display_name: 'Ada', time_zone: today });
  expect((await browser.submit('/dashboard/settings', { ...sent, time_zone: stored })).status).toBe(303);
  expect(await account(email)).toMatchObject({ time_zone: today });
});

test('a new password needs the old one, ends every other session and keeps this one', async () => {
  const email = await registered(app);
  const [here, there] = [await signedIn(app, email), await signedIn(app, email)];
  const next = 'a wholly different phrase';
  const wrong = await here.post('/dashboard/settings/password', {
    current_password: 'not this one',
    password: next,
  });
  expect([wrong.status, wrong.json()['code']]).toEqual([401, 'invalid_credentials']);
  const right = await here.post('/dashboard/settings/password', {
    current_password: goodPassword,
    password: next,
  });
  expect(right.status).toBe(200);
  expect((await here.get('/api/legal/status')).status).toBe(200);
  expect((await there.get('/api/legal/status')).json()['code']).toBe('invalid_session');
  await mailTo(app, email, /password was changed/);
  await signedIn(app, email, next);
});

test('the first password takes a fresh sign-in, so that a borrowed session makes no way in', async () => {
  const email = await registered(app);
  const browser = await signedIn(app, email);
  await app.database.query('UPDATE user_account SET password_hash = NULL WHERE email = $1', [email]);
  const age = (minutes: number) =>
    app.database.query(
      `UPDATE session SET created_at = now() - make_interval(mins => $2)
       WHERE user_id = (SELECT id FROM user_account WHERE email = $1)`,
      [email, minutes],
    );
  const password = 'a wholly different phrase';
  const set = () => browser.post('/dashboard/settings/password', { password });
  await age(11);
  const stale = await set();
  expect([stale.status, stale.json()]).toMatchObject([401, { details: { reason: 'fresh-sign-in' } }]);
  await age(0);
  expect((await set()).status).toBe(200);
  await signedIn(app, email, password);
});

test('sessions are listed, and end one by one or all but this one; those of others are not there', async () => {
  const email = await registered(app);
  const [here, second, third] = [
    await signedIn(app, email),
    await signedIn(app, email),
    await signedIn(app, email),
  ];
  const stranger = await signedIn(app, await registered(app));
  const ids = async (browser: Browser) =>
    [...(await browser.page('/dashboard/settings')).text.matchAll(/name="session" value="([\w-]{36})"/g)].map(
      ([, id]) => id ?? '',
    );
  const own = await ids(here);
  expect(own).toHaveLength(3);
  const [foreign = ''] = await ids(stranger);
  expect((await here.post('/dashboard/settings/sessions/end', { session: foreign })).status).toBe(404);
  expect((await stranger.get('/api/legal/status')).status).toBe(200);
  expect((await here.post('/dashboard/settings/sessions/end', { session: own[0] })).status).toBe(200);
  expect((await third.get('/api/legal/status')).status).toBe(401);
  expect((await here.post('/dashboard/settings/sessions/end')).status).toBe(200);
  expect((await second.get('/api/legal/status')).status).toBe(401);
  expect((await here.get('/api/legal/status')).status).toBe(200);
});

test('a linked provider goes, unless it is the only way in', async () => {
  const email = await registered(app);
  const browser = await signedIn(app, email);
  const issuer = 'https://id.example.com';
  const link = () =>
    app.database.query(
      'INSERT INTO linked_identity (issuer, subject, user_id, email) SELECT $1, email, id, email FROM user_account WHERE email = $2',
      [issuer, email],
    );
  await link();
  expect((await browser.page('/dashboard/settings')).text).toContain(issuer);
  expect((await browser.post('/dashboard/settings/providers/unlink', { issuer })).status).toBe(200);
  expect((await browser.post('/dashboard/settings/providers/unlink', { issuer })).status).toBe(404);
  await link();
  await app.database.query('UPDATE user_account SET password_hash = NULL WHERE email = $1', [email]);
  expect((await browser.post('/dashboard/settings/providers/unlink', { issuer })).json()['code']).toBe(
    'conflict',
  );
  await app.database.query("UPDATE user_account SET preferred_language = 'de' WHERE email = $1", [email]);
  const told = await browser.submit('/dashboard/settings/providers/unlink', { issuer });
  expect(told.text).toContain('Das ist der einzige Weg in Ihr Konto. Legen Sie zuerst ein Passwort fest.');
});

test('nobody without a session comes near, and a page leads to the sign-in and back', async () => {
  const browser = new Browser(app.url);
  expect((await browser.get('/dashboard/settings')).json()['code']).toBe('authentication_required');
  expect((await browser.page('/dashboard/settings')).location).toBe('/login?next=%2Fdashboard%2Fsettings');
  for (const path of ['', '/display-name', '/password', '/sessions/end', '/providers/unlink', '/delete']) {
    expect((await browser.post(`/dashboard/settings${path}`, {})).status).toBe(401);
    const foreign = await browser.post(`/dashboard/settings${path}`, {}, { 'sec-fetch-site': 'cross-site' });
    expect(foreign.json()['code']).toBe('csrf_rejected');
  }
});

test('a refused form is shown again with its fault and what was typed', async () => {
  const browser = await signedIn(app, await registered(app));
  const profile = { display_name: 'A'.repeat(101), preferred_language: 'fr', time_zone: 'Europe/Paris' };
  const refused = await browser.submit('/dashboard/settings', profile);
  expect(refused.status).toBe(422);
  expect(refused.text).toMatch(/value="A{101}"[^>]*aria-invalid="true"/);
  expect(refused.text).toContain('<option value="fr" selected>');
  expect(refused.text).toContain('<option value="Europe/Paris" selected>');
  const address = await browser.submit('/dashboard/settings/email', {
    email: 'no address',
    current_password: goodPassword,
  });
  expect(address.status).toBe(422);
  expect(address.text).toContain('value="no address"');
  const weak = await browser.submit('/dashboard/settings/password', {
    current_password: goodPassword,
    password: 'aaaaaaaaaaaa',
  });
  expect(weak.text).toMatch(/id="password"[^>]*aria-invalid="true"/);
  expect(weak.text).not.toContain('aaaaaaaaaaaa');
});

test('sessions are named by browser and system', async () => {
  const email = await registered(app);
  const agent =
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36 Edg/140.0';
  const edge = new Browser(app.url, { 'user-agent': agent });
  await edge.post('/auth/login', { email, password: goodPassword });
  const page = await edge.page('/dashboard/settings');
  expect(page.text).toContain('<b>Edge on Windows</b>');
  expect(page.text).not.toContain('Mozilla');
});

test('a newer version of the terms waits on every page until it is accepted', async () => {
  const userId = await addUser(app);
  const browser = new Browser(app.url);
  browser.keep('svc_session', (await signIn(app, userId)).split('=')[1] ?? '');
  const form = 'action="/api/legal/accept"';
  expect((await browser.page('/dashboard/keys')).text).not.toContain(form);
  await app.database.query("INSERT INTO legal_acceptance (user_id, version) VALUES ($1, 'earlier')", [
    userId,
  ]);
  const waiting = await browser.page('/dashboard/keys');
  expect(waiting.text).toContain(form);
  const accepted = await browser.submit('/api/legal/accept', { next: '/dashboard/keys' });
  expect([accepted.status, accepted.location]).toEqual([303, '/dashboard/keys']);
  expect((await browser.get('/api/legal/status')).json()).toMatchObject({ accepted: true });
  const after = await browser.page('/dashboard/keys');
  expect(after.text).not.toContain(form);
  expect(after.text).toContain('You have accepted the terms of service.');
});
