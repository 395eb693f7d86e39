import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { IdentityProvider, PersonProfile } from '#extension';
import { buildExtension, type ExtensionFolder } from '../../support/extension-folder';
import { type LdapRequest, LdapStandIn } from '../../support/ldap-stand-in';
import { until } from '../../support/until';
import {
  BASE,
  inaProfile,
  PASSWORD,
  directoryEntry,
  createProvider,
  resetDirectory,
  SERVICE_ACCOUNT,
  settingsFor,
} from './ldap-fixture';

const readFixture = (name: string): string =>
  readFileSync(join(__dirname, '../../fixtures/tls', name), 'utf8');
/** Self-signed certificate for 127.0.0.1 and localhost, trusted by no default store. */
const tls = { cert: readFixture('directory.cert.pem'), key: readFixture('directory.key.pem') };

let extension: ExtensionFolder;
let provider: IdentityProvider;
const directory = new LdapStandIn(BASE);
const encryptedDirectory = new LdapStandIn(BASE, tls);
beforeAll(async () => {
  extension = buildExtension('examples/extensions/ldap-sign-in');
  await directory.start();
  await encryptedDirectory.start();
  provider = await createProvider(extension, settingsFor(directory));
});
beforeEach(() => [directory, encryptedDirectory].forEach(resetDirectory));
afterEach(async () => {
  await until(
    () => directory.sockets.size + encryptedDirectory.sockets.size === 0,
    undefined,
    'every connection',
  );
  expect([...directory.faults, ...encryptedDirectory.faults]).toEqual([]);
  // No bind was sent without a password, which the stand-in would accept.
  expect(directory.binds.filter(({ password }) => password === '')).toEqual([]);
});
afterAll(async () => {
  await directory.stop();
  await encryptedDirectory.stop();
  extension.remove();
});

const authenticate = (
  name = 'ina',
  password = PASSWORD,
  by = provider,
  { signal } = new AbortController(),
): Promise<PersonProfile | null> => by.authenticate({ name, password }, signal);
const authenticateWith = async (given: Record<string, string>): Promise<PersonProfile | null> =>
  authenticate('ina', PASSWORD, await createProvider(extension, given));
/** Returns the text of the error, and checks that it contains no secret. */
async function failureOf(trying: Promise<unknown>): Promise<string> {
  const errorText: unknown = await trying.then(
    (value) => expect(value).toBe('a failure'),
    (error: Error) => `${error.name} ${error.message}`,
  );
  for (const secret of [PASSWORD, SERVICE_ACCOUNT.password]) expect(errorText).not.toContain(secret);
  return String(errorText);
}
const isUserBind = ({ operation, subject: about }: LdapRequest): boolean =>
  operation === 'bind' && about !== SERVICE_ACCOUNT.dn;

test('a user is searched with the service account and bound on a second connection', async () => {
  expect(await authenticate()).toEqual(inaProfile);
  expect(directory.searches).toEqual(['ina']);
  expect(directory.binds).toEqual([
    { ...SERVICE_ACCOUNT, connection: expect.any(Number) },
    { dn: `uid=ina,${BASE}`, password: PASSWORD, connection: directory.binds[0]!.connection + 1 },
  ]);
});

test('a wrong password, an unknown name and an ambiguous name return null', async () => {
  expect(await authenticate('ina', 'wrong')).toBeNull();
  expect(await authenticate('nobody')).toBeNull();
  const bindsBefore = directory.binds.length;
  directory.entries.push({ ...directoryEntry('ina', 3), dn: `uid=ina,ou=other,${BASE}` });
  expect(await authenticate()).toBeNull();
  directory.entries.push({ ...directoryEntry('ina', 4), dn: `uid=ina,ou=third,${BASE}` });
  expect(await authenticate()).toBeNull();
  expect(directory.binds.slice(bindsBefore).map(({ dn }) => dn)).toEqual([
    SERVICE_ACCOUNT.dn,
    SERVICE_ACCOUNT.dn,
  ]);
});

test.each(['', '\0', `${PASSWORD}\0`])(
  'the password %j is refused before any byte is sent',
  async (password) => {
    expect(await authenticate('ina', password)).toBeNull();
    expect(directory.binds).toEqual([]);
  },
);

test('an empty name is not searched, and an entry with an empty DN is not bound', async () => {
  expect(await authenticate('')).toBeNull();
  expect(directory.searches).toEqual([]);
  directory.entries[1]!.dn = '';
  await failureOf(authenticate());
  expect(directory.binds.map(({ dn }) => dn)).toEqual([SERVICE_ACCOUNT.dn]);
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
])('the name %j is escaped and matches only itself', async (name) => {
  expect(await authenticate(name)).toBeNull();
  directory.entries.push(directoryEntry(name, 5));
  expect(await authenticate(name)).toMatchObject({ subject: '597ae2f6-16a6-1027-98f4-000000000005' });
  expect(directory.searches).toEqual([name, name]);
});

test('an overlong name is refused before it is sent', async () => {
  expect(await failureOf(authenticate('a'.repeat(70_000)))).toContain('too large');
  expect(directory.searches).toEqual([]);
});

test('long-form lengths and a binary objectGUID are read as Active Directory sends them', async () => {
  directory.lengthBytes = 4;
  expect(await authenticateWith({ ...settingsFor(directory), subjectAttribute: 'objectGUID' })).toEqual({
    ...inaProfile,
    subject: '00112233-4455-6677-8899-aabbccddeeff',
  });
});

test('a display name and an email address are optional, and a subject is required', async () => {
  directory.entries.push(
    directoryEntry('cleo', 6, { displayName: [], mail: ['A@acme.example', 'b@acme.example'] }),
  );
  expect(await authenticate('bert')).toMatchObject({ email: null, emailVerified: false });
  expect(await authenticate('cleo')).toMatchObject({ email: 'A@acme.example', displayName: 'Roth' });
  directory.entries[1]!.attributes['entryUUID'] = [];
  expect(await failureOf(authenticate())).toContain('entryUUID');
  directory.entries[1]!.attributes['entryUUID'] = ['a', 'b'];
  expect(await failureOf(authenticate())).toContain('entryUUID');
});

test('the search is anonymous without a service account', async () => {
  directory.reader = null;
  expect(await authenticateWith({ url: directory.url, base: BASE })).toEqual(inaProfile);
  expect(directory.binds).toHaveLength(1);
});

test('responses can be split at any byte', async () => {
  let maxSize = 0;
  directory.cuts = (size) => {
    maxSize = Math.max(maxSize, size);
    return Array.from({ length: size - 1 }, (_, place) => place + 1);
  };
  expect(await authenticate()).toEqual(inaProfile);
  for (let at = 1; at < maxSize; at += 1) {
    directory.cuts = (size) => (at < size ? [at] : []);
    expect(await authenticate()).toEqual(inaProfile);
  }
});

describe('Errors instead of a verdict', () => {
  test('throws when the directory is down', async () => {
    const url = 'ldap://127.0.0.1:9';
    expect(await failureOf(authenticateWith({ ...settingsFor(directory), url }))).toContain('ECONNREFUSED');
  });

  test('throws when the service account is refused or has no read access', async () => {
    expect(
      await failureOf(authenticateWith({ ...settingsFor(directory), bindPassword: 'old secret' })),
    ).toContain('49');
    directory.reader = 'somebody else';
    expect(await failureOf(authenticate())).toContain('50');
    expect(await failureOf(authenticateWith({ ...settingsFor(directory), base: 'ou=none' }))).toContain('50');
    directory.reader = null;
    expect(await failureOf(authenticateWith({ ...settingsFor(directory), base: 'ou=none' }))).toContain('32');
  });

  test.each([1, 2, 3, 8, 10, 13, 14, 32, 48, 50, 51, 52, 53, 80, 127])(
    'throws when a bind or a search ends with result code %i',
    async (code) => {
      for (const operation of ['bind', 'search'] as const) {
        directory.behaviour = (asked, bytes) => {
          if (asked.operation !== operation || asked.subject === SERVICE_ACCOUNT.dn) return { bytes };
          const referral = directory.write(
            0xa3,
            directory.write(0x04, Buffer.from(`ldap://127.0.0.1:9/${BASE}`)),
          );
          const referrals = code === 10 ? [referral] : [];
          const result = directory.result(operation === 'bind' ? 0x61 : 0x65, code, ...referrals);
          return { bytes: directory.message(asked.id, result) };
        };
        expect(await failureOf(authenticate())).toContain(` ${code}`);
      }
    },
  );

  test('throws at the deadline when the directory does not respond to any one request', async () => {
    const matchers: ((asked: LdapRequest) => boolean)[] = [
      ({ subject: about }) => about === SERVICE_ACCOUNT.dn,
      ({ operation }) => operation === 'search',
      isUserBind,
    ];
    for (const isSilent of matchers) {
      const deadline = new AbortController();
      directory.behaviour = (asked, bytes) => {
        if (!isSilent(asked)) return { bytes };
        setImmediate(() => deadline.abort());
        return { bytes: Buffer.alloc(0) };
      };
      expect(await failureOf(authenticate('ina', PASSWORD, provider, deadline))).toContain('AbortError');
    }
    const expired = new AbortController();
    expired.abort();
    await failureOf(authenticate('ina', PASSWORD, provider, expired));
  });

  test('throws when a response ends early at any byte', async () => {
    for (const isTruncated of [({ operation }: LdapRequest) => operation === 'search', isUserBind]) {
      for (let at = 0, size = 1; at < size; at += 1) {
        directory.behaviour = (asked, bytes) => {
          if (!isTruncated(asked)) return { bytes };
          size = bytes.length;
          return { bytes: bytes.subarray(0, at), ends: true };
        };
        await failureOf(authenticate());
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
  ])('throws when a response %s', async (_, rubbish) => {
    for (const isReplaced of [({ operation }: LdapRequest) => operation === 'search', isUserBind]) {
      directory.behaviour = (asked, bytes) =>
        isReplaced(asked) ? { bytes: rubbish(bytes, asked.id) } : { bytes };
      // The connection fails immediately instead of waiting for its end.
      expect(await failureOf(authenticate())).toMatch(/the directory (sent|answered) /);
    }
  });

  test('returns no profile when any byte of a response is corrupted', async () => {
    for (let at = 0, size = 1; at < size; at += 1) {
      for (const corruptByte of [0x00, 0x7f, 0x80, 0xff]) {
        directory.behaviour = (asked, bytes) => {
          if (!isUserBind(asked)) return { bytes };
          size = bytes.length;
          const corrupted = Buffer.from(bytes);
          corrupted[at] = corruptByte;
          return { bytes: corrupted, ends: true };
        };
        const result = await authenticate('ina', 'wrong').catch((error: Error) => error);
        // Any byte is valid within the diagnostic text, and the result code itself can become success.
        if (!(result instanceof Error) && result !== null) expect([at, corruptByte]).toEqual([9, 0x00]);
      }
    }
  });

  test('throws when a response has endless entries or referrals', async () => {
    const referral = (id: number): Buffer =>
      directory.message(id, directory.write(0x73, directory.write(0x04, Buffer.from('ldap://127.0.0.1:9'))));
    const withReferrals = (asked: LdapRequest, bytes: Buffer, count: number) => ({
      bytes:
        asked.operation === 'search'
          ? Buffer.concat([...Array<Buffer>(count).fill(referral(asked.id)), bytes])
          : bytes,
    });
    directory.behaviour = (asked, bytes) => withReferrals(asked, bytes, 3);
    expect(await authenticate()).toEqual(inaProfile);
    directory.behaviour = (asked, bytes) => withReferrals(asked, bytes, 1_000);
    expect(await failureOf(authenticate())).toContain('no end');
  });
});

describe('An encrypted connection', () => {
  test('requires a trusted certificate', async () => {
    const settings = settingsFor(encryptedDirectory);
    expect(await authenticateWith({ ...settings, ca: tls.cert })).toEqual(inaProfile);
    expect(await failureOf(authenticateWith(settings))).toMatch(/self-signed|unable to verify/);
    const otherCertificate = readFixture('supplier.cert.pem');
    expect(await failureOf(authenticateWith({ ...settings, ca: otherCertificate }))).toMatch(
      /self-signed|unable to verify/,
    );
    expect(encryptedDirectory.binds).toHaveLength(2);
  });

  test('requires a certificate for the configured host name', async () => {
    const other = new LdapStandIn(BASE, {
      cert: readFixture('supplier.cert.pem'),
      key: readFixture('supplier.key.pem'),
    });
    await other.start();
    resetDirectory(other);
    try {
      const errorText = await failureOf(
        authenticateWith({ ...settingsFor(other), ca: readFixture('supplier.cert.pem') }),
      );
      expect(errorText).toContain("does not match certificate's altnames");
      expect(other.binds).toEqual([]);
    } finally {
      await other.stop();
    }
  });

  test('does not fall back to plain text when the directory has no TLS', async () => {
    const url = directory.url.replace('ldap:', 'ldaps:');
    await failureOf(authenticateWith({ ...settingsFor(directory), url, ca: tls.cert }));
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
  const errorText = await failureOf(createProvider(extension, { ...settingsFor(directory), ...given }));
  expect(errorText).toMatch(message);
});

test.each(['ldap://localhost', 'ldap://[::1]:1389', 'ldaps://directory.example', 'ldaps://[2001:db8::1]/'])(
  'the address %s is accepted',
  async (url) => {
    await expect(createProvider(extension, { ...settingsFor(directory), url })).resolves.toBeDefined();
  },
);

test('plain text to a remote directory must be allowed explicitly', async () => {
  const settings = { ...settingsFor(directory), url: 'ldap://directory.example', allowPlain: 'true' };
  await expect(createProvider(extension, settings)).resolves.toMatchObject({ name: 'staff' });
});
