import type { TestApp } from '../../support/app';
import { addUser, signIn } from '../../support/users';
import { sendRaw } from '../web/raw-exchange';
import {
  Browser,
  goodPassword,
  sendInvitation,
  mailTo,
  registerUser,
  signInBrowser,
  startAccountFixture,
  tokenIn,
} from './account-fixture';

/** An organisation with provider-only sign-in: no route accepts or sets a password of its users. */
let app: TestApp;
let organisationId: number;

beforeAll(async () => {
  app = await startAccountFixture({
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

const joinOrganisation = (email: string): Promise<unknown> =>
  app.database.query('UPDATE user_account SET organisation_id = $2 WHERE email = $1', [
    email,
    organisationId,
  ]);
const linkProvider = (email: string): Promise<unknown> =>
  app.database.query(
    `INSERT INTO linked_identity (issuer, subject, user_id, email)
     SELECT 'https://id.example.com', email, id, email FROM user_account WHERE email = $1`,
    [email],
  );
const setProviderOnly = async (cookie: string, isProviderOnly: boolean) => {
  const answer = await sendRaw(app.url, {
    method: 'POST',
    path: `/dashboard/admin/organisations/${organisationId}`,
    headers: { cookie, 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' },
    body: JSON.stringify({ sso_only: isProviderOnly }),
  });
  return { status: answer.status, json: JSON.parse(answer.body) as Record<string, unknown> };
};

test('enabling provider-only sign-in ends sessions and reset links of passwords, and every route returns the same refusal', async () => {
  const email = await registerUser(app);
  await joinOrganisation(email);
  const browser = await signInBrowser(app, email);
  await new Browser(app.url).post('/auth/forgot-password', { email });
  const token = tokenIn(await mailTo(app, email, /password/i));
  expect(token).not.toBe('');
  const admin = await signIn(app, await addUser(app, 'platform_admin'));
  expect(await setProviderOnly(admin, true)).toMatchObject({ status: 200, json: { changed: ['ssoOnly'] } });

  expect((await browser.get('/dashboard')).status).toBe(401);
  const loginResponse = await new Browser(app.url).post('/auth/login', { email, password: goodPassword });
  expect([loginResponse.status, loginResponse.json()['code']]).toEqual([403, 'sso_only']);
  const page = await new Browser(app.url).submit('/auth/login', { email, password: goodPassword });
  expect(page.text).toContain('House directory');
  expect(page.text).toContain('identity provider');
  const resetResponse = await new Browser(app.url).post('/auth/reset-password', {
    token,
    password: 'other kettle orbit moss',
  });
  expect(resetResponse.json()['code']).toBe('invalid_token');
});

test('a provider user cannot set a password, is not asked for one, and cannot unlink the provider', async () => {
  const email = await registerUser(app);
  await joinOrganisation(email);
  await linkProvider(email);
  const rows = await app.database.query<{ id: number }>('SELECT id FROM user_account WHERE email = $1', [
    email,
  ]);
  const cookie = await signIn(app, rows[0]?.id ?? 0);
  const browser = new Browser(app.url, { cookie });
  const settings = await browser.page('/dashboard/settings');
  expect(settings.text).not.toContain('action="/dashboard/settings/password"');
  const changeResponse = await browser.post('/dashboard/settings/password', {
    current_password: goodPassword,
    password: 'other kettle orbit moss',
  });
  expect([changeResponse.status, changeResponse.json()['code']]).toEqual([403, 'sso_only']);
  const unlinkResponse = await browser.post('/dashboard/settings/providers/unlink', {
    issuer: 'https://id.example.com',
  });
  expect(unlinkResponse.json()['code']).toBe('sso_only');
});

test("an invitation can be accepted only by a user of the organisation's provider", async () => {
  const email = await registerUser(app);
  const admin = await signIn(app, await addUser(app, 'platform_admin'));
  const path = await sendInvitation(app, admin, email, organisationId);
  const browser = await signInBrowser(app, email);
  const refusal = await browser.post(`${path}/accept`);
  expect([refusal.status, refusal.json()['code']]).toEqual([403, 'sso_only']);
  await app.database.query("UPDATE user_account SET preferred_language = 'de' WHERE email = $1", [email]);
  const refusalPage = await browser.submit(`${path}/accept`, { _page: path });
  expect(refusalPage.text).toContain('Diese Organisation meldet sich über ihren Identitätsanbieter an.');
  await app.database.query(
    `WITH made AS (INSERT INTO organisation (name, slug) VALUES ('Elsewhere', 'elsewhere') RETURNING id)
     UPDATE user_account SET organisation_id = made.id FROM made WHERE email = $1`,
    [email],
  );
  const otherProviderPage = await browser.submit(`${path}/accept`, { _page: path });
  expect(otherProviderPage.text).toContain('Ihr Konto gehört schon zu einer anderen Organisation.');
  // The invitation can still be accepted.
  for (const { text } of [refusalPage, otherProviderPage]) {
    expect(text).toContain(`action="${path}/accept"`);
    expect(text).not.toContain('abgelaufen');
  }
  await app.database.query('UPDATE user_account SET organisation_id = NULL WHERE email = $1', [email]);
  await linkProvider(email);
  expect((await browser.post(`${path}/accept`)).status).toBe(200);
});

test('enabling provider-only sign-in is refused for an administrator who would be locked out', async () => {
  const admin = await signIn(app, await addUser(app, 'platform_admin'));
  expect(await setProviderOnly(admin, false)).toMatchObject({ status: 200 });
  const userId = await addUser(app, 'platform_admin');
  await app.database.query('UPDATE user_account SET organisation_id = $2 WHERE id = $1', [
    userId,
    organisationId,
  ]);
  const ownResponse = await setProviderOnly(await signIn(app, userId), true);
  expect(ownResponse).toMatchObject({ status: 409, json: { code: 'conflict', param: 'sso_only' } });
});

test('accepting an invitation with a role renews the session and ends the others', async () => {
  const email = await registerUser(app);
  const admin = await signIn(app, await addUser(app, 'platform_admin'));
  await setProviderOnly(admin, false);
  const path = await sendInvitation(app, admin, email, organisationId, 'org_admin');
  const versionOf = async () =>
    (
      await app.database.query<{ version: number }>('SELECT version FROM user_account WHERE email = $1', [
        email,
      ])
    )[0]?.version ?? 0;
  const [browser, other] = [await signInBrowser(app, email), await signInBrowser(app, email)];
  const [former, version] = [browser.cookie('svc_session') ?? '', await versionOf()];
  expect((await browser.post(`${path}/accept`)).status).toBe(200);
  expect(browser.cookie('svc_session')).not.toBe(former);
  expect((await browser.get('/api/legal/status')).status).toBe(200);
  expect((await other.get('/api/legal/status')).status).toBe(401);
  const formerSession = new Browser(app.url, { cookie: `svc_session=${former}` });
  expect((await formerSession.get('/api/legal/status')).status).toBe(401);
  expect(await versionOf()).toBe(version + 1);
});
