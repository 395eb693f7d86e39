import { BlockList, isIP } from 'node:net';

type AddressFamily = 'ipv4' | 'ipv6';

/** IPv4 addresses that are not global unicast, or at which a cloud keeps its machine metadata. */
const blockedIpv4: readonly [string, number][] = [
  ['0.0.0.0', 8], // this network
  ['10.0.0.0', 8], // private
  ['100.64.0.0', 10], // carrier-grade NAT
  ['127.0.0.0', 8], // loopback
  ['168.63.129.16', 32], // metadata
  ['169.254.0.0', 16], // link-local, with the metadata address of most clouds
  ['172.16.0.0', 12], // private
  ['192.0.0.0', 24], // protocol assignments
  ['192.0.2.0', 24], // documentation
  ['192.88.99.0', 24], // 6to4 relays
  ['192.168.0.0', 16], // private
  ['198.18.0.0', 15], // benchmarks
  ['198.51.100.0', 24], // documentation
  ['203.0.113.0', 24], // documentation
  ['224.0.0.0', 4], // multicast
  ['240.0.0.0', 4], // reserved, broadcast
];

/**
 * The only global unicast block of IPv6. Loopback, mapped IPv4, NAT64 (64:ff9b::/96), unique local, link-local,
 * site-local and multicast addresses are outside.
 */
const globalIpv6: readonly [string, number] = ['2000::', 3];

const blockedIpv6: readonly [string, number][] = [
  ['2001::', 23], // protocol assignments, with Teredo and ORCHID
  ['2001:db8::', 32], // documentation
  ['2002::', 16], // 6to4: carries an IPv4 address of anybody's choice
  ['3fff::', 20], // documentation
];

const blockedList = listOf([
  ...blockedIpv4.map(([address, prefix]) => ({ address, prefix, family: 'ipv4' as const })),
  ...blockedIpv6.map(([address, prefix]) => ({ address, prefix, family: 'ipv6' as const })),
]);
const globalList = listOf([{ address: globalIpv6[0], prefix: globalIpv6[1], family: 'ipv6' }]);

export function listOf(
  networks: readonly { address: string; prefix: number; family: AddressFamily }[],
): BlockList {
  const list = new BlockList();
  for (const { address, prefix, family } of networks) list.addSubnet(address, prefix, family);
  return list;
}

/** Undefined if the text is no plain address, such as one with a zone. */
export function familyOf(address: string): AddressFamily | undefined {
  if (address.includes('%')) return undefined;
  const version = isIP(address);
  return version === 0 ? undefined : version === 4 ? 'ipv4' : 'ipv6';
}

export function isGlobalUnicast(address: string): boolean {
  const family = familyOf(address);
  if (!family || blockedList.check(address, family)) return false;
  return family === 'ipv4' || globalList.check(address, family);
}
