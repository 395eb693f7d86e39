import type { TestApp } from '../../support/app';
import { Browser, startAccountHouse } from './account-house';

const EXTENSIONS = './test/fixtures/extensions/directory.cjs';
const rolesOf = (...pairs: readonly string[]): string =>
  pairs.map((pair) => `directory/acme:${pair}`).join(',');

let app: TestApp;
beforeAll(async () => {
  const EXTENSION_ROLES = rolesOf('staff=user', 'leads=org_admin', 'admins=platform_admin');
  app = await startAccountHouse({ environment: { EXTENSIONS, EXTENSION_ROLES } });
});
afterAll(() => app.close());

/** Gwen is in the groups that follow her password. */
const enter = async (...groups: readonly string[]): Promise<Browser> => {
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

test('groups mean roles at every sign-in; the highest counts, and none makes or unmakes the owner', async () => {
  const first = await enter('staff', 'admins', 'leads');
  expect(await role()).toBe('platform_admin');
  await enter('leads');
  expect(await role()).toBe('org_admin');
  // Sessions of the former role have ended.
  expect((await first.get('/api/legal/status')).json()['code']).toBe('invalid_session');
  await enter();
  expect(await role()).toBe('user');
  await app.database.query(
    "UPDATE user_account SET role = 'platform_owner' WHERE email = 'gwen@acme.example'",
  );
  await enter('staff');
  expect(await role()).toBe('platform_owner');
  const changes = await app.database.query<{ actor_label: string }>(
    "SELECT actor_label FROM activity WHERE action = 'user.role-changed' ORDER BY occurred_at, id",
  );
  expect(changes.map(({ actor_label }) => actor_label)).toEqual(Array(3).fill('extension:directory/acme'));
});

test('a directory names groups alone: a role in its answer, or groups that are no list, give none', async () => {
  await app.database.query("UPDATE user_account SET role = 'user' WHERE email = 'gwen@acme.example'");
  // Her profile says that she is a platform administrator, and her groups name a role.
  await enter('platform_admin');
  expect(await role()).toBe('user');
  const form = { provider: 'directory/acme', user_name: 'groups', password: 'right horse' };
  expect((await new Browser(app.url).post('/auth/login', form)).status).toBe(503);
});

test('groups of a directory that no setting names decide nothing', async () => {
  const other = await startAccountHouse({ environment: { EXTENSIONS } });
  try {
    const browser = new Browser(other.url);
    const form = { provider: 'directory/acme', user_name: 'gwen', terms: 'on' };
    const enterAs = (groups: string) =>
      browser.post('/auth/login', { ...form, password: `right horse:${groups}` });
    expect((await enterAs('admins')).status).toBe(200);
    await other.database.query("UPDATE user_account SET role = 'org_admin'");
    expect((await enterAs('admins')).status).toBe(200);
    expect(await other.database.query("SELECT 1 FROM user_account WHERE role <> 'org_admin'")).toEqual([]);
  } finally {
    await other.close();
  }
});

test('a mapping for a directory that nobody brings refuses the start', async () => {
  const environment = { EXTENSIONS, EXTENSION_ROLES: 'directory/acne:admins=platform_admin' };
  await expect(startAccountHouse({ environment })).rejects.toThrow(
    'EXTENSION_ROLES: no extension brings directory/acne',
  );
});
