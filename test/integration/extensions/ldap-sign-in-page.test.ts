import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestApp } from '../../support/app';
import { builtExtension, type ExtensionFolder } from '../../support/extension-folder';
import { LdapStandIn } from '../../support/ldap-stand-in';
import { type Answer, Browser, startAccountHouse } from '../accounts/account-house';
import { BASE, ina, PASSWORD, reset, SERVICE } from './ldap-house';

let app: TestApp;
let extension: ExtensionFolder;
const directory = new LdapStandIn(BASE);
beforeAll(async () => {
  await directory.start();
  extension = builtExtension('examples/extensions/ldap-sign-in');
  const secret = join(extension.path, 'bind-password');
  writeFileSync(secret, `${SERVICE.password}\n`);
  app = await startAccountHouse({
    environment: {
      EXTENSIONS: extension.path,
      EXT_LDAP_SIGN_IN_URL: directory.url,
      EXT_LDAP_SIGN_IN_BASE: BASE,
      EXT_LDAP_SIGN_IN_LABEL: 'Acme directory',
      EXT_LDAP_SIGN_IN_BIND_DN: SERVICE.dn,
      EXT_LDAP_SIGN_IN_BIND_PASSWORD_FILE: secret,
    },
  });
});
beforeEach(() => reset(directory));
afterEach(() => {
  expect(directory.faults).toEqual([]);
  for (const secret of [PASSWORD, SERVICE.password]) expect(app.log.join('')).not.toContain(secret);
});
afterAll(async () => {
  await app.close();
  await directory.stop();
  extension.remove();
});

const enter = (user_name: string, password = PASSWORD, more: Record<string, string> = {}): Promise<Answer> =>
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

test('a first sign-in opens an account, and later ones find it by what never changes', async () => {
  const form = await new Browser(app.url).page('/login?with=ldap-sign-in/staff');
  expect(form.text).toContain('Continue with Acme directory');
  expect((await enter('ina')).status).toBe(403);
  expect(await accounts()).toEqual([]);
  expect((await enter('ina', PASSWORD, { terms: 'on' })).status).toBe(303);
  const first = await accounts();
  expect(first).toEqual([
    {
      id: expect.any(Number),
      email: ina.email,
      role: 'user',
      issuer: 'extension:ldap-sign-in/staff',
      subject: ina.subject,
    },
  ]);
  Object.assign(directory.entries[1]!.attributes, { mail: ['new@acme.example'], uid: ['ina.roth'] });
  expect((await enter('ina.roth')).status).toBe(303);
  expect(await accounts()).toEqual(first);
});

test('a person without an address in the directory gets no account', async () => {
  expect((await enter('bert', PASSWORD, { terms: 'on' })).status).toBe(403);
  expect(await accounts()).toHaveLength(1);
});

test('a wrong password and an unknown name say the usual refusal', async () => {
  for (const answer of [await enter('ina', 'wrong'), await enter('nobody'), await enter('*')]) {
    expect(answer.status).toBe(401);
    expect(answer.text).toContain('is not correct.');
  }
  // Without a password the directory would say success.
  expect((await enter('ina', '')).status).toBeGreaterThanOrEqual(400);
  expect(directory.binds.filter(({ password }) => password === '')).toEqual([]);
});

test('a directory that is down, or refuses to check, never says that a password is wrong', async () => {
  const isUnchecked = (answer: Answer): void => {
    expect(answer.status).toBe(503);
    expect(answer.text).toContain('This cannot be checked at the moment.');
    expect(answer.text).not.toContain('is not correct.');
  };
  directory.behaviour = (asked) => ({ bytes: directory.message(asked.id, directory.result(0x61, 51)) });
  isUnchecked(await enter('ina'));
  await directory.stop();
  isUnchecked(await enter('ina'));
  expect(app.log.join('')).toContain('a directory could not be asked');
  await directory.start();
  directory.behaviour = (_, bytes) => ({ bytes });
  expect((await enter('ina')).status).toBe(303);
});

test('settings with faults refuse the start, and show no secret', async () => {
  const environment = {
    EXTENSIONS: extension.path,
    EXT_LDAP_SIGN_IN_URL: 'ldap://directory.example',
    EXT_LDAP_SIGN_IN_BIND_PASSWORD: SERVICE.password,
  };
  const start = startAccountHouse({ environment });
  await expect(start).rejects.toThrow(/allowPlain: .*\n.*base: .*\n.*bindPassword: /);
  await expect(start).rejects.not.toThrow(SERVICE.password);
});
