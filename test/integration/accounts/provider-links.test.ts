import type { TestApp } from '../../support/app';
import { type Browser, goodPassword, mailTo, registered } from './account-house';
import { ProviderHouse, reseller, throughProvider } from './provider-house';

let app: TestApp;
let house: ProviderHouse;

beforeAll(async () => {
  house = await ProviderHouse.start();
  app = house.app;
});
afterAll(() => house.close());

/** Begins to link, as the form of the settings does; returns where the browser goes. */
const startLink = async (browser: Browser, slot: 1 | 2): Promise<string> => {
  const given = { provider: `idp${slot}`, current_password: goodPassword };
  return String((await browser.post('/dashboard/settings/providers/link', given)).json()['url']);
};

test('an address that matches links nothing; a signed-in person links it, and then it opens that account', async () => {
  const email = await registered(app);
  const person = await house.someone(1, { email });
  const refused = await house.enter(1, person);
  expect(refused.status).toBe(409);
  expect(await app.database.query('SELECT 1 FROM linked_identity WHERE subject = $1', [person.id])).toEqual(
    [],
  );

  const browser = house.traveller();
  expect((await browser.post('/auth/login', { email, password: goodPassword })).status).toBe(200);
  const callback = await throughProvider(await startLink(browser, 1), person);
  expect((await browser.get(callback)).location).toBe(
    '/dashboard/settings?saved=provider-linked#providers-heading',
  );
  const entered = await house.enter(1, person);
  expect(entered.status).toBe(303);
  const rows = await app.database.query(
    'SELECT u.email FROM linked_identity i JOIN user_account u ON u.id = i.user_id WHERE i.subject = $1',
    [person.id],
  );
  expect(rows).toEqual([{ email }]);

  const neighbour = await registered(app);
  const another = house.traveller();
  await another.post('/auth/login', { email: neighbour, password: goodPassword });
  const taken = await another.get(await throughProvider(await startLink(another, 1), person));
  expect([taken.status, taken.json()['code']]).toEqual([409, 'conflict']);
});

test('linking is for signed-in people, to the end', async () => {
  const link = '/dashboard/settings/providers/link';
  expect((await house.traveller().post(link, { provider: 'idp1' })).status).toBe(401);
  const browser = house.traveller();
  await browser.post('/auth/login', { email: await registered(app), password: goodPassword });
  const callback = await throughProvider(await startLink(browser, 1), await house.someone(1));
  const state = browser.cookie('svc_provider_state') ?? '';
  const other = house.traveller();
  await other.post('/auth/login', { email: await registered(app), password: goodPassword });
  other.keep('svc_provider_state', state);
  expect((await other.get(callback)).json()['code']).toBe('invalid_session');
});

test('linking begins at a form of ours, with the password, and is told by mail as unlinking is', async () => {
  const email = await registered(app);
  const browser = house.traveller();
  await browser.post('/auth/login', { email, password: goodPassword });
  for (const site of ['cross-site', 'same-origin']) {
    const led = await browser.page('/auth/idp1?purpose=link', { 'sec-fetch-site': site });
    expect([led.location, browser.cookie('svc_provider_state')]).toEqual([
      '/dashboard/settings#providers-heading',
      undefined,
    ]);
  }
  const link = '/dashboard/settings/providers/link';
  const page = await browser.page('/dashboard/settings');
  expect(page.text).toMatch(/action="\/dashboard\/settings\/providers\/link"[^]*?id="link_password"/);
  const given = { provider: 'idp1', current_password: goodPassword };
  const foreign = await browser.post(link, given, { 'sec-fetch-site': 'cross-site' });
  expect(foreign.json()['code']).toBe('csrf_rejected');
  const refused = await browser.submit(link, { provider: 'idp1', current_password: 'not the password' });
  expect([refused.status, browser.cookie('svc_provider_state')]).toEqual([401, undefined]);
  expect(refused.text).toMatch(/id="link_password"[^>]*aria-invalid="true"/);

  const person = await house.someone(1);
  const onward = await browser.submit(link, given);
  const [, refresh = ''] = /^0; url=(.+)$/.exec(onward.headers.get('refresh') ?? '') ?? [];
  expect([onward.status, new URL(refresh).origin]).toEqual([200, house.issuerOf(1)]);
  expect(onward.text).toContain('Continue with House directory');
  await browser.get(await throughProvider(refresh, person));
  const told = await mailTo(app, email, /provider was linked/);
  expect(told.text).toContain(`House directory as “${person.email}”`);
  const issuer = house.issuerOf(1);
  expect((await browser.post('/dashboard/settings/providers/unlink', { issuer })).status).toBe(200);
  expect((await mailTo(app, email, /provider was unlinked/)).text).toContain(person.email);
});

test('without a password linking takes a fresh sign-in', async () => {
  const person = await house.someone(1);
  const { browser } = await house.enter(1, person);
  const link = () => browser.post('/dashboard/settings/providers/link', { provider: 'idp2' });
  expect((await link()).json()['url']).toContain(house.issuerOf(2));
  await app.database.query(
    `UPDATE session SET created_at = now() - interval '11 minutes'
     WHERE user_id = (SELECT id FROM user_account WHERE email = $1)`,
    [person.email],
  );
  expect((await link()).json()).toMatchObject({ details: { reason: 'fresh-sign-in' } });
});

test('a form leads to a page of ours, which leads on to the provider', async () => {
  const browser = house.traveller();
  const accepted = await browser.submit('/auth/accept-tos', { terms: 'on', provider: 'idp1' });
  expect([accepted.status, accepted.headers.get('refresh')]).toEqual([200, '0; url=/auth/idp1']);
  expect(accepted.text).toContain('href="/auth/idp1"');
});

test("on a reseller's address no provider is linked: its answer would come to an address without the session", async () => {
  const browser = house.traveller(reseller);
  await browser.post('/auth/login', { email: await registered(app), password: goodPassword });
  expect((await browser.page('/dashboard/settings')).text).not.toContain('/providers/link"');
  const given = { provider: 'idp1', current_password: goodPassword };
  const refused = await browser.post('/dashboard/settings/providers/link', given);
  expect(refused.json()['code']).toBe('origin_not_allowed');
});
