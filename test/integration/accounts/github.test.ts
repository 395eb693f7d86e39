import type { TestApp } from '../../support/app';
import { githubClient, type GithubUser, GithubStandIn } from '../../support/github-stand-in';
import {
  type BrowserResponse,
  Browser,
  goodPassword,
  newAddress,
  registerUser,
  startAccountFixture,
} from './account-fixture';

const base = 'http://portal.localhost';
const api = '/api/v3';
let app: TestApp;
let githubOne: GithubStandIn;
let githubTwo: GithubStandIn;

beforeAll(async () => {
  const callbacks = ['idp1', 'idp2'].map((slot) => `${base}/oauth/${slot}/login/callback/`);
  [githubOne, githubTwo] = await Promise.all([
    GithubStandIn.start(callbacks),
    GithubStandIn.start(callbacks),
  ]);
  const providerEnvironment = (slot: string, { url }: GithubStandIn) => ({
    [`${slot}_KIND`]: 'github',
    [`${slot}_ISSUER`]: url,
    [`${slot}_CLIENT_ID`]: githubClient.id,
    [`${slot}_CLIENT_SECRET`]: githubClient.secret,
  });
  app = await startAccountFixture({
    environment: {
      BASE_URL: base,
      ...providerEnvironment('IDP1', githubOne),
      ...providerEnvironment('IDP2', githubTwo),
      IDP2_API_URL: `${githubTwo.url}${api}/`,
    },
  });
});
afterAll(async () => {
  await app.close();
  await Promise.all([githubOne.close(), githubTwo.close()]);
});

class PortalBrowser extends Browser {
  constructor() {
    super(app.url, { host: new URL(base).host });
  }
}

let count = 0;
function newPerson(attributes: Partial<GithubUser> = {}): GithubUser {
  count += 1;
  return {
    id: 1_000 + count,
    login: `octocat-${count}`,
    name: 'Mona Lisa',
    emails: [
      { email: newAddress(), primary: false, verified: true },
      { email: newAddress(), primary: true, verified: true },
    ],
    ...attributes,
  };
}

const addressOf = ({ emails }: GithubUser): string => emails.find(({ primary }) => primary)?.email ?? '';

/** Signs in at GitHub and returns the callback path to which GitHub redirects. */
async function callbackOf(browser: Browser, person: GithubUser, github = githubOne): Promise<string> {
  const slot = github === githubOne ? 'idp1' : 'idp2';
  const { location } = await browser.get(`/auth/${slot}`);
  return callbackFrom(location ?? '', person, github);
}

async function callbackFrom(location: string, person: GithubUser, github = githubOne): Promise<string> {
  github.signedInUser = person;
  const answer = await fetch(location, { redirect: 'manual' });
  expect(answer.status).toBe(302);
  const back = new URL(answer.headers.get('location') ?? '');
  expect(back.origin).toBe(base);
  return back.pathname + back.search;
}

async function signInAtGithub(person = newPerson()): Promise<{ browser: PortalBrowser; callback: string }> {
  const browser = new PortalBrowser();
  await browser.post('/auth/accept-tos', { terms: true });
  return { browser, callback: await callbackOf(browser, person) };
}

async function signInWithGithub(
  person: GithubUser,
): Promise<BrowserResponse & { readonly browser: PortalBrowser }> {
  const { browser, callback } = await signInAtGithub(person);
  return { ...(await browser.get(callback)), browser };
}

const accountOf = async (email: string) => {
  const [row] = await app.database.query<{ id: number; display_name: string }>(
    'SELECT id, display_name FROM user_account WHERE email = $1',
    [email],
  );
  return row;
};

async function expectRefusal(browser: Browser, path: string): Promise<void> {
  const answer = await browser.get(path);
  const outcome = [path, answer.status, answer.json()['code'], browser.cookie('svc_session')];
  expect(outcome).toEqual([path, 400, 'invalid_request', undefined]);
}

const withChangedQuery = (callback: string, change: (query: URLSearchParams) => void): string => {
  const url = new URL(callback, base);
  change(url.searchParams);
  return url.pathname + url.search;
};

test('a first sign-in opens an account by the verified primary address, and later sign-ins match by GitHub id only', async () => {
  const person = newPerson();
  const { browser, callback } = await signInAtGithub(person);
  expect((await browser.get(callback)).status).toBe(303);
  const account = await accountOf(addressOf(person));
  expect(account?.display_name).toBe('Mona Lisa');
  expect((await browser.page('/dashboard/settings')).text).toContain(githubOne.url);

  const renamedPerson = { ...person, login: 'another-login', emails: newPerson().emails };
  expect((await signInWithGithub(renamedPerson)).status).toBe(303);
  expect(await accountOf(addressOf(renamedPerson))).toBeUndefined();
  const rows = await app.database.query<{ subject: string }>(
    'SELECT subject FROM linked_identity WHERE user_id = $1',
    [account?.id],
  );
  expect(rows).toEqual([{ subject: String(person.id) }]);

  // Another person has registered the abandoned login.
  const nextLoginHolder = newPerson({ login: person.login });
  expect((await signInWithGithub(nextLoginHolder)).status).toBe(303);
  expect((await accountOf(addressOf(nextLoginHolder)))?.id).not.toBe(account?.id);
});

test('the authorisation request has state and a PKCE challenge, and the GitHub API is called with the required headers', async () => {
  const browser = new PortalBrowser();
  const url = new URL((await browser.get('/auth/idp1')).location ?? '');
  expect(url.origin + url.pathname).toBe(`${githubOne.url}/login/oauth/authorize`);
  expect(url.searchParams.get('scope')).toBe('read:user user:email');
  expect(url.searchParams.get('code_challenge_method')).toBe('S256');
  for (const name of ['state', 'code_challenge'])
    expect(url.searchParams.get(name)?.length).toBeGreaterThanOrEqual(32);
  expect((await browser.page('/login')).text).toContain('Continue with GitHub');
  await signInWithGithub(newPerson());
  const { headers } = githubOne.requests.findLast(({ path }) => path === `${api}/user`) ?? { headers: {} };
  expect(headers).toMatchObject({ 'user-agent': 'Switchboard', accept: 'application/vnd.github+json' });
});

test('the API is called at the configured API URL', async () => {
  const browser = new PortalBrowser();
  await browser.post('/auth/accept-tos', { terms: true });
  const person = newPerson();
  expect((await browser.get(await callbackOf(browser, person, githubTwo))).status).toBe(303);
  expect(githubTwo.requests.some(({ path }) => path === `${api}/user/emails?per_page=100`)).toBe(true);
  expect(await accountOf(addressOf(person))).toBeDefined();
});

test('a new user needs accepted terms and a verified primary address', async () => {
  const browser = new PortalBrowser();
  const person = newPerson();
  const refusalWithoutTerms = await browser.get(await callbackOf(browser, person));
  expect([refusalWithoutTerms.status, refusalWithoutTerms.json()['code']]).toEqual([403, 'tos_not_accepted']);
  const [email, other] = [newAddress(), newAddress()];
  const unusableEmails = [
    [{ email, primary: true, verified: false }],
    [
      { email, primary: true, verified: false },
      { email: other, primary: false, verified: true },
    ],
    [{ email, primary: false, verified: true }],
    [],
  ];
  for (const emails of unusableEmails) {
    const answer = await signInWithGithub(newPerson({ emails }));
    expect([emails, answer.status, answer.json()['code']]).toEqual([emails, 403, 'email_not_verified']);
    expect(answer.browser.cookie('svc_session')).toBeUndefined();
  }
  expect([await accountOf(email), await accountOf(other)]).toEqual([undefined, undefined]);
});

describe('Refused GitHub callbacks', () => {
  test('refuses a missing, wrong or used state', async () => {
    const { browser, callback } = await signInAtGithub();
    await expectRefusal(
      browser,
      withChangedQuery(callback, (query) => query.delete('state')),
    );
    await expectRefusal(
      browser,
      withChangedQuery(callback, (query) => query.set('state', 'A'.repeat(43))),
    );
    const stateCookie = browser.cookie('svc_provider_state') ?? '';
    expect((await browser.get(callback)).status).toBe(303);
    const replayBrowser = new PortalBrowser();
    replayBrowser.setCookie('svc_provider_state', stateCookie);
    await expectRefusal(replayBrowser, callback);
  });

  test('refuses a browser that did not start the sign-in', async () => {
    await expectRefusal(new PortalBrowser(), (await signInAtGithub()).callback);
  });

  test('refuses the callback path or the issuer of the other provider', async () => {
    const { browser, callback } = await signInAtGithub();
    await expectRefusal(browser, callback.replace('/oauth/idp1/', '/oauth/idp2/'));
    const otherJourney = await signInAtGithub();
    await expectRefusal(
      otherJourney.browser,
      withChangedQuery(otherJourney.callback, (query) => query.set('iss', githubTwo.url)),
    );
  });

  test('refuses a missing, wrong or used code and a code issued to another browser', async () => {
    const { browser, callback } = await signInAtGithub();
    await expectRefusal(
      browser,
      withChangedQuery(callback, (query) => query.delete('code')),
    );
    const wrongCode = await signInAtGithub();
    await expectRefusal(
      wrongCode.browser,
      withChangedQuery(wrongCode.callback, (query) => query.set('code', 'A'.repeat(20))),
    );
    const [mine, theirs] = [await signInAtGithub(), await signInAtGithub()];
    const code = new URL(theirs.callback, base).searchParams.get('code') ?? '';
    // The verifier of this browser does not match the PKCE challenge for which the code was issued.
    await expectRefusal(
      mine.browser,
      withChangedQuery(mine.callback, (query) => query.set('code', code)),
    );
    const usedJourney = await signInAtGithub();
    const usedCode = new URL(usedJourney.callback, base).searchParams.get('code') ?? '';
    expect((await usedJourney.browser.get(usedJourney.callback)).status).toBe(303);
    const nextJourney = await signInAtGithub();
    await expectRefusal(
      nextJourney.browser,
      withChangedQuery(nextJourney.callback, (query) => query.set('code', usedCode)),
    );
  });

  test('refuses when the user denies access, the API fails or its response has no user id', async () => {
    const { browser, callback } = await signInAtGithub();
    const deniedCallback = withChangedQuery(callback, (query) => {
      query.delete('code');
      query.set('error', 'access_denied');
    });
    await expectRefusal(browser, deniedCallback);
    for (const id of [undefined, null, 0, -1, 1.5, '7', { toString: 'x' }]) {
      const unidentified = await signInAtGithub(newPerson({ id }));
      await expectRefusal(unidentified.browser, unidentified.callback);
    }
    try {
      for (const emailsAnswer of [
        { status: 500, body: {} },
        { status: 404, body: { message: 'Not Found' } },
      ]) {
        githubOne.emailsResponse = emailsAnswer;
        const failedJourney = await signInAtGithub();
        await expectRefusal(failedJourney.browser, failedJourney.callback);
      }
      githubOne.emailsResponse = { status: 200, body: { message: 'no list' } };
      expect((await signInWithGithub(newPerson())).json()['code']).toBe('email_not_verified');
    } finally {
      githubOne.emailsResponse = null;
    }
  });
});

test('a matching address alone links nothing; a signed-in user can link GitHub and then sign in with it', async () => {
  const email = await registerUser(app);
  const person = newPerson({ emails: [{ email, primary: true, verified: true }] });
  const refusal = await signInWithGithub(person);
  expect([refusal.status, refusal.json()['code']]).toEqual([409, 'email_taken']);
  const browser = new PortalBrowser();
  expect((await browser.post('/auth/login', { email, password: goodPassword })).status).toBe(200);
  const linkForm = { provider: 'idp1', current_password: goodPassword };
  const linkResponse = await browser.post('/dashboard/settings/providers/link', linkForm);
  const callback = await callbackFrom(String(linkResponse.json()['url']), person);
  expect((await browser.get(callback)).location).toBe(
    '/dashboard/settings?saved=provider-linked#providers-heading',
  );
  expect((await signInWithGithub(person)).status).toBe(303);
  const [row] = await app.database.query<{ user_id: number }>(
    'SELECT user_id FROM linked_identity WHERE issuer = $1 AND subject = $2',
    [githubOne.url, String(person.id)],
  );
  expect(row?.user_id).toBe((await accountOf(email))?.id);
});

test('the same user number at two GitHub servers identifies two users', async () => {
  const person = newPerson();
  await signInWithGithub(person);
  const browser = new PortalBrowser();
  await browser.post('/auth/accept-tos', { terms: true });
  const namesake = newPerson({ id: person.id });
  expect((await browser.get(await callbackOf(browser, namesake, githubTwo))).status).toBe(303);
  expect((await accountOf(addressOf(namesake)))?.id).not.toBe((await accountOf(addressOf(person)))?.id);
});

test('GitHub tokens are not stored', async () => {
  await signInWithGithub(newPerson());
  const token = githubOne.requests
    .findLast(({ path }) => path === `${api}/user`)
    ?.headers.authorization?.split(' ')[1];
  expect(token).toMatch(/^gho_/);
  expect(app.log.join('\n')).not.toContain(token);
});
