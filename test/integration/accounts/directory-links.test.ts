import type { TestApp } from '../../support/app';
import {
  type Answer,
  Browser,
  goodPassword,
  mailTo,
  registered,
  signedIn,
  startAccountHouse,
} from './account-house';

const EXTENSIONS = './test/fixtures/extensions/directory.cjs';
const PASSWORD = 'right horse';
const LINK = '/dashboard/settings/providers/link-directory';
const UNLINK = '/dashboard/settings/providers/unlink';
const issuer = 'extension:directory/acme';

let app: TestApp;
beforeAll(async () => {
  app = await startAccountHouse({ environment: { EXTENSIONS } });
});
afterAll(() => app.close());

const typed = (user_name: string, password = PASSWORD) => ({
  provider: 'directory/acme',
  user_name,
  password,
  current_password: goodPassword,
});

const enter = async (user_name: string): Promise<{ browser: Browser; answer: Answer }> => {
  const browser = new Browser(app.url);
  const form = { provider: 'directory/acme', user_name, password: PASSWORD, terms: 'on' };
  return { browser, answer: await browser.submit('/auth/login', form) };
};

const owners = async (subject: string): Promise<string[]> => {
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

test('a person with an account links a directory, signs in by it, and unlinks it', async () => {
  const email = await registered(app, 'ina@acme.example');
  const refused = await enter('ina');
  expect(refused.answer.status).toBe(409);
  expect(refused.answer.text).toContain('Sign in to it, then link the provider in its settings.');

  const browser = await signedIn(app, email);
  const page = await browser.page('/dashboard/settings');
  expect(page.text).toMatch(
    /action="\/dashboard\/settings\/providers\/link-directory"[^]*?Link Acme directory/,
  );
  const linked = await browser.submit(LINK, typed('ina'));
  expect([linked.status, linked.location]).toEqual([
    303,
    '/dashboard/settings?saved=provider-linked#providers-heading',
  ]);
  expect(await owners('u-1')).toEqual([email]);
  const told = await mailTo(app, email, /provider was linked/);
  expect(told.text).toContain('Acme directory as “ina@acme.example”');
  // A second time changes nothing, and is not told again.
  expect((await browser.post(LINK, typed('ina'))).json()).toEqual({ ok: true });

  const entered = await enter('ina');
  expect(entered.answer.status).toBe(303);
  const settings = await entered.browser.page('/dashboard/settings');
  expect(settings.text).toContain(email);
  expect(settings.text).toContain('<b>Acme directory</b>');
  expect(settings.text).not.toContain(`<b>${issuer}</b>`);

  expect((await browser.submit(UNLINK, { issuer })).location).toBe('/dashboard/settings?saved=providers');
  expect((await mailTo(app, email, /provider was unlinked/)).text).toContain('Acme directory');
  expect(await owners('u-1')).toEqual([]);
  expect((await enter('ina')).answer.status).toBe(409);
  expect(await entries(email)).toEqual(['account.identity-linked', 'account.identity-unlinked']);
});

test('the identity of somebody else is not linked', async () => {
  const first = await registered(app);
  expect((await (await signedIn(app, first)).post(LINK, typed('bert'))).status).toBe(200);
  const browser = await signedIn(app, await registered(app));
  const taken = await browser.post(LINK, typed('bert'));
  expect([taken.status, taken.json()]).toMatchObject([409, { details: { reason: 'identity-taken' } }]);
  expect(await owners('u-2')).toEqual([first]);
});

test('both passwords have to be right, and each refusal stands at its own field', async () => {
  const browser = await signedIn(app, await registered(app));
  const own = await browser.submit(LINK, { ...typed('ina'), current_password: 'not the password' });
  expect(own.status).toBe(401);
  expect(own.text).toMatch(/id="directory_current_0"[^>]*aria-invalid="true"/);
  const theirs = await browser.submit(LINK, typed('ina', 'wrong'));
  const unknown = await browser.submit(LINK, typed('nobody'));
  expect([theirs.status, unknown.status]).toEqual([401, 401]);
  expect(theirs.text).toMatch(/id="directory_password_0"[^>]*aria-invalid="true"/);
  expect(theirs.text).toMatch(/id="directory_name_0"[^>]*value="ina"/);
  expect(unknown.text).toMatch(/id="directory_password_0"[^>]*aria-invalid="true"/);
  expect(await owners('u-1')).toEqual([]);
});

test.each(['throws', 'down', 'rubbish'])(
  'a directory that cannot be asked (%s) links nothing',
  async (name) => {
    const browser = await signedIn(app, await registered(app));
    const answer = await browser.submit(LINK, typed(name));
    expect(answer.status).toBe(503);
    expect(answer.text).toContain('This cannot be checked at the moment.');
    expect((await browser.page('/dashboard/settings')).text).not.toContain('<b>Acme directory</b>');
  },
);

test('linking is for signed-in people, from a form of ours, at a directory that is there', async () => {
  expect((await new Browser(app.url).post(LINK, typed('ina'))).status).toBe(401);
  const browser = await signedIn(app, await registered(app));
  const foreign = await browser.post(LINK, typed('ina'), { 'sec-fetch-site': 'cross-site' });
  expect(foreign.json()['code']).toBe('csrf_rejected');
  expect((await browser.post(LINK, { ...typed('ina'), provider: 'directory/none' })).status).toBe(404);
  expect((await browser.post(LINK, { ...typed('ina'), user_name: ' ' })).status).toBe(422);
});

test('without a password of ours linking takes a fresh sign-in, and the last way in stays', async () => {
  const email = await registered(app);
  const browser = await signedIn(app, email);
  await app.database.query('UPDATE user_account SET password_hash = NULL WHERE email = $1', [email]);
  const age = (minutes: number) =>
    app.database.query(
      `UPDATE session SET created_at = now() - make_interval(mins => $2)
        WHERE user_id = (SELECT id FROM user_account WHERE email = $1)`,
      [email, minutes],
    );
  await age(11);
  const stale = await browser.post(LINK, typed('ina'));
  expect(stale.json()).toMatchObject({ details: { reason: 'fresh-sign-in' } });
  await age(0);
  expect((await browser.post(LINK, typed('ina'))).status).toBe(200);
  const last = await browser.post(UNLINK, { issuer });
  expect(last.json()).toMatchObject({ details: { reason: 'only-way-in' } });
});

test('attempts to link are counted with those to sign in', async () => {
  const other = await startAccountHouse({ environment: { EXTENSIONS, ACCOUNT_FREE_ATTEMPTS: '2' } });
  try {
    const browser = await signedIn(other, await registered(other));
    const attempt = (): Promise<Answer> => browser.post(LINK, typed('Ina', 'wrong'));
    expect([(await attempt()).status, (await attempt()).status, (await attempt()).status]).toEqual([
      401, 401, 401,
    ]);
    expect((await attempt()).json()).toMatchObject({ details: { reason: 'attempts' } });
    const form = { provider: 'directory/acme', user_name: 'ina', password: PASSWORD };
    expect((await new Browser(other.url).post('/auth/login', form)).status).toBe(429);
  } finally {
    await other.close();
  }
});
