import type { TestApp } from '../../support/app';
import { githubClient, type GithubPerson, GithubStandIn } from '../../support/github-stand-in';
import {
  type Answer,
  Browser,
  goodPassword,
  newAddress,
  registered,
  startAccountHouse,
} from './account-house';

const base = 'http://portal.localhost';
const api = '/api/v3';
let app: TestApp;
let one: GithubStandIn;
let two: GithubStandIn;

beforeAll(async () => {
  const callbacks = ['idp1', 'idp2'].map((slot) => `${base}/oauth/${slot}/login/callback/`);
  [one, two] = await Promise.all([GithubStandIn.start(callbacks), GithubStandIn.start(callbacks)]);
  const configured = (slot: string, { url }: GithubStandIn) => ({
    [`${slot}_KIND`]: 'github',
    [`${slot}_ISSUER`]: url,
    [`${slot}_CLIENT_ID`]: githubClient.id,
    [`${slot}_CLIENT_SECRET`]: githubClient.secret,
  });
  app = await startAccountHouse({
    environment: {
      BASE_URL: base,
      ...configured('IDP1', one),
      ...configured('IDP2', two),
      IDP2_API_URL: `${two.url}${api}/`,
    },
  });
});
afterAll(async () => {
  await app.close();
  await Promise.all([one.close(), two.close()]);
});

class Traveller extends Browser {
  constructor() {
    super(app.url, { host: new URL(base).host });
  }
}

let count = 0;
function somebody(facts: Partial<GithubPerson> = {}): GithubPerson {
  count += 1;
  return {
    id: 1_000 + count,
    login: `octocat-${count}`,
    name: 'Mona Lisa',
    emails: [
      { email: newAddress(), primary: false, verified: true },
      { email: newAddress(), primary: true, verified: true },
    ],
    ...facts,
  };
}

const addressOf = ({ emails }: GithubPerson): string => emails.find(({ primary }) => primary)?.email ?? '';

/** There and back, up to the address of ours that GitHub sends the browser to. */
async function callbackOf(browser: Browser, person: GithubPerson, github = one): Promise<string> {
  const slot = github === one ? 'idp1' : 'idp2';
  const { location } = await browser.get(`/auth/${slot}`);
  return callbackFrom(location ?? '', person, github);
}

async function callbackFrom(location: string, person: GithubPerson, github = one): Promise<string> {
  github.person = person;
  const answer = await fetch(location, { redirect: 'manual' });
  expect(answer.status).toBe(302);
  const back = new URL(answer.headers.get('location') ?? '');
  expect(back.origin).toBe(base);
  return back.pathname + back.search;
}

async function journey(person = somebody()): Promise<{ browser: Traveller; callback: string }> {
  const browser = new Traveller();
  await browser.post('/auth/accept-tos', { terms: true });
  return { browser, callback: await callbackOf(browser, person) };
}

async function enter(person: GithubPerson): Promise<Answer & { readonly browser: Traveller }> {
  const { browser, callback } = await journey(person);
  return { ...(await browser.get(callback)), browser };
}

const accountOf = async (email: string) => {
  const [row] = await app.database.query<{ id: number; display_name: string }>(
    'SELECT id, display_name FROM user_account WHERE email = $1',
    [email],
  );
  return row;
};

async function refuse(browser: Browser, path: string): Promise<void> {
  const answer = await browser.get(path);
  const got = [path, answer.status, answer.json()['code'], browser.cookie('svc_session')];
  expect(got).toEqual([path, 400, 'invalid_request', undefined]);
}

const changed = (callback: string, change: (query: URLSearchParams) => void): string => {
  const url = new URL(callback, base);
  change(url.searchParams);
  return url.pathname + url.search;
};

test('opens an account by the verified primary address, and knows the person again by number alone', async () => {
  const person = somebody();
  const { browser, callback } = await journey(person);
  expect((await browser.get(callback)).status).toBe(303);
  const account = await accountOf(addressOf(person));
  expect(account?.display_name).toBe('Mona Lisa');
  expect((await browser.page('/dashboard/settings')).text).toContain(one.url);

  const renamed = { ...person, login: 'another-login', emails: somebody().emails };
  expect((await enter(renamed)).status).toBe(303);
  expect(await accountOf(addressOf(renamed))).toBeUndefined();
  const rows = await app.database.query<{ subject: string }>(
    'SELECT subject FROM linked_identity WHERE user_id = $1',
    [account?.id],
  );
  expect(rows).toEqual([{ subject: String(person.id) }]);

  // The login was given up, and taken by somebody else.
  const heir = somebody({ login: person.login });
  expect((await enter(heir)).status).toBe(303);
  expect((await accountOf(addressOf(heir)))?.id).not.toBe(account?.id);
});

test('the request has state and a PKCE challenge, the page names it, and its interface is asked as it demands', async () => {
  const browser = new Traveller();
  const url = new URL((await browser.get('/auth/idp1')).location ?? '');
  expect(url.origin + url.pathname).toBe(`${one.url}/login/oauth/authorize`);
  expect(url.searchParams.get('scope')).toBe('read:user user:email');
  expect(url.searchParams.get('code_challenge_method')).toBe('S256');
  for (const name of ['state', 'code_challenge'])
    expect(url.searchParams.get(name)?.length).toBeGreaterThanOrEqual(32);
  expect((await browser.page('/login')).text).toContain('Continue with GitHub');
  await enter(somebody());
  const { headers } = one.asked.findLast(({ path }) => path === `${api}/user`) ?? { headers: {} };
  expect(headers).toMatchObject({ 'user-agent': 'Switchboard', accept: 'application/vnd.github+json' });
});

test('at the address of another interface, where one is given', async () => {
  const browser = new Traveller();
  await browser.post('/auth/accept-tos', { terms: true });
  const person = somebody();
  expect((await browser.get(await callbackOf(browser, person, two))).status).toBe(303);
  expect(two.asked.some(({ path }) => path === `${api}/user/emails?per_page=100`)).toBe(true);
  expect(await accountOf(addressOf(person))).toBeDefined();
});

test('nobody new comes in without the terms, or by an address that is not verified or not the primary one', async () => {
  const browser = new Traveller();
  const person = somebody();
  const without = await browser.get(await callbackOf(browser, person));
  expect([without.status, without.json()['code']]).toEqual([403, 'tos_not_accepted']);
  const [email, other] = [newAddress(), newAddress()];
  const strangers = [
    [{ email, primary: true, verified: false }],
    [
      { email, primary: true, verified: false },
      { email: other, primary: false, verified: true },
    ],
    [{ email, primary: false, verified: true }],
    [],
  ];
  for (const emails of strangers) {
    const answer = await enter(somebody({ emails }));
    expect([emails, answer.status, answer.json()['code']]).toEqual([emails, 403, 'email_not_verified']);
    expect(answer.browser.cookie('svc_session')).toBeUndefined();
  }
  expect([await accountOf(email), await accountOf(other)]).toEqual([undefined, undefined]);
});

describe('what comes back opens nothing', () => {
  test('without a state, with another one, or with one that was used', async () => {
    const { browser, callback } = await journey();
    await refuse(
      browser,
      changed(callback, (query) => query.delete('state')),
    );
    await refuse(
      browser,
      changed(callback, (query) => query.set('state', 'A'.repeat(43))),
    );
    const kept = browser.cookie('svc_provider_state') ?? '';
    expect((await browser.get(callback)).status).toBe(303);
    const replay = new Traveller();
    replay.keep('svc_provider_state', kept);
    await refuse(replay, callback);
  });

  test('in a browser that did not begin it', async () => {
    await refuse(new Traveller(), (await journey()).callback);
  });

  test('at the callback of the other provider, or in its name', async () => {
    const { browser, callback } = await journey();
    await refuse(browser, callback.replace('/oauth/idp1/', '/oauth/idp2/'));
    const other = await journey();
    await refuse(
      other.browser,
      changed(other.callback, (query) => query.set('iss', two.url)),
    );
  });

  test('with no code, another one, a used one, or one that was made for another browser', async () => {
    const { browser, callback } = await journey();
    await refuse(
      browser,
      changed(callback, (query) => query.delete('code')),
    );
    const guess = await journey();
    await refuse(
      guess.browser,
      changed(guess.callback, (query) => query.set('code', 'A'.repeat(20))),
    );
    const [mine, theirs] = [await journey(), await journey()];
    const code = new URL(theirs.callback, base).searchParams.get('code') ?? '';
    // The verifier of this browser does not fit the challenge that the code was made for.
    await refuse(
      mine.browser,
      changed(mine.callback, (query) => query.set('code', code)),
    );
    const used = await journey();
    const spent = new URL(used.callback, base).searchParams.get('code') ?? '';
    expect((await used.browser.get(used.callback)).status).toBe(303);
    const again = await journey();
    await refuse(
      again.browser,
      changed(again.callback, (query) => query.set('code', spent)),
    );
  });

  test('when the person refused, the interface does, or the answer names nobody', async () => {
    const { browser, callback } = await journey();
    const denied = changed(callback, (query) => {
      query.delete('code');
      query.set('error', 'access_denied');
    });
    await refuse(browser, denied);
    for (const id of [undefined, null, 0, -1, 1.5, '7', { toString: 'x' }]) {
      const nobody = await journey(somebody({ id }));
      await refuse(nobody.browser, nobody.callback);
    }
    try {
      for (const emailsAnswer of [
        { status: 500, body: {} },
        { status: 404, body: { message: 'Not Found' } },
      ]) {
        one.emailsAnswer = emailsAnswer;
        const failed = await journey();
        await refuse(failed.browser, failed.callback);
      }
      one.emailsAnswer = { status: 200, body: { message: 'no list' } };
      expect((await enter(somebody())).json()['code']).toBe('email_not_verified');
    } finally {
      one.emailsAnswer = null;
    }
  });
});

test('an address that matches links nothing; who is signed in links it, and then it opens that account', async () => {
  const email = await registered(app);
  const person = somebody({ emails: [{ email, primary: true, verified: true }] });
  const refused = await enter(person);
  expect([refused.status, refused.json()['code']]).toEqual([409, 'email_taken']);
  const browser = new Traveller();
  expect((await browser.post('/auth/login', { email, password: goodPassword })).status).toBe(200);
  const given = { provider: 'idp1', current_password: goodPassword };
  const begun = await browser.post('/dashboard/settings/providers/link', given);
  const callback = await callbackFrom(String(begun.json()['url']), person);
  expect((await browser.get(callback)).location).toBe(
    '/dashboard/settings?saved=provider-linked#providers-heading',
  );
  expect((await enter(person)).status).toBe(303);
  const [row] = await app.database.query<{ user_id: number }>(
    'SELECT user_id FROM linked_identity WHERE issuer = $1 AND subject = $2',
    [one.url, String(person.id)],
  );
  expect(row?.user_id).toBe((await accountOf(email))?.id);
});

test('one number at two of them is two people', async () => {
  const person = somebody();
  await enter(person);
  const browser = new Traveller();
  await browser.post('/auth/accept-tos', { terms: true });
  const namesake = somebody({ id: person.id });
  expect((await browser.get(await callbackOf(browser, namesake, two))).status).toBe(303);
  expect((await accountOf(addressOf(namesake)))?.id).not.toBe((await accountOf(addressOf(person)))?.id);
});

test('its tokens are kept nowhere', async () => {
  await enter(somebody());
  const token = one.asked
    .findLast(({ path }) => path === `${api}/user`)
    ?.headers.authorization?.split(' ')[1];
  expect(token).toMatch(/^gho_/);
  expect(app.log.join('\n')).not.toContain(token);
});
