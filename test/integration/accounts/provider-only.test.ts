import type { TestApp } from '../../support/app';
import { addUser, signIn } from '../../support/people';
import { ask } from '../web/raw-exchange';
import {
  Browser,
  goodPassword,
  invited,
  mailTo,
  registered,
  signedIn,
  startAccountHouse,
  tokenIn,
} from './account-house';

/** An organisation that signs in through its identity provider alone: no route takes or sets a password of its people. */
let app: TestApp;
let organisationId: number;

beforeAll(async () => {
  app = await startAccountHouse({
    environment: {
      IDP1_ISSUER: 'https://id.example.com',
      IDP1_CLIENT_ID: 'switchboard',
      IDP1_CLIENT_SECRET: 'a secret of the tests that is long enough',
      IDP1_NAME: 'House directory',
    },
  });
  const [row] = await app.database.query<{ id: number }>(
    "INSERT INTO organisation (name, slug) VALUES ('Closed', 'closed') RETURNING id",
  );
  organisationId = row?.id ?? 0;
});
afterAll(() => app.close());

const join = (email: string): Promise<unknown> =>
  app.database.query('UPDATE user_account SET organisation_id = $2 WHERE email = $1', [
    email,
    organisationId,
  ]);
const link = (email: string): Promise<unknown> =>
  app.database.query(
    `INSERT INTO linked_identity (issuer, subject, user_id, email)
     SELECT 'https://id.example.com', email, id, email FROM user_account WHERE email = $1`,
    [email],
  );
const setProviderOnly = async (cookie: string, wanted: boolean) => {
  const answer = await ask(app.url, {
    method: 'POST',
    path: `/dashboard/admin/organisations/${organisationId}`,
    headers: { cookie, 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' },
    body: JSON.stringify({ sso_only: wanted }),
  });
  return { status: answer.status, json: JSON.parse(answer.body) as Record<string, unknown> };
};

test('switched on, it ends sessions and links that passwords opened, and each route says the same', async () => {
  const email = await registered(app);
  await join(email);
  const browser = await signedIn(app, email);
  await new Browser(app.url).post('/auth/forgot-password', { email });
  const token = tokenIn(await mailTo(app, email, /password/i));
  expect(token).not.toBe('');
  const admin = await signIn(app, await addUser(app, 'platform_admin'));
  expect(await setProviderOnly(admin, true)).toMatchObject({ status: 200, json: { changed: ['ssoOnly'] } });

  expect((await browser.get('/dashboard')).status).toBe(401);
  const login = await new Browser(app.url).post('/auth/login', { email, password: goodPassword });
  expect([login.status, login.json()['code']]).toEqual([403, 'sso_only']);
  const page = await new Browser(app.url).submit('/auth/login', { email, password: goodPassword });
  expect(page.text).toContain('House directory');
  expect(page.text).toContain('identity provider');
  const reset = await new Browser(app.url).post('/auth/reset-password', {
    token,
    password: 'other kettle orbit moss',
  });
  expect(reset.json()['code']).toBe('invalid_token');
});

test('inside, signed in by the provider: no password is set or asked for, and the provider stays linked', async () => {
  const email = await registered(app);
  await join(email);
  await link(email);
  const rows = await app.database.query<{ id: number }>('SELECT id FROM user_account WHERE email = $1', [
    email,
  ]);
  const cookie = await signIn(app, rows[0]?.id ?? 0);
  const browser = new Browser(app.url, { cookie });
  const settings = await browser.page('/dashboard/settings');
  expect(settings.text).not.toContain('action="/dashboard/settings/password"');
  const change = await browser.post('/dashboard/settings/password', {
    current_password: goodPassword,
    password: 'other kettle orbit moss',
  });
  expect([change.status, change.json()['code']]).toEqual([403, 'sso_only']);
  const unlink = await browser.post('/dashboard/settings/providers/unlink', {
    issuer: 'https://id.example.com',
  });
  expect(unlink.json()['code']).toBe('sso_only');
});

test('an invitation takes only whom the provider knows here', async () => {
  const email = await registered(app);
  const admin = await signIn(app, await addUser(app, 'platform_admin'));
  const path = await invited(app, admin, email, organisationId);
  const browser = await signedIn(app, email);
  const refused = await browser.post(`${path}/accept`);
  expect([refused.status, refused.json()['code']]).toEqual([403, 'sso_only']);
  await app.database.query("UPDATE user_account SET preferred_language = 'de' WHERE email = $1", [email]);
  const told = await browser.submit(`${path}/accept`, { _page: path });
  expect(told.text).toContain('Diese Organisation meldet sich über ihren Identitätsanbieter an.');
  await app.database.query(
    `WITH made AS (INSERT INTO organisation (name, slug) VALUES ('Elsewhere', 'elsewhere') RETURNING id)
     UPDATE user_account SET organisation_id = made.id FROM made WHERE email = $1`,
    [email],
  );
  const foreign = await browser.submit(`${path}/accept`, { _page: path });
  expect(foreign.text).toContain('Ihr Konto gehört schon zu einer anderen Organisation.');
  // The invitation is still there to be accepted.
  for (const { text } of [told, foreign]) {
    expect(text).toContain(`action="${path}/accept"`);
    expect(text).not.toContain('abgelaufen');
  }
  await app.database.query('UPDATE user_account SET organisation_id = NULL WHERE email = $1', [email]);
  await link(email);
  expect((await browser.post(`${path}/accept`)).status).toBe(200);
});

test('whoever would shut themselves out is told, and so is who has no provider', async () => {
  const admin = await signIn(app, await addUser(app, 'platform_admin'));
  expect(await setProviderOnly(admin, false)).toMatchObject({ status: 200 });
  const userId = await addUser(app, 'platform_admin');
  await app.database.query('UPDATE user_account SET organisation_id = $2 WHERE id = $1', [
    userId,
    organisationId,
  ]);
  const own = await setProviderOnly(await signIn(app, userId), true);
  expect(own).toMatchObject({ status: 409, json: { code: 'conflict', param: 'sso_only' } });
});

test('an accepted invitation that gives a role renews the session and ends the others', async () => {
  const email = await registered(app);
  const admin = await signIn(app, await addUser(app, 'platform_admin'));
  await setProviderOnly(admin, false);
  const path = await invited(app, admin, email, organisationId, 'org_admin');
  const versionOf = async () =>
    (
      await app.database.query<{ version: number }>('SELECT version FROM user_account WHERE email = $1', [
        email,
      ])
    )[0]?.version ?? 0;
  const [browser, other] = [await signedIn(app, email), await signedIn(app, email)];
  const [former, version] = [browser.cookie('svc_session') ?? '', await versionOf()];
  expect((await browser.post(`${path}/accept`)).status).toBe(200);
  expect(browser.cookie('svc_session')).not.toBe(former);
  expect((await browser.get('/api/legal/status')).status).toBe(200);
  expect((await other.get('/api/legal/status')).status).toBe(401);
  const stolen = new Browser(app.url, { cookie: `svc_session=${former}` });
  expect((await stolen.get('/api/legal/status')).status).toBe(401);
  expect(await versionOf()).toBe(version + 1);
});
