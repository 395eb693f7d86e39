import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { IdentityProvider, PersonProfile } from '#extension';
import { builtExtension, type ExtensionFolder } from '../../support/extension-folder';
import { type LdapRequest, LdapStandIn } from '../../support/ldap-stand-in';
import { until } from '../../support/until';
import { BASE, ina, PASSWORD, person, providerOf, reset, SERVICE, settingsFor } from './ldap-house';

const fixture = (name: string): string => readFileSync(join(__dirname, '../../fixtures/tls', name), 'utf8');
/** It is for 127.0.0.1 and localhost; nothing else trusts it. */
const tls = { cert: fixture('directory.cert.pem'), key: fixture('directory.key.pem') };

let extension: ExtensionFolder;
let provider: IdentityProvider;
const directory = new LdapStandIn(BASE);
const encrypted = new LdapStandIn(BASE, tls);
beforeAll(async () => {
  extension = builtExtension('examples/extensions/ldap-sign-in');
  await directory.start();
  await encrypted.start();
  provider = await providerOf(extension, settingsFor(directory));
});
beforeEach(() => [directory, encrypted].forEach(reset));
afterEach(async () => {
  await until(() => directory.sockets.size + encrypted.sockets.size === 0, undefined, 'every connection');
  expect([...directory.faults, ...encrypted.faults]).toEqual([]);
  // A stand-in would have said success.
  expect(directory.binds.filter(({ password }) => password === '')).toEqual([]);
});
afterAll(async () => {
  await directory.stop();
  await encrypted.stop();
  extension.remove();
});

const enter = (
  name = 'ina',
  password = PASSWORD,
  by = provider,
  { signal } = new AbortController(),
): Promise<PersonProfile | null> => by.authenticate({ name, password }, signal);
const entered = async (given: Record<string, string>): Promise<PersonProfile | null> =>
  enter('ina', PASSWORD, await providerOf(extension, given));
/** What it throws, which must not have a secret in it. */
async function failure(trying: Promise<unknown>): Promise<string> {
  const said: unknown = await trying.then(
    (value) => expect(value).toBe('a failure'),
    (error: Error) => `${error.name} ${error.message}`,
  );
  for (const secret of [PASSWORD, SERVICE.password]) expect(said).not.toContain(secret);
  return String(said);
}
const isPersonal = ({ operation, about }: LdapRequest): boolean =>
  operation === 'bind' && about !== SERVICE.dn;

test('a person is searched for by the account of the service, and bound on another connection', async () => {
  expect(await enter()).toEqual(ina);
  expect(directory.searches).toEqual(['ina']);
  expect(directory.binds).toEqual([
    { ...SERVICE, connection: expect.any(Number) },
    { dn: `uid=ina,${BASE}`, password: PASSWORD, connection: directory.binds[0]!.connection + 1 },
  ]);
});

test('a wrong password, an unknown name and a name of two people are nobody', async () => {
  expect(await enter('ina', 'wrong')).toBeNull();
  expect(await enter('nobody')).toBeNull();
  const before = directory.binds.length;
  directory.entries.push({ ...person('ina', 3), dn: `uid=ina,ou=other,${BASE}` });
  expect(await enter()).toBeNull();
  directory.entries.push({ ...person('ina', 4), dn: `uid=ina,ou=third,${BASE}` });
  expect(await enter()).toBeNull();
  expect(directory.binds.slice(before).map(({ dn }) => dn)).toEqual([SERVICE.dn, SERVICE.dn]);
});

test.each(['', '\0', `${PASSWORD}\0`])(
  'the password %j is refused before a byte is sent',
  async (password) => {
    expect(await enter('ina', password)).toBeNull();
    expect(directory.binds).toEqual([]);
  },
);

test('an empty name is nobody, and so is an entry without one', async () => {
  expect(await enter('')).toBeNull();
  expect(directory.searches).toEqual([]);
  directory.entries[1]!.dn = '';
  await failure(enter());
  expect(directory.binds.map(({ dn }) => dn)).toEqual([SERVICE.dn]);
});

test.each([
  '*',
  'i*',
  'ina)(uid=*',
  '(',
  '\\',
  '\\2a',
  'i\0na',
  '\0',
  'né 😀',
  ')(|(uid=*))',
  'a'.repeat(300),
])('the name %j is that name and no filter', async (name) => {
  expect(await enter(name)).toBeNull();
  directory.entries.push(person(name, 5));
  expect(await enter(name)).toMatchObject({ subject: '597ae2f6-16a6-1027-98f4-000000000005' });
  expect(directory.searches).toEqual([name, name]);
});

test('a name without end is sent to nobody', async () => {
  expect(await failure(enter('a'.repeat(70_000)))).toContain('too large');
  expect(directory.searches).toEqual([]);
});

test('lengths of four bytes and a subject of sixteen are read, as Active Directory writes them', async () => {
  directory.lengthBytes = 4;
  expect(await entered({ ...settingsFor(directory), subjectAttribute: 'objectGUID' })).toEqual({
    ...ina,
    subject: '00112233-4455-6677-8899-aabbccddeeff',
  });
});

test('an entry without a name for people or without an address is a person, and one without a subject none', async () => {
  directory.entries.push(person('cleo', 6, { displayName: [], mail: ['A@acme.example', 'b@acme.example'] }));
  expect(await enter('bert')).toMatchObject({ email: null, emailVerified: false });
  expect(await enter('cleo')).toMatchObject({ email: 'A@acme.example', displayName: 'Roth' });
  directory.entries[1]!.attributes['entryUUID'] = [];
  expect(await failure(enter())).toContain('entryUUID');
  directory.entries[1]!.attributes['entryUUID'] = ['a', 'b'];
  expect(await failure(enter())).toContain('entryUUID');
});

test('without an account the search is anonymous', async () => {
  directory.reader = null;
  expect(await entered({ url: directory.url, base: BASE })).toEqual(ina);
  expect(directory.binds).toHaveLength(1);
});

test('answers may come in pieces that end anywhere', async () => {
  let longest = 0;
  directory.cuts = (size) => {
    longest = Math.max(longest, size);
    return Array.from({ length: size - 1 }, (_, place) => place + 1);
  };
  expect(await enter()).toEqual(ina);
  for (let at = 1; at < longest; at += 1) {
    directory.cuts = (size) => (at < size ? [at] : []);
    expect(await enter()).toEqual(ina);
  }
});

describe('it cannot be told', () => {
  test('where the directory is down', async () => {
    const url = 'ldap://127.0.0.1:9';
    expect(await failure(entered({ ...settingsFor(directory), url }))).toContain('ECONNREFUSED');
  });

  test('where the account of the service is refused or may not read', async () => {
    expect(await failure(entered({ ...settingsFor(directory), bindPassword: 'old secret' }))).toContain('49');
    directory.reader = 'somebody else';
    expect(await failure(enter())).toContain('50');
    expect(await failure(entered({ ...settingsFor(directory), base: 'ou=none' }))).toContain('50');
    directory.reader = null;
    expect(await failure(entered({ ...settingsFor(directory), base: 'ou=none' }))).toContain('32');
  });

  test.each([1, 2, 3, 8, 10, 13, 14, 32, 48, 50, 51, 52, 53, 80, 127])(
    'where a bind or a search ends with result %i',
    async (code) => {
      for (const operation of ['bind', 'search'] as const) {
        directory.behaviour = (asked, bytes) => {
          if (asked.operation !== operation || asked.about === SERVICE.dn) return { bytes };
          const elsewhere = directory.write(
            0xa3,
            directory.write(0x04, Buffer.from(`ldap://127.0.0.1:9/${BASE}`)),
          );
          const more = code === 10 ? [elsewhere] : [];
          const result = directory.result(operation === 'bind' ? 0x61 : 0x65, code, ...more);
          return { bytes: directory.message(asked.id, result) };
        };
        expect(await failure(enter())).toContain(` ${code}`);
      }
    },
  );

  test('where the directory says nothing until the deadline, whatever it was asked', async () => {
    const isAsked: ((asked: LdapRequest) => boolean)[] = [
      ({ about }) => about === SERVICE.dn,
      ({ operation }) => operation === 'search',
      isPersonal,
    ];
    for (const isSilent of isAsked) {
      const deadline = new AbortController();
      directory.behaviour = (asked, bytes) => {
        if (!isSilent(asked)) return { bytes };
        setImmediate(() => deadline.abort());
        return { bytes: Buffer.alloc(0) };
      };
      expect(await failure(enter('ina', PASSWORD, provider, deadline))).toContain('AbortError');
    }
    const past = new AbortController();
    past.abort();
    await failure(enter('ina', PASSWORD, provider, past));
  });

  test('where an answer ends anywhere within', async () => {
    for (const isCut of [({ operation }: LdapRequest) => operation === 'search', isPersonal]) {
      for (let at = 0, size = 1; at < size; at += 1) {
        directory.behaviour = (asked, bytes) => {
          if (!isCut(asked)) return { bytes };
          size = bytes.length;
          return { bytes: bytes.subarray(0, at), ends: true };
        };
        await failure(enter());
      }
    }
  });

  const success = Buffer.from('61070a010004000400', 'hex');
  const inMessage = (hex: string): Buffer => directory.write(0x30, Buffer.from(hex, 'hex'));
  test.each<[string, (right: Buffer, id: number) => Buffer]>([
    ['is text', () => Buffer.from('HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n'.repeat(4))],
    ['is empty', () => inMessage('')],
    ['is only zeros', () => Buffer.alloc(64)],
    ['is as large as nothing is', () => Buffer.from('30847fffffff020101', 'hex')],
    ['is just too large', () => Buffer.from('308400010001020101', 'hex')],
    ['has a length without a number', () => Buffer.from('3080020101', 'hex')],
    ['has a length of five bytes', () => Buffer.from('30850000000000', 'hex')],
    ['has a tag of two bytes', () => Buffer.from('3f810100', 'hex')],
    ['is for another message', (_, id) => directory.message(id + 1, success)],
    ['is for the message before', (_, id) => directory.message(id - 1, success)],
    ['has no number', () => inMessage('020061070a010004000400')],
    ['has a number of nine bytes', () => inMessage('020900000000000000000161070a010004000400')],
    ['is the end of the session', () => directory.message(0, Buffer.from('78070a013404000400', 'hex'))],
    ['is for another operation', (_, id) => directory.message(id, Buffer.from('6f070a010004000400', 'hex'))],
    ['is a code and nothing else', (_, id) => directory.message(id, Buffer.from('61030a0100', 'hex'))],
    ['has no code', (_, id) => directory.message(id, Buffer.from('61020a00', 'hex'))],
    ['has a code that is a text', (_, id) => directory.message(id, Buffer.from('610704010004000400', 'hex'))],
    [
      'has a part longer than the whole',
      (_, id) => directory.message(id, Buffer.from('61070a7f0004000400', 'hex')),
    ],
    ['goes deep', () => Buffer.concat(Array.from({ length: 30_000 }, () => Buffer.from('3080', 'hex')))],
  ])('where an answer %s', async (_, rubbish) => {
    for (const isMeant of [({ operation }: LdapRequest) => operation === 'search', isPersonal]) {
      directory.behaviour = (asked, bytes) =>
        isMeant(asked) ? { bytes: rubbish(bytes, asked.id) } : { bytes };
      // No end of the connection was waited for.
      expect(await failure(enter())).toMatch(/the directory (sent|answered) /);
    }
  });

  test('where an answer has any byte wrong, nobody is somebody else', async () => {
    for (let at = 0, size = 1; at < size; at += 1) {
      for (const wrong of [0x00, 0x7f, 0x80, 0xff]) {
        directory.behaviour = (asked, bytes) => {
          if (!isPersonal(asked)) return { bytes };
          size = bytes.length;
          const changed = Buffer.from(bytes);
          changed[at] = wrong;
          return { bytes: changed, ends: true };
        };
        const result = await enter('ina', 'wrong').catch((error: Error) => error);
        // Within the text for people any byte is a text, and the code itself may become the one of success.
        if (!(result instanceof Error) && result !== null) expect([at, wrong]).toEqual([9, 0x00]);
      }
    }
  });

  test('where entries or hints at other directories have no end', async () => {
    const hint = (id: number): Buffer =>
      directory.message(id, directory.write(0x73, directory.write(0x04, Buffer.from('ldap://127.0.0.1:9'))));
    const hints = (asked: LdapRequest, bytes: Buffer, count: number) => ({
      bytes:
        asked.operation === 'search'
          ? Buffer.concat([...Array<Buffer>(count).fill(hint(asked.id)), bytes])
          : bytes,
    });
    directory.behaviour = (asked, bytes) => hints(asked, bytes, 3);
    expect(await enter()).toEqual(ina);
    directory.behaviour = (asked, bytes) => hints(asked, bytes, 1_000);
    expect(await failure(enter())).toContain('no end');
  });
});

describe('a connection that is encrypted', () => {
  test('needs a certificate that is trusted', async () => {
    const settings = settingsFor(encrypted);
    expect(await entered({ ...settings, ca: tls.cert })).toEqual(ina);
    expect(await failure(entered(settings))).toMatch(/self-signed|unable to verify/);
    const other = fixture('supplier.cert.pem');
    expect(await failure(entered({ ...settings, ca: other }))).toMatch(/self-signed|unable to verify/);
    expect(encrypted.binds).toHaveLength(2);
  });

  test('needs a certificate for the name that was set', async () => {
    const other = new LdapStandIn(BASE, {
      cert: fixture('supplier.cert.pem'),
      key: fixture('supplier.key.pem'),
    });
    await other.start();
    reset(other);
    try {
      const said = await failure(entered({ ...settingsFor(other), ca: fixture('supplier.cert.pem') }));
      expect(said).toContain("does not match certificate's altnames");
      expect(other.binds).toEqual([]);
    } finally {
      await other.stop();
    }
  });

  test('is not given up where the directory speaks none', async () => {
    const url = directory.url.replace('ldap:', 'ldaps:');
    await failure(entered({ ...settingsFor(directory), url, ca: tls.cert }));
    expect(directory.binds).toEqual([]);
    directory.faults.length = 0;
  });
});

test.each<[Record<string, string>, RegExp]>([
  [{ url: 'http://127.0.0.1' }, /"url".*expected ldaps/],
  [{ url: 'ldaps://' }, /"url"/],
  [{ url: 'ldaps://me@directory.example' }, /"url"/],
  [{ url: 'ldaps://directory.example/dc=acme?uid' }, /"url"/],
  [{ url: 'ldap://directory.example' }, /"allowPlain".*passwords/],
  [{ url: 'ldap://127.0.0.1.example.com' }, /"allowPlain"/],
  [{ url: 'ldap://directory.example', allowPlain: 'yes' }, /"allowPlain"/],
  [{ base: '' }, /"base"/],
  [{ nameAttribute: 'uid)(' }, /"nameAttribute"/],
  [{ subjectAttribute: 'uid' }, /"subjectAttribute".*entryUUID \| objectGUID/],
  [{ bindPassword: '' }, /"bindPassword"/],
  [{ bindDn: '' }, /"bindPassword"/],
  [{ ca: '/etc/ssl/ca.pem' }, /"ca".*PEM/],
])('the settings %j are refused', async (given, message) => {
  const said = await failure(providerOf(extension, { ...settingsFor(directory), ...given }));
  expect(said).toMatch(message);
});

test.each(['ldap://localhost', 'ldap://[::1]:1389', 'ldaps://directory.example', 'ldaps://[2001:db8::1]/'])(
  'the address %s is taken',
  async (url) => {
    await expect(providerOf(extension, { ...settingsFor(directory), url })).resolves.toBeDefined();
  },
);

test('without encryption elsewhere is a decision of the operator', async () => {
  const given = { ...settingsFor(directory), url: 'ldap://directory.example', allowPlain: 'true' };
  await expect(providerOf(extension, given)).resolves.toMatchObject({ name: 'staff' });
});
