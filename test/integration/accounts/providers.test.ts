import type { TestApp } from '../../support/app';
import { type Browser, goodPassword, newAddress, registered } from './account-house';
import { base, ProviderHouse, type Someone, throughProvider } from './provider-house';

let app: TestApp;
let house: ProviderHouse;

beforeAll(async () => {
  house = await ProviderHouse.start();
  app = house.app;
});
afterAll(() => house.close());

const acceptTerms = (browser: Browser) => browser.post('/auth/accept-tos', { terms: true });
const start = (browser: Browser, slot: 1 | 2, query = '') => house.startOf(browser, slot, query);
const enter = (slot: 1 | 2, person: Someone, query = '') => house.enter(slot, person, query);
const someone = (slot: 1 | 2, facts: Partial<Someone> = {}) => house.someone(slot, facts);

const userOf = async (email: string) => {
  const [row] = await app.database.query<{ id: number; role: string; display_name: string }>(
    'SELECT id, role, display_name FROM user_account WHERE email = $1',
    [email],
  );
  return row;
};

test('opens an account for somebody new, once, and knows them again under another address', async () => {
  const person = await someone(1);
  const first = await enter(1, person, '?next=/dashboard/keys');
  expect([first.status, first.location]).toEqual([303, '/dashboard/keys']);
  const account = await userOf(person.email);
  expect(account).toMatchObject({ role: 'user', display_name: 'Ina Roth' });
  await house.tell(1, { ...person, email: newAddress() });
  const again = await enter(1, person);
  const status = await again.browser.get('/api/legal/status');
  expect([again.status, status.json()['accepted']]).toEqual([303, true]);
  expect(
    await app.database.query('SELECT 1 FROM linked_identity WHERE user_id = $1', [account?.id]),
  ).toHaveLength(1);
});

test('the request to the provider has state, nonce and a PKCE challenge, and the page names it', async () => {
  const browser = house.traveller();
  const query = new URL(await start(browser, 1)).searchParams;
  expect(query.get('code_challenge_method')).toBe('S256');
  for (const name of ['state', 'nonce', 'code_challenge'])
    expect(query.get(name)?.length).toBeGreaterThanOrEqual(32);
  expect((await browser.page('/login')).text).toContain('House directory');
});

test('a callback with two codes is a fault of its parameter', async () => {
  const answer = await house.traveller().get('/oauth/idp1/login/callback/?code=one&code=two&state=x');
  expect([answer.status, answer.json()]).toEqual([
    422,
    expect.objectContaining({ detail: [expect.objectContaining({ loc: ['query', 'code'] })] }),
  ]);
});

test('nobody new comes in without the terms, and a forged cookie is no acceptance', async () => {
  const person = await someone(1);
  for (const forged of [undefined, '1~9999999999~AAAA', `2026-11-01~9999999999~${'A'.repeat(43)}`]) {
    const browser = house.traveller();
    if (forged !== undefined) browser.keep('svc_terms', forged);
    const answer = await browser.get(await throughProvider(await start(browser, 1), person));
    expect([answer.status, answer.json()['code']]).toEqual([403, 'tos_not_accepted']);
    expect(browser.cookie('svc_session')).toBeUndefined();
  }
  expect(await userOf(person.email)).toBeUndefined();
});

describe('what comes back opens nothing', () => {
  const refusedAs = async (browser: Browser, path: string) => {
    const answer = await browser.get(path);
    expect([answer.status, answer.json()['code'], browser.cookie('svc_session')]).toEqual([
      400,
      'invalid_request',
      undefined,
    ]);
  };
  const journey = async () => {
    const browser = house.traveller();
    await acceptTerms(browser);
    const callback = await throughProvider(await start(browser, 1), await someone(1));
    return { browser, callback };
  };

  test('without a state, with another one, or with one that was used', async () => {
    const { browser, callback } = await journey();
    const url = new URL(callback, base);
    for (const state of [null, 'A'.repeat(43)]) {
      const changed = new URL(url);
      if (state === null) changed.searchParams.delete('state');
      else changed.searchParams.set('state', state);
      await refusedAs(browser, changed.pathname + changed.search);
    }
    const kept = browser.cookie('svc_provider_state') ?? '';
    expect((await browser.get(callback)).status).toBe(303);
    const replay = house.traveller();
    replay.keep('svc_provider_state', kept);
    await refusedAs(replay, callback);
  });

  test('in a browser that did not begin it', async () => {
    const { callback } = await journey();
    await refusedAs(house.traveller(), callback);
  });

  test('at the callback of the other provider, or in its name', async () => {
    const { browser, callback } = await journey();
    await refusedAs(browser, callback.replace('/oauth/idp1/', '/oauth/idp2/'));
    const other = await journey();
    const url = new URL(other.callback, base);
    url.searchParams.set('iss', house.issuerOf(2));
    await refusedAs(other.browser, url.pathname + url.search);
  });

  test('without a code, with another one, or with one of another journey', async () => {
    const { browser, callback } = await journey();
    const url = new URL(callback, base);
    url.searchParams.delete('code');
    await refusedAs(browser, url.pathname + url.search);
    const [one, other] = [await journey(), await journey()];
    const mixed = new URL(one.callback, base);
    mixed.searchParams.set('code', new URL(other.callback, base).searchParams.get('code') ?? '');
    await refusedAs(one.browser, mixed.pathname + mixed.search);
  });

  test('when the provider says that the person refused', async () => {
    const { browser, callback } = await journey();
    const url = new URL(callback, base);
    url.searchParams.delete('code');
    url.searchParams.set('error', 'access_denied');
    await refusedAs(browser, url.pathname + url.search);
  });
});

test.each([
  ['access_denied', 'provider-cancelled', 'You cancelled the sign-in'],
  ['server_error', 'provider-failed', 'could not sign you in'],
])(
  'leads a person back to the sign-in page in words when the provider answers %s',
  async (error, notice, text) => {
    const browser = house.traveller();
    const callback = await throughProvider(
      await start(browser, 1, '?next=/dashboard/keys'),
      await someone(1),
    );
    const url = new URL(callback, base);
    url.searchParams.delete('code');
    url.searchParams.set('error', error);
    const answer = await browser.page(url.pathname + url.search);
    expect([answer.status, answer.location]).toEqual([
      303,
      `/login?notice=${notice}&next=%2Fdashboard%2Fkeys`,
    ]);
    const page = await browser.page(answer.location ?? '');
    expect([page.status, page.text]).toEqual([200, expect.stringContaining(text)]);
    expect((await browser.get(callback)).json()['code']).toBe('invalid_request');
  },
);

test('an address that the provider has not verified opens no account', async () => {
  const answer = await enter(1, await someone(1, { email_verified: false }));
  expect(answer.status).toBe(403);
});

test('groups mean roles at every sign-in; the highest counts, and none makes or unmakes the owner', async () => {
  const person = await someone(2, { groups: ['staff', 'operators', 'heads'] });
  const first = await enter(2, person);
  expect(await userOf(person.email)).toMatchObject({ role: 'platform_admin' });
  const change = (groups: readonly string[]) => house.tell(2, { ...person, groups });
  await change(['heads']);
  await enter(2, person);
  expect(await userOf(person.email)).toMatchObject({ role: 'org_admin' });
  // Sessions of the former role have ended.
  expect((await first.browser.get('/api/legal/status')).json()['code']).toBe('invalid_session');
  await change(['platform_owner']);
  await enter(2, person);
  expect(await userOf(person.email)).toMatchObject({ role: 'user' });
  await app.database.query("UPDATE user_account SET role = 'platform_owner' WHERE email = $1", [
    person.email,
  ]);
  await enter(2, person);
  expect(await userOf(person.email)).toMatchObject({ role: 'platform_owner' });
});

test('acceptance of the terms is kept once, and asked for', async () => {
  const email = await registered(app);
  const browser = house.traveller();
  await browser.post('/auth/login', { email, password: goodPassword });
  expect((await browser.get('/api/legal/status')).json()).toMatchObject({ accepted: true });
  expect((await browser.post('/api/legal/accept')).status).toBe(200);
  expect((await house.traveller().get('/api/legal/status')).status).toBe(401);
  expect((await house.traveller().post('/auth/accept-tos', {})).json()['code']).toBe('tos_not_accepted');
});

test('suspended and archived people see their notice, and keep their way out', async () => {
  for (const status of ['suspended', 'archived']) {
    const email = await registered(app);
    await app.database.query('UPDATE user_account SET status = $2 WHERE email = $1', [email, status]);
    const browser = house.traveller();
    const entered = await browser.submit('/auth/login', { email, password: goodPassword });
    expect(entered.location).toBe(`/account/${status}`);
    expect((await browser.page(`/account/${status}`)).status).toBe(200);
    expect((await browser.get('/api/legal/status')).json()['code']).toBe('account_status');
    expect((await browser.page('/logout')).status).toBe(303);
  }
});
