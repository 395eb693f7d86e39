import type { TestApp } from '../../support/app';
import { addUser } from '../../support/users';
import { type BrowserResponse, Browser, startAccountFixture } from './account-fixture';

const EXTENSIONS = './test/fixtures/extensions/directory.cjs';
const PASSWORD = 'right horse';

let app: TestApp;
beforeAll(async () => {
  app = await startAccountFixture({ environment: { EXTENSIONS } });
});
afterAll(() => app.close());

const signInWithDirectory = (
  user_name: string,
  password = PASSWORD,
  more: Record<string, string> = { terms: 'on' },
): Promise<BrowserResponse> =>
  new Browser(app.url).submit('/auth/login', { provider: 'directory/acme', user_name, password, ...more });

const accounts = (): Promise<object[]> =>
  app.database.query(
    'SELECT u.email, u.role, l.issuer, l.subject FROM user_account u JOIN linked_identity l ON l.user_id = u.id',
  );

test('the sign-in page links to the form of a directory', async () => {
  const browser = new Browser(app.url);
  const page = await browser.page('/login?next=/dashboard/keys');
  expect(page.text).toContain('/login?with&#x3D;directory%2Facme&amp;next&#x3D;%2Fdashboard%2Fkeys');
  const form = await browser.page('/login?with=directory/acme');
  expect(form.text).toContain('Continue with Acme directory');
  // A text field, because a browser rejects a user name in an email field.
  expect(form.text).toMatch(/<input[^>]*name="user_name"/);
  expect(form.text).not.toMatch(/name="email"/);
  expect(form.text).toMatch(/name="provider" value="directory\/acme"/);
});

test('a first directory sign-in requires the terms and opens an account without a role', async () => {
  const refusal = await signInWithDirectory('ina', PASSWORD, {});
  expect(refusal.status).toBe(403);
  expect(refusal.text).toContain('Acme directory');
  expect(await accounts()).toEqual([]);
  const signInResponse = await signInWithDirectory('ina');
  expect([signInResponse.status, signInResponse.location]).toEqual([
    303,
    expect.stringMatching(/^\/dashboard/),
  ]);
  expect(await accounts()).toEqual([
    { email: 'ina@acme.example', role: 'user', issuer: 'extension:directory/acme', subject: 'u-1' },
  ]);
  expect((await signInWithDirectory('ina', PASSWORD, {})).status).toBe(303);
  expect(await accounts()).toHaveLength(1);
});

test('activity entry of an account that a directory opened has the address and the request id', async () => {
  const entries = await app.database.query(
    `SELECT a.address IS NOT NULL AS address, a.request_id IS NOT NULL AS request
       FROM activity a JOIN linked_identity l ON l.user_id = a.user_id WHERE a.action = 'account.registered'`,
  );
  expect(entries).toEqual([{ address: true, request: true }]);
});

test('a wrong password and an unknown name get the same refusal', async () => {
  const wrong = await signInWithDirectory('ina', 'wrong');
  const unknown = await signInWithDirectory('nobody', 'wrong');
  expect([wrong.status, unknown.status]).toEqual([401, 401]);
  const errorText = ({ text }: BrowserResponse): string =>
    text.replaceAll(/value="(?:ina|nobody)"/g, '').replaceAll(/nonce="[^"]*"/g, '');
  expect(errorText(wrong)).toBe(errorText(unknown));
});

test.each(['throws', 'unprintable', 'down', 'rubbish'])(
  'an unreachable directory (%s) returns 503 without judging the password',
  async (name) => {
    const answer = await signInWithDirectory(name);
    expect(answer.status).toBe(503);
    expect(answer.text).toContain('This cannot be checked at the moment.');
    expect(app.log.join('')).toContain('a directory could not be asked');
    expect(app.log.join('')).not.toContain(PASSWORD);
  },
);

test('an unverified email address opens no account', async () => {
  expect((await signInWithDirectory('bert')).status).toBe(403);
  expect(await accounts()).toHaveLength(1);
});

test('an email address of an existing account is never taken over', async () => {
  const id = await addUser(app, 'org_owner');
  await app.database.query("DELETE FROM linked_identity WHERE subject = 'u-1'");
  await app.database.query(
    "UPDATE user_account SET email = 'first@acme.example' WHERE email = 'ina@acme.example'",
  );
  await app.database.query("UPDATE user_account SET email = 'ina@acme.example' WHERE id = $1", [id]);
  const answer = await signInWithDirectory('ina');
  expect(answer.status).toBe(409);
  expect(await accounts()).toEqual([]);
});

test('an unknown directory, an empty name and a cross-site form are refused', async () => {
  const browser = new Browser(app.url);
  const form = { user_name: 'ina', password: PASSWORD };
  expect((await browser.submit('/auth/login', { ...form, provider: 'directory/none' })).status).toBe(404);
  expect((await signInWithDirectory(' ')).status).toBe(401);
  const crossSite = { 'sec-fetch-site': 'cross-site' };
  expect(
    (await browser.submit('/auth/login', { ...form, provider: 'directory/acme' }, crossSite)).status,
  ).toBe(403);
});

test('directory sign-ins are throttled like password sign-ins', async () => {
  const otherApp = await startAccountFixture({ environment: { EXTENSIONS, ACCOUNT_FREE_ATTEMPTS: '2' } });
  try {
    const attempt = (): Promise<BrowserResponse> =>
      new Browser(otherApp.url).post('/auth/login', {
        provider: 'directory/acme',
        user_name: 'INA',
        password: 'wrong',
      });
    const statuses = [];
    for (let count = 0; count < 4; count += 1) statuses.push((await attempt()).status);
    expect(statuses.slice(0, 2)).toEqual([401, 401]);
    expect(statuses.at(-1)).toBe(429);
  } finally {
    await otherApp.close();
  }
});

// "six free guesses per invisible variation of a name"
test('invisible variations of a name share its attempts', async () => {
  const otherApp = await startAccountFixture({ environment: { EXTENSIONS, ACCOUNT_FREE_ATTEMPTS: '5' } });
  try {
    // The form refuses meaningless invisible characters, and such a refusal does not count as a guess.
    const spellings = [
      'ina',
      'i\u200Bna',
      'INA',
      'i\u0301na',
      '\uFF49na',
      'i na',
      'ín\u00A0a',
      'İNA',
      'in\u030Aa',
    ];
    const statuses = [];
    for (const user_name of spellings)
      statuses.push(
        (
          await new Browser(otherApp.url).post('/auth/login', {
            provider: 'directory/acme',
            user_name,
            password: 'wrong',
          })
        ).status,
      );
    expect(statuses).toEqual([401, 422, 401, 401, 401, 401, 401, 429, 429]);
  } finally {
    await otherApp.close();
  }
});
