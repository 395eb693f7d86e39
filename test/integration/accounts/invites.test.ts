import type { TestApp } from '../../support/app';
import { addUser, signIn } from '../../support/users';
import {
  Browser,
  goodPassword,
  sendInvitation,
  mailTo,
  newAddress,
  registration,
  startAccountFixture,
  tokenIn,
} from './account-fixture';

/** A new user's first contact is often an invitation: registration and sign-in must lead back to it. */
let app: TestApp;
let admin: string;
let organisationId: number;

beforeAll(async () => {
  app = await startAccountFixture();
  admin = await signIn(app, await addUser(app, 'platform_admin'));
  const [row] = await app.database.query<{ id: number }>(
    "INSERT INTO organisation (name, slug) VALUES ('Harbour', 'harbour') RETURNING id",
  );
  organisationId = row?.id ?? 0;
});
afterAll(() => app.close());

async function signUp(browser: Browser, email: string): Promise<void> {
  await browser.submit('/auth/register', registration(email));
  const token = tokenIn(await mailTo(app, email, /Confirm your email/));
  expect((await browser.submit('/verify-email', { token })).location).toBe('/login?notice=verified');
}

const enter = async (browser: Browser, email: string, next = ''): Promise<string | null> =>
  (await browser.submit('/auth/login', { email, password: goodPassword, next })).location;

test('an invited new user is led from the invitation through sign-up back to it, once', async () => {
  const email = newAddress();
  const path = await sendInvitation(app, admin, email, organisationId);
  const browser = new Browser(app.url);
  expect((await browser.page(path)).text).toContain('href="/signup?email=');
  await signUp(browser, email);
  expect(await enter(browser, email)).toBe(path);
  expect((await browser.page(path)).text).toContain(`action="${path}/accept"`);
  expect((await browser.submit(`${path}/accept`, { _page: path })).location).toBe('/dashboard');
  expect(
    await app.database.query('SELECT organisation_id FROM user_account WHERE email = $1', [email]),
  ).toEqual([{ organisation_id: organisationId }]);
  expect(await enter(browser, email)).toBe('/dashboard');
});

test('a requested page takes precedence over the invitation, and neither leads to another site', async () => {
  const email = newAddress();
  const path = await sendInvitation(app, admin, email, organisationId);
  const browser = new Browser(app.url);
  await signUp(browser, email);
  await browser.page(path);
  expect(await enter(browser, email, '/dashboard/keys')).toBe('/dashboard/keys');
  expect(await enter(browser, email, 'https://elsewhere.example')).toBe(path);
  browser.setCookie('svc_invite', '../..//elsewhere.example/');
  expect(await enter(browser, email)).toMatch(/^\/(?!\/)/);
});

test('an expired or withdrawn invitation is not shown after sign-in', async () => {
  const email = newAddress();
  const path = await sendInvitation(app, admin, email, organisationId);
  const browser = new Browser(app.url);
  await signUp(browser, email);
  await browser.page(path);
  await app.database.query("UPDATE invite SET expires_at = now() - interval '1 s' WHERE email = $1", [email]);
  await browser.page(path);
  expect(await enter(browser, email)).toBe('/dashboard');
});

test('the invitation path returns 422 for a token of the wrong length and 404 for an unknown one', async () => {
  const statusOf = async (token: string) => {
    const { status } = await fetch(`${app.url}/invite/${token}`);
    return status;
  };
  expect([await statusOf('A'.repeat(43)), await statusOf('A'.repeat(101))]).toEqual([404, 422]);
});

test('a signed-in user can sign out of a foreign invitation, and the invitee then reaches it', async () => {
  const [email, other] = [newAddress(), newAddress()];
  const path = await sendInvitation(app, admin, email, organisationId);
  const browser = new Browser(app.url);
  await signUp(browser, other);
  await signUp(browser, email);
  await enter(browser, other);
  const { text } = await browser.page(path);
  const signOutPath = /href="(\/logout[^"]*)"/.exec(text)?.[1] ?? '';
  expect(text).not.toContain(`action="${path}/accept"`);
  const signInPath = (await browser.page(signOutPath)).location ?? '';
  expect((await browser.page(signInPath)).text).toContain(`name="next" value="${path}"`);
  expect(await enter(browser, email, path)).toBe(path);
  await browser.page('/logout');
  // The other user is not redirected to the invitation again.
  expect(await enter(browser, other)).toBe('/dashboard');
  expect((await browser.page('/logout?next=//elsewhere.example')).location).toBe('/login?notice=signed-out');
});

test('public pages and errors link signed-in users to the dashboard and visitors to sign-in', async () => {
  const email = newAddress();
  const browser = new Browser(app.url);
  const accountLinks = async () =>
    Promise.all(
      ['/', '/pricing', '/models-public', '/no-such-page'].map(async (path) => {
        const [, bar = ''] =
          /class="public-account">(.*?)<\/div>/s.exec((await browser.page(path)).text) ?? [];
        return [...bar.matchAll(/href="([^"]+)"/g)].map(([, href]) => href);
      }),
    );
  const visitorLinks = ['/login', '/signup'];
  expect(await accountLinks()).toEqual([visitorLinks, visitorLinks, visitorLinks, visitorLinks]);
  await signUp(browser, email);
  await enter(browser, email);
  expect((await browser.page('/')).text).toContain('href="/dashboard/keys/new"');
  const userLinks = ['/dashboard'];
  expect(await accountLinks()).toEqual([userLinks, userLinks, userLinks, userLinks]);
  await browser.page('/logout');
  expect(await accountLinks()).toEqual([visitorLinks, visitorLinks, visitorLinks, visitorLinks]);
});
