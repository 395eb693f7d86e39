import type { TestApp } from '../../support/app';
import { addUser } from '../../support/people';
import { type Answer, Browser, startAccountHouse } from './account-house';

const EXTENSIONS = './test/fixtures/extensions/directory.cjs';
const PASSWORD = 'right horse';

let app: TestApp;
beforeAll(async () => {
  app = await startAccountHouse({ environment: { EXTENSIONS } });
});
afterAll(() => app.close());

const enter = (
  user_name: string,
  password = PASSWORD,
  more: Record<string, string> = { terms: 'on' },
): Promise<Answer> =>
  new Browser(app.url).submit('/auth/login', { provider: 'directory/acme', user_name, password, ...more });

const accounts = (): Promise<object[]> =>
  app.database.query(
    'SELECT u.email, u.role, l.issuer, l.subject FROM user_account u JOIN linked_identity l ON l.user_id = u.id',
  );

test('the sign-in page leads to the form of a directory', async () => {
  const browser = new Browser(app.url);
  const page = await browser.page('/login?next=/dashboard/keys');
  expect(page.text).toContain('/login?with&#x3D;directory%2Facme&amp;next&#x3D;%2Fdashboard%2Fkeys');
  const form = await browser.page('/login?with=directory/acme');
  expect(form.text).toContain('Continue with Acme directory');
  // A browser would not send a name to a field that takes addresses.
  expect(form.text).toMatch(/<input[^>]*name="user_name"/);
  expect(form.text).not.toMatch(/name="email"/);
  expect(form.text).toMatch(/name="provider" value="directory\/acme"/);
});

test('a first sign-in needs the terms, and opens an account of no rank', async () => {
  const refused = await enter('ina', PASSWORD, {});
  expect(refused.status).toBe(403);
  expect(refused.text).toContain('Acme directory');
  expect(await accounts()).toEqual([]);
  const entered = await enter('ina');
  expect([entered.status, entered.location]).toEqual([303, expect.stringMatching(/^\/dashboard/)]);
  expect(await accounts()).toEqual([
    { email: 'ina@acme.example', role: 'user', issuer: 'extension:directory/acme', subject: 'u-1' },
  ]);
  expect((await enter('ina', PASSWORD, {})).status).toBe(303);
  expect(await accounts()).toHaveLength(1);
});

test('the entry of an account that a directory opened has the address and the request', async () => {
  const entries = await app.database.query(
    `SELECT a.address IS NOT NULL AS address, a.request_id IS NOT NULL AS request
       FROM activity a JOIN linked_identity l ON l.user_id = a.user_id WHERE a.action = 'account.registered'`,
  );
  expect(entries).toEqual([{ address: true, request: true }]);
});

test('a wrong password and an unknown name are one refusal', async () => {
  const wrong = await enter('ina', 'wrong');
  const unknown = await enter('nobody', 'wrong');
  expect([wrong.status, unknown.status]).toEqual([401, 401]);
  const said = ({ text }: Answer): string =>
    text.replaceAll(/value="(?:ina|nobody)"/g, '').replaceAll(/nonce="[^"]*"/g, '');
  expect(said(wrong)).toBe(said(unknown));
});

test.each(['throws', 'unprintable', 'down', 'rubbish'])(
  'a directory that cannot be asked (%s) says nothing of the password',
  async (name) => {
    const answer = await enter(name);
    expect(answer.status).toBe(503);
    expect(answer.text).toContain('This cannot be checked at the moment.');
    expect(app.log.join('')).toContain('a directory could not be asked');
    expect(app.log.join('')).not.toContain(PASSWORD);
  },
);

test('an address that nobody vouches for opens no account', async () => {
  expect((await enter('bert')).status).toBe(403);
  expect(await accounts()).toHaveLength(1);
});

test('an address that has an account already is never taken over', async () => {
  const id = await addUser(app, 'org_owner');
  await app.database.query("DELETE FROM linked_identity WHERE subject = 'u-1'");
  await app.database.query(
    "UPDATE user_account SET email = 'first@acme.example' WHERE email = 'ina@acme.example'",
  );
  await app.database.query("UPDATE user_account SET email = 'ina@acme.example' WHERE id = $1", [id]);
  const answer = await enter('ina');
  expect(answer.status).toBe(409);
  expect(await accounts()).toEqual([]);
});

test('an unknown directory, an empty name and a form of another site are refused', async () => {
  const browser = new Browser(app.url);
  const form = { user_name: 'ina', password: PASSWORD };
  expect((await browser.submit('/auth/login', { ...form, provider: 'directory/none' })).status).toBe(404);
  expect((await enter(' ')).status).toBe(401);
  const other = { 'sec-fetch-site': 'cross-site' };
  expect((await browser.submit('/auth/login', { ...form, provider: 'directory/acme' }, other)).status).toBe(
    403,
  );
});

test('attempts are counted as those of passwords are', async () => {
  const other = await startAccountHouse({ environment: { EXTENSIONS, ACCOUNT_FREE_ATTEMPTS: '2' } });
  try {
    const attempt = (): Promise<Answer> =>
      new Browser(other.url).post('/auth/login', {
        provider: 'directory/acme',
        user_name: 'INA',
        password: 'wrong',
      });
    const statuses = [];
    for (let count = 0; count < 4; count += 1) statuses.push((await attempt()).status);
    expect(statuses.slice(0, 2)).toEqual([401, 401]);
    expect(statuses.at(-1)).toBe(429);
  } finally {
    await other.close();
  }
});

// "six free guesses per invisible variation of a name"
test('invisible variations of a name share its attempts', async () => {
  const other = await startAccountHouse({ environment: { EXTENSIONS, ACCOUNT_FREE_ATTEMPTS: '5' } });
  try {
    // The form refuses invisible characters that could stand for nothing; a refusal is no guess.
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
          await new Browser(other.url).post('/auth/login', {
            provider: 'directory/acme',
            user_name,
            password: 'wrong',
          })
        ).status,
      );
    expect(statuses).toEqual([401, 422, 401, 401, 401, 401, 401, 429, 429]);
  } finally {
    await other.close();
  }
});
