import type { TestApp } from '../../support/app';
import { Browser, startAccountFixture } from './account-fixture';

const EXTENSIONS = './test/fixtures/extensions/directory.cjs';
const rolesOf = (...pairs: readonly string[]): string =>
  pairs.map((pair) => `directory/acme:${pair}`).join(',');

let app: TestApp;
beforeAll(async () => {
  const EXTENSION_ROLES = rolesOf('staff=user', 'leads=org_admin', 'admins=platform_admin');
  app = await startAccountFixture({ environment: { EXTENSIONS, EXTENSION_ROLES } });
});
afterAll(() => app.close());

/** Signs Gwen in; the directory fixture reads her groups from the password. */
const signInWithGroups = async (...groups: readonly string[]): Promise<Browser> => {
  const browser = new Browser(app.url);
  const password = `right horse:${groups.join(',')}`;
  const form = { provider: 'directory/acme', user_name: 'gwen', password, terms: 'on' };
  expect((await browser.submit('/auth/login', form)).status).toBe(303);
  return browser;
};

const role = async (): Promise<string | undefined> => {
  const rows = await app.database.query<{ role: string }>(
    "SELECT role FROM user_account WHERE email = 'gwen@acme.example'",
  );
  return rows[0]?.role;
};

test('groups set the role at every sign-in: the highest wins, and none grants or removes ownership', async () => {
  const first = await signInWithGroups('staff', 'admins', 'leads');
  expect(await role()).toBe('platform_admin');
  await signInWithGroups('leads');
  expect(await role()).toBe('org_admin');
  // The role change has ended existing sessions.
  expect((await first.get('/api/legal/status')).json()['code']).toBe('invalid_session');
  await signInWithGroups();
  expect(await role()).toBe('user');
  await app.database.query(
    "UPDATE user_account SET role = 'platform_owner' WHERE email = 'gwen@acme.example'",
  );
  await signInWithGroups('staff');
  expect(await role()).toBe('platform_owner');
  const changes = await app.database.query<{ actor_label: string }>(
    "SELECT actor_label FROM activity WHERE action = 'user.role-changed' ORDER BY occurred_at, id",
  );
  expect(changes.map(({ actor_label }) => actor_label)).toEqual(Array(3).fill('extension:directory/acme'));
});

test('a directory sets roles through groups only: a role in its response or a malformed group list is ignored', async () => {
  await app.database.query("UPDATE user_account SET role = 'user' WHERE email = 'gwen@acme.example'");
  // Her profile claims to be a platform administrator, and her groups contain a role name.
  await signInWithGroups('platform_admin');
  expect(await role()).toBe('user');
  const form = { provider: 'directory/acme', user_name: 'groups', password: 'right horse' };
  expect((await new Browser(app.url).post('/auth/login', form)).status).toBe(503);
});

test('groups without a configured mapping are ignored', async () => {
  const otherApp = await startAccountFixture({ environment: { EXTENSIONS } });
  try {
    const browser = new Browser(otherApp.url);
    const form = { provider: 'directory/acme', user_name: 'gwen', terms: 'on' };
    const signInWithGroup = (groups: string) =>
      browser.post('/auth/login', { ...form, password: `right horse:${groups}` });
    expect((await signInWithGroup('admins')).status).toBe(200);
    await otherApp.database.query("UPDATE user_account SET role = 'org_admin'");
    expect((await signInWithGroup('admins')).status).toBe(200);
    expect(await otherApp.database.query("SELECT 1 FROM user_account WHERE role <> 'org_admin'")).toEqual([]);
  } finally {
    await otherApp.close();
  }
});

test('a mapping for a directory that no extension provides prevents the start', async () => {
  const environment = { EXTENSIONS, EXTENSION_ROLES: 'directory/acne:admins=platform_admin' };
  await expect(startAccountFixture({ environment })).rejects.toThrow(
    'EXTENSION_ROLES: no extension brings directory/acne',
  );
});
