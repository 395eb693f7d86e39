import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestApp } from '../../support/app';
import { buildExtension, type ExtensionFolder } from '../../support/extension-folder';
import { LdapStandIn } from '../../support/ldap-stand-in';
import { type BrowserResponse, Browser, startAccountFixture } from '../accounts/account-fixture';
import { BASE, inaProfile, PASSWORD, resetDirectory, SERVICE_ACCOUNT } from './ldap-fixture';

let app: TestApp;
let extension: ExtensionFolder;
const directory = new LdapStandIn(BASE);
beforeAll(async () => {
  await directory.start();
  extension = buildExtension('examples/extensions/ldap-sign-in');
  const secret = join(extension.path, 'bind-password');
  writeFileSync(secret, `${SERVICE_ACCOUNT.password}\n`);
  app = await startAccountFixture({
    environment: {
      EXTENSIONS: extension.path,
      EXT_LDAP_SIGN_IN_URL: directory.url,
      EXT_LDAP_SIGN_IN_BASE: BASE,
      EXT_LDAP_SIGN_IN_LABEL: 'Acme directory',
      EXT_LDAP_SIGN_IN_BIND_DN: SERVICE_ACCOUNT.dn,
      EXT_LDAP_SIGN_IN_BIND_PASSWORD_FILE: secret,
    },
  });
});
beforeEach(() => resetDirectory(directory));
afterEach(() => {
  expect(directory.faults).toEqual([]);
  for (const secret of [PASSWORD, SERVICE_ACCOUNT.password]) expect(app.log.join('')).not.toContain(secret);
});
afterAll(async () => {
  await app.close();
  await directory.stop();
  extension.remove();
});

const signInAs = (
  user_name: string,
  password = PASSWORD,
  more: Record<string, string> = {},
): Promise<BrowserResponse> =>
  new Browser(app.url).submit('/auth/login', {
    provider: 'ldap-sign-in/staff',
    user_name,
    password,
    ...more,
  });
const accounts = (): Promise<object[]> =>
  app.database.query(
    'SELECT u.id, u.email, u.role, l.issuer, l.subject FROM user_account u JOIN linked_identity l ON l.user_id = u.id',
  );

test('a first sign-in opens an account, and later sign-ins find it by the unchanging identifier', async () => {
  const form = await new Browser(app.url).page('/login?with=ldap-sign-in/staff');
  expect(form.text).toContain('Continue with Acme directory');
  expect((await signInAs('ina')).status).toBe(403);
  expect(await accounts()).toEqual([]);
  expect((await signInAs('ina', PASSWORD, { terms: 'on' })).status).toBe(303);
  const first = await accounts();
  expect(first).toEqual([
    {
      id: expect.any(Number),
      email: inaProfile.email,
      role: 'user',
      issuer: 'extension:ldap-sign-in/staff',
      subject: inaProfile.subject,
    },
  ]);
  Object.assign(directory.entries[1]!.attributes, { mail: ['new@acme.example'], uid: ['ina.roth'] });
  expect((await signInAs('ina.roth')).status).toBe(303);
  expect(await accounts()).toEqual(first);
});

test('a user without an email address in the directory gets no account', async () => {
  expect((await signInAs('bert', PASSWORD, { terms: 'on' })).status).toBe(403);
  expect(await accounts()).toHaveLength(1);
});

test('a wrong password and an unknown name show the same error', async () => {
  for (const answer of [await signInAs('ina', 'wrong'), await signInAs('nobody'), await signInAs('*')]) {
    expect(answer.status).toBe(401);
    expect(answer.text).toContain('is not correct.');
  }
  // LDAP servers accept a bind without a password, so it must not be sent.
  expect((await signInAs('ina', '')).status).toBeGreaterThanOrEqual(400);
  expect(directory.binds.filter(({ password }) => password === '')).toEqual([]);
});

test('an unavailable directory returns 503 and does not reject the password', async () => {
  const expectUnavailable = (answer: BrowserResponse): void => {
    expect(answer.status).toBe(503);
    expect(answer.text).toContain('This cannot be checked at the moment.');
    expect(answer.text).not.toContain('is not correct.');
  };
  directory.behaviour = (asked) => ({ bytes: directory.message(asked.id, directory.result(0x61, 51)) });
  expectUnavailable(await signInAs('ina'));
  await directory.stop();
  expectUnavailable(await signInAs('ina'));
  expect(app.log.join('')).toContain('a directory could not be asked');
  await directory.start();
  directory.behaviour = (_, bytes) => ({ bytes });
  expect((await signInAs('ina')).status).toBe(303);
});

test('invalid settings prevent the start and reveal no secret', async () => {
  const environment = {
    EXTENSIONS: extension.path,
    EXT_LDAP_SIGN_IN_URL: 'ldap://directory.example',
    EXT_LDAP_SIGN_IN_BIND_PASSWORD: SERVICE_ACCOUNT.password,
  };
  const start = startAccountFixture({ environment });
  await expect(start).rejects.toThrow(/allowPlain: .*\n.*base: .*\n.*bindPassword: /);
  await expect(start).rejects.not.toThrow(SERVICE_ACCOUNT.password);
});
