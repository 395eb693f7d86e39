import { lookup as systemLookup } from 'node:dns';
import type { LookupAddress } from 'node:dns';
import type { BlockList, LookupFunction } from 'node:net';
import { err, ok, type Result } from '../../kernel';
import type { AllowedNetwork } from '../config';
import { familyOf, isGlobalUnicast, listOf } from './address-ranges';

export type Resolver = (host: string) => Promise<readonly string[]>;

export class AddressRefused extends Error {
  readonly code = 'ADDRESS_REFUSED';

  constructor(host: string, reason: string) {
    super(`${host} may not be connected to: ${reason}`);
    this.name = 'AddressRefused';
  }
}

/** If only the proxy knows names, resolving here must not delay every connection. */
const LOOKUP_BEHIND_PROXY_MS = 1_000;

/** Names of one machine or network: without a dot, of RFC 6761, 6762 and 8375, and `internal`, which ICANN reserved. */
const NEVER_PUBLIC = /^[^.]+$|\.(?:localhost|localdomain|local|internal|home\.arpa)$/i;

interface AddressException {
  readonly host: string | undefined;
  readonly port: number | undefined;
  readonly networks: BlockList;
}

const systemResolver: Resolver = (host) =>
  new Promise((resolve, reject) => {
    systemLookup(host, { all: true }, (error, addresses) =>
      error ? reject(error) : resolve(addresses.map(({ address }) => address)),
    );
  });

/**
 * Prevents SSRF: requests to suppliers never reach private networks. A name can resolve differently each time, so the
 * URL is checked when stored, and every connection is pinned to a checked address.
 */
export class AddressGuard {
  private readonly exceptions: AddressException[];

  constructor(
    allowed: readonly AllowedNetwork[],
    private readonly resolve: Resolver = systemResolver,
  ) {
    this.exceptions = allowed.map(exceptionOf);
  }

  /** Adds an exception of the product itself, such as the sandbox supplier's port. */
  allow(network: AllowedNetwork): void {
    this.exceptions.push(exceptionOf(network));
  }

  /** Checks a base URL as far as possible without resolving its name. */
  checkBaseUrl(text: string): Result<URL, string> {
    if (text.length > 2_048) return err('is too long');
    if (!/^[\x21-\x7e]+$/.test(text)) return err('has characters that do not belong into an address');
    const authority = /^https?:\/\/([^/?#\\]+)(?:\/[^?#\\]*)?$/i.exec(text)?.[1]?.toLowerCase();
    if (authority === undefined) return err('is not of the form https://host/path');
    if (authority.includes('@')) return err('has credentials in it');
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (!url) return err('cannot be read');
    // An address in octal, in hexadecimal or in percent signs can be mistaken for another one.
    if (authority.replace(/:\d*$/, '') !== url.hostname) return err(`is a disguise of ${url.hostname}`);
    if (url.hostname.endsWith('.')) return err('ends its host with a dot');
    const host = withoutBrackets(url.hostname);
    const port = portOf(url);
    if (familyOf(host)) {
      const refusal = this.refusal(host, port, [host], this.isExceptional(url));
      return refusal === undefined ? ok(url) : err(refusal);
    }
    const isPossible = this.exceptions.some((exception) => appliesTo(exception, host, port));
    if (this.isExceptional(url) && !isPossible)
      return err('must be https on port 443, unless the operator allows it');
    return ok(url);
  }

  /** Checks a base URL, and that its name currently resolves to permitted addresses. */
  async checkReachable(text: string): Promise<Result<URL, string>> {
    const checked = this.checkBaseUrl(text);
    if (!checked.ok) return checked;
    try {
      await this.permittedAddresses(checked.value);
      return checked;
    } catch (error) {
      return err(error instanceof AddressRefused ? error.message : 'has a host that cannot be resolved');
    }
  }

  /** Lookup function for the sockets of one origin: resolves, checks and pins. */
  lookupFor(origin: URL): LookupFunction {
    return (_hostname, options, callback) => {
      this.permittedAddresses(origin).then(
        (addresses) => {
          const [first] = addresses;
          if (options.all) callback(null, addresses);
          else callback(null, first?.address ?? '', first?.family);
        },
        (error: NodeJS.ErrnoException) => callback(error, ''),
      );
    };
  }

  /** Throws unless every address of the origin's host is permitted: a single forbidden one could be an attack. */
  async permittedAddresses(origin: URL): Promise<LookupAddress[]> {
    const host = withoutBrackets(origin.hostname);
    const addresses = familyOf(host) ? [host] : await this.resolve(host);
    const refusal = this.refusal(host, portOf(origin), addresses, this.isExceptional(origin));
    if (refusal !== undefined) throw new AddressRefused(host, refusal);
    return addresses.map((address) => ({ address, family: familyOf(address) === 'ipv4' ? 4 : 6 }));
  }

  /**
   * A proxy resolves names itself, so nothing can be pinned. Literal addresses, and names that resolve here, are
   * checked; other names must be https on port 443 and possibly public.
   */
  async checkBehindProxy(origin: URL): Promise<void> {
    const checked = this.checkBaseUrl(origin.origin);
    const host = withoutBrackets(origin.hostname);
    if (!checked.ok) throw new AddressRefused(host, checked.error);
    if (familyOf(host)) return;
    const addresses = await resolveWithin(LOOKUP_BEHIND_PROXY_MS, this.resolve(host));
    const port = portOf(origin);
    if (addresses.length > 0) {
      const refusal = this.refusal(host, port, addresses, this.isExceptional(origin));
      if (refusal !== undefined) throw new AddressRefused(host, refusal);
    } else if (!this.exceptions.some((exception) => namesHost(exception, host, port))) {
      if (this.isExceptional(origin))
        throw new AddressRefused(host, 'its name is not known here, and it is not https on port 443');
      if (NEVER_PUBLIC.test(host))
        throw new AddressRefused(host, 'its name is not known here, and never stands for a public address');
    }
  }

  private refusal(
    host: string,
    port: number,
    addresses: readonly string[],
    isListedOnly: boolean,
  ): string | undefined {
    if (addresses.length === 0) return 'it has no address';
    const relevant = this.exceptions.filter((exception) => appliesTo(exception, host, port));
    for (const address of addresses) {
      const family = familyOf(address);
      if (family && relevant.some(({ networks }) => networks.check(address, family))) continue;
      if (!isGlobalUnicast(address)) return `${address} is not an address of the public internet`;
      if (isListedOnly) return 'it must be https on port 443, unless the operator allows it';
    }
    return undefined;
  }

  /** True if an origin needs the operator's permission even at a public address. */
  private isExceptional(url: URL): boolean {
    return url.protocol !== 'https:' || portOf(url) !== 443;
  }
}

/** True if an exception names this host, whose addresses cannot be checked. */
const namesHost = (exception: AddressException, host: string, port: number): boolean =>
  exception.host === host && appliesTo(exception, host, port);

/** Empty if there is no response in time. */
async function resolveWithin(
  milliseconds: number,
  resolution: Promise<readonly string[]>,
): Promise<readonly string[]> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<readonly string[]>((resolve) => {
    timer = setTimeout(() => resolve([]), milliseconds);
  });
  try {
    return await Promise.race([resolution, timeout]);
  } catch {
    return [];
  } finally {
    clearTimeout(timer);
  }
}

function exceptionOf(network: AllowedNetwork): AddressException {
  return {
    host: network.host && withoutBrackets(network.host),
    port: network.port,
    networks: listOf([network]),
  };
}

function appliesTo(exception: AddressException, host: string, port: number): boolean {
  return (
    (exception.host === undefined || exception.host === host) &&
    (exception.port === undefined || exception.port === port)
  );
}

function withoutBrackets(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port);
  return url.protocol === 'https:' ? 443 : 80;
}
