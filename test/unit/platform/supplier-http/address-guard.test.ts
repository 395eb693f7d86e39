import fc from 'fast-check';
import type { AllowedNetwork } from '../../../../src/platform/config';
import { AddressGuard, AddressRefused } from '../../../../src/platform/supplier-http';
import { isGlobalUnicast } from '../../../../src/platform/supplier-http/address-ranges';

const loopback: AllowedNetwork = { address: '127.0.0.0', prefix: 8, family: 'ipv4' };
const strictGuard = new AddressGuard([], () => Promise.resolve(['93.184.215.14']));

const rejectedUrls: Record<string, string[]> = {
  'loopback, however it is written': [
    'https://127.0.0.1',
    'https://127.0.0.1/v1',
    'https://127.1',
    'https://127.0.1',
    'https://127.255.255.254',
    'https://0x7f.1',
    'https://0x7f000001',
    'https://0X7F.0.0.1',
    'https://2130706433',
    'https://017700000001',
    'https://0177.0.0.1',
    'https://0177.0.0.01',
    'https://127.0.0.0x1',
    'https://%31%32%37.0.0.1',
    'https://127%2e0%2e0%2e1',
    'https://127。0。0。1',
    'https://127．0．0．1',
    'https://１２７.0.0.1',
    'https://①②⑦.0.0.1',
    'https://127.0.0.1.',
    'https://[::1]',
    'https://[0:0:0:0:0:0:0:1]',
    'https://[0000::0001]',
    'https://[::ffff:127.0.0.1]',
    'https://[::ffff:7f00:1]',
    'https://[0:0:0:0:0:ffff:127.0.0.1]',
    'https://[::127.0.0.1]',
    'https://[::]',
    'https://0',
    'https://0.0.0.0',
    'https://0.1.2.3',
    'https://0x0',
  ],
  'private, local and shared networks': [
    'https://10.0.0.1',
    'https://10.255.255.255',
    'https://167772161',
    'https://172.16.0.1',
    'https://172.31.255.255',
    'https://192.168.0.1',
    'https://192.168.1.20:443',
    'https://0xc0a80001',
    'https://3232235521',
    'https://100.64.0.1',
    'https://100.100.100.200',
    'https://100.127.255.255',
    'https://[fc00::1]',
    'https://[fd00::1]',
    'https://[fd00:ec2::254]',
    'https://[fe80::1]',
    'https://[fe80::1%25eth0]',
    'https://[febf::1]',
    'https://[fec0::1]',
  ],
  'metadata services': [
    'https://169.254.169.254',
    'https://169.254.169.254/latest/meta-data/',
    'https://2852039166',
    'https://0xa9fea9fe',
    'https://0251.0376.0251.0376',
    'https://169.254.43518',
    'https://169.16689662',
    'https://[::ffff:169.254.169.254]',
    'https://[::ffff:a9fe:a9fe]',
    'https://169.254.170.2',
    'https://168.63.129.16',
    'https://192.0.0.192',
  ],
  'IPv4 inside IPv6': [
    'https://[64:ff9b::127.0.0.1]',
    'https://[64:ff9b::7f00:1]',
    'https://[64:ff9b::8.8.8.8]',
    'https://[64:ff9b:1::1]',
    'https://[2002:7f00:1::]',
    'https://[2002:7f00:1::1]',
    'https://[2002:a9fe:a9fe::1]',
    'https://[2001::1]',
    'https://[2001:0:4136:e378:8000:63bf:3fff:fdd2]',
    'https://[::ffff:8.8.8.8]',
    'https://[::ffff:0:127.0.0.1]',
  ],
  'reserved, documentation, benchmark and multicast addresses': [
    'https://192.0.2.1',
    'https://198.51.100.1',
    'https://203.0.113.1',
    'https://192.88.99.1',
    'https://198.18.0.1',
    'https://198.19.255.255',
    'https://224.0.0.1',
    'https://239.255.255.250',
    'https://240.0.0.1',
    'https://255.255.255.255',
    'https://[2001:db8::1]',
    'https://[3fff::1]',
    'https://[2001:10::1]',
    'https://[2001:20::1]',
    'https://[ff02::1]',
    'https://[100::1]',
    'https://[5f00::1]',
    'https://[4000::1]',
  ],
  'other protocols': [
    'file:///etc/passwd',
    'file://localhost/etc/passwd',
    'gopher://example.com:70/_x',
    'ftp://example.com',
    'dict://example.com:11211/stat',
    'ldap://example.com',
    'ws://example.com',
    'wss://example.com',
    'data:text/plain,hello',
    'javascript:alert(1)',
    'blob:https://example.com/x',
    'unix:/var/run/docker.sock',
    'jar:https://example.com!/',
    'http+unix://%2Fvar%2Frun',
    'http://api.example.com',
    'HTTP://api.example.com',
    '//api.example.com',
    'api.example.com',
    '/v1',
    '',
    'https:',
    'https://',
    'https:///path',
    'https:/api.example.com',
    'https:api.example.com',
    'https:\\\\api.example.com',
  ],
  'credentials, fragments and queries': [
    'https://user@api.example.com',
    'https://user:word@api.example.com',
    'https://:word@api.example.com',
    'https://@api.example.com',
    'https://api.example.com@127.0.0.1',
    'https://api.example.com:443@127.0.0.1/',
    'https://127.0.0.1@api.example.com',
    'https://api.example.com%40127.0.0.1',
    'https://api.example.com#@127.0.0.1',
    'https://api.example.com#fragment',
    'https://api.example.com#',
    'https://127.0.0.1#.example.com',
    'https://api.example.com?x=1',
    'https://api.example.com?',
    'https://api.example.com?@127.0.0.1',
    'https://api.example.com\\@127.0.0.1',
    'https://127.0.0.1\\.example.com',
    'https://api.example.com/v1?x=http://127.0.0.1',
  ],
  'texts that are cleaned up when parsed': [
    ' https://api.example.com',
    'https://api.example.com ',
    'https://api.example.com\n',
    'ht\ntps://api.example.com',
    'https://api.exa\tmple.com',
    'https://api.example.com\u0000',
    'https://127.0.0.1\u0000.example.com',
    'https://api\u00ad.example.com',
    'https://api.example。com',
    'https://аpi.example.com',
    'https://api.example.com.',
    'https://api.example.com..',
    'https://%61pi.example.com',
    'https://api.ex ample.com',
    `https://${'a'.repeat(3_000)}.com`,
  ],
  'ports nobody allowed': [
    'https://api.example.com:22',
    'https://api.example.com:8443',
    'https://api.example.com:0',
    'https://api.example.com:99999',
    'https://api.example.com:-1',
    'https://8.8.8.8:8443',
    'http://8.8.8.8',
  ],
};

describe.each(Object.entries(rejectedUrls))('Rejected URLs: %s', (_, texts) => {
  test.each(texts)('%j is rejected', (text) => {
    expect(strictGuard.checkBaseUrl(text)).toEqual({ ok: false, error: expect.any(String) });
  });
});

test('attack list has the expected number of entries', () => {
  expect(new Set(Object.values(rejectedUrls).flat()).size).toBeGreaterThanOrEqual(150);
});

test.each([
  'https://api.example.com',
  'https://api.example.com/',
  'https://api.example.com/v1',
  'https://API.example.com/v1/',
  'HTTPS://api.example.com',
  'https://api.example.com:443/v1',
  'https://xn--bcher-kva.example/v1',
  'https://api.example.com/a/b%20c;d=e',
  'https://8.8.8.8',
  'https://[2606:4700:4700::1111]/v1',
])('%s is accepted', (text) => {
  expect(strictGuard.checkBaseUrl(text)).toEqual({ ok: true, value: new URL(text) });
});

test.each([
  '8.8.8.8',
  '1.1.1.1',
  '172.15.0.1',
  '172.32.0.1',
  '100.63.0.1',
  '192.0.1.1',
  '2606:4700::1',
  '2a00::1',
])('%s is a public internet address', (address) => expect(isGlobalUnicast(address)).toBe(true));

test('every address inside a blocked network is rejected', () => {
  const octet = fc.integer({ min: 0, max: 255 });
  fc.assert(
    fc.property(
      fc.constantFrom('10', '127', '0', '169.254', '192.168', '224'),
      octet,
      octet,
      octet,
      (net, a, b, c) => {
        const address = [...net.split('.'), a, b, c].slice(0, 4).join('.');
        expect(isGlobalUnicast(address)).toBe(false);
        expect(isGlobalUnicast(`::ffff:${address}`)).toBe(false);
        expect(isGlobalUnicast(`64:ff9b::${address}`)).toBe(false);
        const asInteger = address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
        for (const form of [
          address,
          String(asInteger),
          `0x${asInteger.toString(16)}`,
          `0${asInteger.toString(8)}`,
        ]) {
          expect(strictGuard.checkBaseUrl(`https://${form}`).ok).toBe(false);
        }
      },
    ),
  );
});

test('no text makes the check throw', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string({ unit: 'binary' }),
        fc.webUrl(),
        fc.string().map((text) => `https://${text}`),
      ),
      (text) => {
        const result = strictGuard.checkBaseUrl(text);
        if (result.ok) expect(result.value.protocol).toBe('https:');
      },
    ),
    { numRuns: 2_000 },
  );
});

describe('Resolved addresses', () => {
  const guardResolvingTo = (...addresses: string[]) => new AddressGuard([], () => Promise.resolve(addresses));

  test.each([
    ['a private one', ['10.0.0.1']],
    ['a private one among public ones', ['93.184.215.14', '8.8.8.8', '192.168.0.1']],
    ['a mapped one', ['::ffff:127.0.0.1']],
    ['one with a zone', ['fe80::1%eth0']],
    ['none', []],
    ['something that is no address', ['api.example.com']],
  ])('%s is rejected', async (_, addresses) => {
    const guard = guardResolvingTo(...addresses);
    expect((await guard.checkReachable('https://api.example.com')).ok).toBe(false);
    await expect(guard.permittedAddresses(new URL('https://api.example.com'))).rejects.toThrow(
      AddressRefused,
    );
  });

  test('public addresses are pinned', async () => {
    const guard = guardResolvingTo('93.184.215.14', '2606:4700::1');
    expect((await guard.checkReachable('https://api.example.com')).ok).toBe(true);
    expect(await guard.permittedAddresses(new URL('https://api.example.com'))).toEqual([
      { address: '93.184.215.14', family: 4 },
      { address: '2606:4700::1', family: 6 },
    ]);
  });

  test('unresolvable name is reported as such', async () => {
    const guard = new AddressGuard([], () => Promise.reject(new Error('ENOTFOUND')));
    expect(await guard.checkReachable('https://nowhere.example')).toEqual({
      ok: false,
      error: 'has a host that cannot be resolved',
    });
  });
});

describe("Operator's allow-list", () => {
  test('network rule allows plain HTTP on any port in that network only', () => {
    const guard = new AddressGuard([loopback]);
    expect(guard.checkBaseUrl('http://127.0.0.1:11434/v1').ok).toBe(true);
    expect(guard.checkBaseUrl('https://127.9.9.9').ok).toBe(true);
    for (const text of [
      'http://10.0.0.1',
      'http://8.8.8.8',
      'http://[::1]',
      'http://127.1',
      'http://[::ffff:10.0.0.1]',
    ]) {
      expect([text, guard.checkBaseUrl(text).ok]).toEqual([text, false]);
    }
  });

  test('host rule with a port allows its network for that name and port only', async () => {
    const rule: AllowedNetwork = { ...loopback, host: 'models.lan', port: 8000 };
    const guard = new AddressGuard([rule], () => Promise.resolve(['127.0.0.1']));
    expect((await guard.checkReachable('http://models.lan:8000/v1')).ok).toBe(true);
    expect((await guard.checkReachable('http://models.lan:8001/v1')).ok).toBe(false);
    expect((await guard.checkReachable('http://other.lan:8000/v1')).ok).toBe(false);
    expect((await guard.checkReachable('http://127.0.0.1:8000/v1')).ok).toBe(false);
    expect((await guard.checkReachable('https://models.lan/v1')).ok).toBe(false);
  });

  test('plain HTTP to a public address stays rejected when a private network is allowed', async () => {
    const guard = new AddressGuard([loopback], () => Promise.resolve(['93.184.215.14']));
    expect(await guard.checkReachable('http://api.example.com')).toMatchObject({ ok: false });
    expect(await guard.checkReachable('https://api.example.com:8443')).toMatchObject({ ok: false });
    expect(await guard.checkReachable('https://api.example.com')).toMatchObject({ ok: true });
  });

  test('exception can be added later', () => {
    const guard = new AddressGuard([]);
    expect(guard.checkBaseUrl('http://127.0.0.1:4000').ok).toBe(false);
    guard.allow({ ...loopback, host: '127.0.0.1', port: 4000 });
    expect(guard.checkBaseUrl('http://127.0.0.1:4000').ok).toBe(true);
    expect(guard.checkBaseUrl('http://127.0.0.1:4001').ok).toBe(false);
  });
});
