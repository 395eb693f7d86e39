import type { TestApp } from '../../support/app';
import { type Browser, goodPassword, mailTo, registerUser } from './account-fixture';
import { ProviderFixture, reseller, signInAtProvider } from './provider-fixture';

let app: TestApp;
let fixture: ProviderFixture;

beforeAll(async () => {
  fixture = await ProviderFixture.start();
  app = fixture.app;
});
afterAll(() => fixture.close());

/** Starts linking with the settings form; returns the redirect location. */
const startLink = async (browser: Browser, slot: 1 | 2): Promise<string> => {
  const linkForm = { provider: `idp${slot}`, current_password: goodPassword };
  return String((await browser.post('/dashboard/settings/providers/link', linkForm)).json()['url']);
};

test('a matching address alone links nothing; a signed-in user can link the provider and then sign in with it', async () => {
  const email = await registerUser(app);
  const person = await fixture.createPerson(1, { email });
  const refusal = await fixture.signIn(1, person);
  expect(refusal.status).toBe(409);
  expect(await app.database.query('SELECT 1 FROM linked_identity WHERE subject = $1', [person.id])).toEqual(
    [],
  );

  const browser = fixture.browserAt();
  expect((await browser.post('/auth/login', { email, password: goodPassword })).status).toBe(200);
  const callback = await signInAtProvider(await startLink(browser, 1), person);
  expect((await browser.get(callback)).location).toBe(
    '/dashboard/settings?saved=provider-linked#providers-heading',
  );
  const signInResult = await fixture.signIn(1, person);
  expect(signInResult.status).toBe(303);
  const rows = await app.database.query(
    'SELECT u.email FROM linked_identity i JOIN user_account u ON u.id = i.user_id WHERE i.subject = $1',
    [person.id],
  );
  expect(rows).toEqual([{ email }]);

  const otherUser = await registerUser(app);
  const otherBrowser = fixture.browserAt();
  await otherBrowser.post('/auth/login', { email: otherUser, password: goodPassword });
  const conflict = await otherBrowser.get(await signInAtProvider(await startLink(otherBrowser, 1), person));
  expect([conflict.status, conflict.json()['code']]).toEqual([409, 'conflict']);
});

test('linking requires the session until the callback', async () => {
  const linkPath = '/dashboard/settings/providers/link';
  expect((await fixture.browserAt().post(linkPath, { provider: 'idp1' })).status).toBe(401);
  const browser = fixture.browserAt();
  await browser.post('/auth/login', { email: await registerUser(app), password: goodPassword });
  const callback = await signInAtProvider(await startLink(browser, 1), await fixture.createPerson(1));
  const state = browser.cookie('svc_provider_state') ?? '';
  const otherBrowser = fixture.browserAt();
  await otherBrowser.post('/auth/login', { email: await registerUser(app), password: goodPassword });
  otherBrowser.setCookie('svc_provider_state', state);
  expect((await otherBrowser.get(callback)).json()['code']).toBe('invalid_session');
});

test('linking requires a same-origin form and the password, and linking and unlinking send an email', async () => {
  const email = await registerUser(app);
  const browser = fixture.browserAt();
  await browser.post('/auth/login', { email, password: goodPassword });
  for (const site of ['cross-site', 'same-origin']) {
    const linkByUrl = await browser.page('/auth/idp1?purpose=link', { 'sec-fetch-site': site });
    expect([linkByUrl.location, browser.cookie('svc_provider_state')]).toEqual([
      '/dashboard/settings#providers-heading',
      undefined,
    ]);
  }
  const linkPath = '/dashboard/settings/providers/link';
  const page = await browser.page('/dashboard/settings');
  expect(page.text).toMatch(/action="\/dashboard\/settings\/providers\/link"[^]*?id="link_password"/);
  const linkForm = { provider: 'idp1', current_password: goodPassword };
  const crossSiteResponse = await browser.post(linkPath, linkForm, { 'sec-fetch-site': 'cross-site' });
  expect(crossSiteResponse.json()['code']).toBe('csrf_rejected');
  const refusal = await browser.submit(linkPath, { provider: 'idp1', current_password: 'not the password' });
  expect([refusal.status, browser.cookie('svc_provider_state')]).toEqual([401, undefined]);
  expect(refusal.text).toMatch(/id="link_password"[^>]*aria-invalid="true"/);

  const person = await fixture.createPerson(1);
  const linkResponse = await browser.submit(linkPath, linkForm);
  const [, refresh = ''] = /^0; url=(.+)$/.exec(linkResponse.headers.get('refresh') ?? '') ?? [];
  expect([linkResponse.status, new URL(refresh).origin]).toEqual([200, fixture.issuerOf(1)]);
  expect(linkResponse.text).toContain('Continue with House directory');
  await browser.get(await signInAtProvider(refresh, person));
  const notification = await mailTo(app, email, /provider was linked/);
  expect(notification.text).toContain(`House directory as “${person.email}”`);
  const issuer = fixture.issuerOf(1);
  expect((await browser.post('/dashboard/settings/providers/unlink', { issuer })).status).toBe(200);
  expect((await mailTo(app, email, /provider was unlinked/)).text).toContain(person.email);
});

test('a user without a password needs a fresh sign-in to link', async () => {
  const person = await fixture.createPerson(1);
  const { browser } = await fixture.signIn(1, person);
  const postLink = () => browser.post('/dashboard/settings/providers/link', { provider: 'idp2' });
  expect((await postLink()).json()['url']).toContain(fixture.issuerOf(2));
  await app.database.query(
    `UPDATE session SET created_at = now() - interval '11 minutes'
     WHERE user_id = (SELECT id FROM user_account WHERE email = $1)`,
    [person.email],
  );
  expect((await postLink()).json()).toMatchObject({ details: { reason: 'fresh-sign-in' } });
});

test('a form redirects through a portal page to the provider', async () => {
  const browser = fixture.browserAt();
  const acceptResponse = await browser.submit('/auth/accept-tos', { terms: 'on', provider: 'idp1' });
  expect([acceptResponse.status, acceptResponse.headers.get('refresh')]).toEqual([200, '0; url=/auth/idp1']);
  expect(acceptResponse.text).toContain('href="/auth/idp1"');
});

test('the host of a reseller links no provider, because the callback would arrive without the session', async () => {
  const browser = fixture.browserAt(reseller);
  await browser.post('/auth/login', { email: await registerUser(app), password: goodPassword });
  expect((await browser.page('/dashboard/settings')).text).not.toContain('/providers/link"');
  const linkForm = { provider: 'idp1', current_password: goodPassword };
  const refusal = await browser.post('/dashboard/settings/providers/link', linkForm);
  expect(refusal.json()['code']).toBe('origin_not_allowed');
});
