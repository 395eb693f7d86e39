import { hostname, networkInterfaces } from 'node:os';

/** Spellings of one address that at least one parser accepts. */
const loopback = [
  '127.0.0.1',
  '127.1',
  '127.0.1',
  '127.255.255.254',
  '0x7f.1',
  '0x7f000001',
  '0X7F.0.0.1',
  '2130706433',
  '017700000001',
  '0177.0.0.1',
  '0177.0.0.01',
  '127.0.0.0x1',
  '%31%32%37.0.0.1',
  '127%2e0%2e0%2e1',
  '127。0。0。1',
  '127．0．0．1',
  '１２７.0.0.1',
  '①②⑦.0.0.1',
  '127.0.0.1.',
  '0',
  '0.0.0.0',
  '0x0',
  '[::1]',
  '[0:0:0:0:0:0:0:1]',
  '[0000::0001]',
  '[::]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[0:0:0:0:0:ffff:127.0.0.1]',
  '[::127.0.0.1]',
  '[64:ff9b::127.0.0.1]',
  '[2002:7f00:1::1]',
  '[::ffff:0:127.0.0.1]',
];

const internalHosts = [
  '10.0.0.1',
  '10.255.255.255',
  '167772161',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.0.1',
  '0xc0a80001',
  '3232235521',
  '100.64.0.1',
  '100.100.100.200',
  '169.254.169.254',
  '2852039166',
  '0xa9fea9fe',
  '0251.0376.0251.0376',
  '169.254.43518',
  '[::ffff:169.254.169.254]',
  '[fd00:ec2::254]',
  '[fe80::1]',
  '[fe80::1%25lo]',
  '[fc00::1]',
  '[fec0::1]',
  '168.63.129.16',
  '192.0.0.192',
  '198.18.0.1',
  '224.0.0.1',
  '255.255.255.255',
  '[ff02::1]',
  '[2001:db8::1]',
];

/** Host names that the machine itself knows; only a lookup reveals their address. */
const names = ['localhost', 'LOCALHOST', 'ip6-localhost', 'localhost.localdomain', hostname()];

/** Texts that every field for addresses rejects without a lookup. */
export function refusedTexts(port: number): string[] {
  const ownAddresses = Object.values(networkInterfaces()).flatMap((list) =>
    (list ?? []).map(({ address }) => address),
  );
  const hosts = [
    ...loopback,
    ...internalHosts,
    ...ownAddresses.map((address) => (address.includes(':') ? `[${address}]` : address)),
  ];
  const publicHost = 'api.example.com';
  return [
    ...new Set([
      ...hosts.flatMap((host) => [`http://${host}:${port}/v1`, `https://${host}:${port}`, `https://${host}`]),
      ...names.flatMap((name) => [`http://${name}:${port}/v1`, `https://${name}:${port}/v1`]),
      `https://user:word@127.0.0.1:${port}`,
      `https://${publicHost}@127.0.0.1:${port}`,
      `https://${publicHost}:443@127.0.0.1:${port}/`,
      `https://127.0.0.1:${port}@${publicHost}`,
      `https://${publicHost}%40127.0.0.1:${port}`,
      `https://${publicHost}#@127.0.0.1:${port}`,
      `https://${publicHost}?@127.0.0.1:${port}`,
      `https://${publicHost}\\@127.0.0.1:${port}`,
      `https://127.0.0.1:${port}\\.example.com`,
      `https://127.0.0.1:${port}#.example.com`,
      `https://${publicHost}/v1?x=http://127.0.0.1:${port}`,
      `https:127.0.0.1:${port}`,
      `https:/127.0.0.1:${port}`,
      `https:\\\\127.0.0.1:${port}`,
      `//127.0.0.1:${port}`,
      `127.0.0.1:${port}`,
      ` https://127.0.0.1:${port}`,
      `ht\ntps://127.0.0.1:${port}`,
      `https://127.0.0.1\t:${port}`,
      `https://127.0.0.1\u0000.example.com:${port}`,
      `file:///etc/passwd`,
      `file://127.0.0.1:${port}/etc/passwd`,
      `gopher://127.0.0.1:${port}/_x`,
      `ftp://127.0.0.1:${port}`,
      `dict://127.0.0.1:${port}/stat`,
      `ldap://127.0.0.1:${port}`,
      `ws://127.0.0.1:${port}`,
      `http+unix://%2Fvar%2Frun%2Fdocker.sock`,
      `unix:/var/run/docker.sock`,
      `data:text/plain,hello`,
      `javascript:alert(1)`,
      `blob:http://127.0.0.1:${port}/x`,
    ]),
  ];
}

/** Addresses that would be connectable if they got into the catalogue past every check. */
export const connectable = (port: number): string[] =>
  [...refusedTexts(port), ...names.map((name) => `https://${name}`)].filter(
    (text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol) && text === text.trim(),
  );
