import type { TestApp } from '../../support/app';
import {
  type BrowserResponse,
  Browser,
  goodPassword,
  mailTo,
  registerUser,
  signInBrowser,
  startAccountFixture,
} from './account-fixture';

const EXTENSIONS = './test/fixtures/extensions/directory.cjs';
const PASSWORD = 'right horse';
const LINK = '/dashboard/settings/providers/link-directory';
const UNLINK = '/dashboard/settings/providers/unlink';
const issuer = 'extension:directory/acme';

let app: TestApp;
beforeAll(async () => {
  app = await startAccountFixture({ environment: { EXTENSIONS } });
});
afterAll(() => app.close());

const linkForm = (user_name: string, password = PASSWORD) => ({
  provider: 'directory/acme',
  user_name,
  password,
  current_password: goodPassword,
});

const signInWithDirectory = async (
  user_name: string,
): Promise<{ browser: Browser; answer: BrowserResponse }> => {
  const browser = new Browser(app.url);
  const form = { provider: 'directory/acme', user_name, password: PASSWORD, terms: 'on' };
  return { browser, answer: await browser.submit('/auth/login', form) };
};

const ownersOf = async (subject: string): Promise<string[]> => {
  const rows = await app.database.query<{ email: string }>(
    `SELECT u.email FROM linked_identity l JOIN user_account u ON u.id = l.user_id
      WHERE l.issuer = $1 AND l.subject = $2`,
    [issuer, subject],
  );
  return rows.map(({ email }) => email);
};

const entries = async (email: string): Promise<string[]> => {
  const rows = await app.database.query<{ action: string }>(
    `SELECT a.action FROM activity a JOIN user_account u ON u.id = a.object_id::integer
      WHERE u.email = $1 AND a.object_label = $2 ORDER BY a.occurred_at, a.id`,
    [email, issuer],
  );
  return rows.map(({ action }) => action);
};

test('a user links a directory, signs in through it and unlinks it', async () => {
  const email = await registerUser(app, 'ina@acme.example');
  const refusal = await signInWithDirectory('ina');
  expect(refusal.answer.status).toBe(409);
  expect(refusal.answer.text).toContain('Sign in to it, then link the provider in its settings.');

  const browser = await signInBrowser(app, email);
  const page = await browser.page('/dashboard/settings');
  expect(page.text).toMatch(
    /action="\/dashboard\/settings\/providers\/link-directory"[^]*?Link Acme directory/,
  );
  const linkResponse = await browser.submit(LINK, linkForm('ina'));
  expect([linkResponse.status, linkResponse.location]).toEqual([
    303,
    '/dashboard/settings?saved=provider-linked#providers-heading',
  ]);
  expect(await ownersOf('u-1')).toEqual([email]);
  const notification = await mailTo(app, email, /provider was linked/);
  expect(notification.text).toContain('Acme directory as “ina@acme.example”');
  // Linking again changes nothing and sends no second email.
  expect((await browser.post(LINK, linkForm('ina'))).json()).toEqual({ ok: true });

  const signInResponse = await signInWithDirectory('ina');
  expect(signInResponse.answer.status).toBe(303);
  const settings = await signInResponse.browser.page('/dashboard/settings');
  expect(settings.text).toContain(email);
  expect(settings.text).toContain('<b>Acme directory</b>');
  expect(settings.text).not.toContain(`<b>${issuer}</b>`);

  expect((await browser.submit(UNLINK, { issuer })).location).toBe('/dashboard/settings?saved=providers');
  expect((await mailTo(app, email, /provider was unlinked/)).text).toContain('Acme directory');
  expect(await ownersOf('u-1')).toEqual([]);
  expect((await signInWithDirectory('ina')).answer.status).toBe(409);
  expect(await entries(email)).toEqual(['account.identity-linked', 'account.identity-unlinked']);
});

test('an identity linked to another user cannot be linked', async () => {
  const first = await registerUser(app);
  expect((await (await signInBrowser(app, first)).post(LINK, linkForm('bert'))).status).toBe(200);
  const browser = await signInBrowser(app, await registerUser(app));
  const conflict = await browser.post(LINK, linkForm('bert'));
  expect([conflict.status, conflict.json()]).toMatchObject([409, { details: { reason: 'identity-taken' } }]);
  expect(await ownersOf('u-2')).toEqual([first]);
});

test('linking requires both passwords, and each error is shown at its own field', async () => {
  const browser = await signInBrowser(app, await registerUser(app));
  const ownPasswordError = await browser.submit(LINK, {
    ...linkForm('ina'),
    current_password: 'not the password',
  });
  expect(ownPasswordError.status).toBe(401);
  expect(ownPasswordError.text).toMatch(/id="directory_current_0"[^>]*aria-invalid="true"/);
  const directoryPasswordError = await browser.submit(LINK, linkForm('ina', 'wrong'));
  const unknownNameError = await browser.submit(LINK, linkForm('nobody'));
  expect([directoryPasswordError.status, unknownNameError.status]).toEqual([401, 401]);
  expect(directoryPasswordError.text).toMatch(/id="directory_password_0"[^>]*aria-invalid="true"/);
  expect(directoryPasswordError.text).toMatch(/id="directory_name_0"[^>]*value="ina"/);
  expect(unknownNameError.text).toMatch(/id="directory_password_0"[^>]*aria-invalid="true"/);
  expect(await ownersOf('u-1')).toEqual([]);
});

test.each(['throws', 'down', 'rubbish'])('an unreachable directory (%s) links nothing', async (name) => {
  const browser = await signInBrowser(app, await registerUser(app));
  const answer = await browser.submit(LINK, linkForm(name));
  expect(answer.status).toBe(503);
  expect(answer.text).toContain('This cannot be checked at the moment.');
  expect((await browser.page('/dashboard/settings')).text).not.toContain('<b>Acme directory</b>');
});

test('linking requires a session, a same-origin form and an existing directory', async () => {
  expect((await new Browser(app.url).post(LINK, linkForm('ina'))).status).toBe(401);
  const browser = await signInBrowser(app, await registerUser(app));
  const crossSiteResponse = await browser.post(LINK, linkForm('ina'), { 'sec-fetch-site': 'cross-site' });
  expect(crossSiteResponse.json()['code']).toBe('csrf_rejected');
  expect((await browser.post(LINK, { ...linkForm('ina'), provider: 'directory/none' })).status).toBe(404);
  expect((await browser.post(LINK, { ...linkForm('ina'), user_name: ' ' })).status).toBe(422);
});

test('a user without a local password needs a fresh sign-in to link, and cannot remove the last sign-in method', async () => {
  const email = await registerUser(app);
  const browser = await signInBrowser(app, email);
  await app.database.query('UPDATE user_account SET password_hash = NULL WHERE email = $1', [email]);
  const ageSession = (minutes: number) =>
    app.database.query(
      `UPDATE session SET created_at = now() - make_interval(mins => $2)
        WHERE user_id = (SELECT id FROM user_account WHERE email = $1)`,
      [email, minutes],
    );
  await ageSession(11);
  const staleResponse = await browser.post(LINK, linkForm('ina'));
  expect(staleResponse.json()).toMatchObject({ details: { reason: 'fresh-sign-in' } });
  await ageSession(0);
  expect((await browser.post(LINK, linkForm('ina'))).status).toBe(200);
  const lastUnlink = await browser.post(UNLINK, { issuer });
  expect(lastUnlink.json()).toMatchObject({ details: { reason: 'only-way-in' } });
});

test('link attempts count together with sign-in attempts', async () => {
  const otherApp = await startAccountFixture({ environment: { EXTENSIONS, ACCOUNT_FREE_ATTEMPTS: '2' } });
  try {
    const browser = await signInBrowser(otherApp, await registerUser(otherApp));
    const attemptLink = (): Promise<BrowserResponse> => browser.post(LINK, linkForm('Ina', 'wrong'));
    expect([
      (await attemptLink()).status,
      (await attemptLink()).status,
      (await attemptLink()).status,
    ]).toEqual([401, 401, 401]);
    expect((await attemptLink()).json()).toMatchObject({ details: { reason: 'attempts' } });
    const form = { provider: 'directory/acme', user_name: 'ina', password: PASSWORD };
    expect((await new Browser(otherApp.url).post('/auth/login', form)).status).toBe(429);
  } finally {
    await otherApp.close();
  }
});
