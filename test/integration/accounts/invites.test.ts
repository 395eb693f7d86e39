import type { TestApp } from '../../support/app';
import { addUser, signIn } from '../../support/people';
import {
  Browser,
  goodPassword,
  invited,
  mailTo,
  newAddress,
  registration,
  startAccountHouse,
  tokenIn,
} from './account-house';

/** An invitation is often the first that a person sees of this place: it is not lost on the way to an account. */
let app: TestApp;
let admin: string;
let organisationId: number;

beforeAll(async () => {
  app = await startAccountHouse();
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

test('a newcomer who was invited is led from the invitation over sign-up back to it, once', async () => {
  const email = newAddress();
  const path = await invited(app, admin, email, organisationId);
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

test('a page that someone was on the way to comes before the invitation, and neither leads off this site', async () => {
  const email = newAddress();
  const path = await invited(app, admin, email, organisationId);
  const browser = new Browser(app.url);
  await signUp(browser, email);
  await browser.page(path);
  expect(await enter(browser, email, '/dashboard/keys')).toBe('/dashboard/keys');
  expect(await enter(browser, email, 'https://elsewhere.example')).toBe(path);
  browser.keep('svc_invite', '../..//elsewhere.example/');
  expect(await enter(browser, email)).toMatch(/^\/(?!\/)/);
});

test('an invitation that is over is not gone to', async () => {
  const email = newAddress();
  const path = await invited(app, admin, email, organisationId);
  const browser = new Browser(app.url);
  await signUp(browser, email);
  await browser.page(path);
  await app.database.query("UPDATE invite SET expires_at = now() - interval '1 s' WHERE email = $1", [email]);
  await browser.page(path);
  expect(await enter(browser, email)).toBe('/dashboard');
});

test('the address of an invitation is refused where no token has its length, and absent where none has it', async () => {
  const asked = async (token: string) => {
    const { status } = await fetch(`${app.url}/invite/${token}`);
    return status;
  };
  expect([await asked('A'.repeat(43)), await asked('A'.repeat(101))]).toEqual([404, 422]);
});

test('someone else who is signed in finds the way out, and the invited one then finds the invitation', async () => {
  const [email, other] = [newAddress(), newAddress()];
  const path = await invited(app, admin, email, organisationId);
  const browser = new Browser(app.url);
  await signUp(browser, other);
  await signUp(browser, email);
  await enter(browser, other);
  const { text } = await browser.page(path);
  const out = /href="(\/logout[^"]*)"/.exec(text)?.[1] ?? '';
  expect(text).not.toContain(`action="${path}/accept"`);
  const door = (await browser.page(out)).location ?? '';
  expect((await browser.page(door)).text).toContain(`name="next" value="${path}"`);
  expect(await enter(browser, email, path)).toBe(path);
  await browser.page('/logout');
  // A person whose invitation it is not is not led to it again.
  expect(await enter(browser, other)).toBe('/dashboard');
  expect((await browser.page('/logout?next=//elsewhere.example')).location).toBe('/login?notice=signed-out');
});

test('public pages and errors lead who is signed in back to the dashboard, and others to the door', async () => {
  const email = newAddress();
  const browser = new Browser(app.url);
  const ways = async () =>
    Promise.all(
      ['/', '/pricing', '/models-public', '/no-such-page'].map(async (path) => {
        const [, bar = ''] =
          /class="public-account">(.*?)<\/div>/s.exec((await browser.page(path)).text) ?? [];
        return [...bar.matchAll(/href="([^"]+)"/g)].map(([, href]) => href);
      }),
    );
  const door = ['/login', '/signup'];
  expect(await ways()).toEqual([door, door, door, door]);
  await signUp(browser, email);
  await enter(browser, email);
  expect((await browser.page('/')).text).toContain('href="/dashboard/keys/new"');
  const desk = ['/dashboard'];
  expect(await ways()).toEqual([desk, desk, desk, desk]);
  await browser.page('/logout');
  expect(await ways()).toEqual([door, door, door, door]);
});
