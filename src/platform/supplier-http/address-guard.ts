import { lookup as systemLookup } from 'node:dns';
import type { LookupAddress } from 'node:dns';
import type { BlockList, LookupFunction } from 'node:net';
import { err, ok, type Result } from '../../kernel';
import type { AllowedNetwork } from '../config';
import { familyOf, isGlobalUnicast, listOf } from './address-ranges';

/** Answers every address of a name. */
export type Resolver = (host: string) => Promise<readonly string[]>;

export class AddressRefused extends Error {
  readonly code = 'ADDRESS_REFUSED';

  constructor(host: string, reason: string) {
    super(`${host} may not be connected to: ${reason}`);
    this.name = 'AddressRefused';
  }
}

/** Where only the proxy knows names, asking here must not delay every connection. */
const LOOKUP_BEHIND_PROXY_MS = 1_000;

/** Names of one machine or network: without a dot, of RFC 6761, 6762 and 8375, and `internal`, which ICANN reserved. */
const NEVER_PUBLIC = /^[^.]+$|\.(?:localhost|localdomain|local|internal|home\.arpa)$/i;

interface Exception {
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
 * Prevents SSRF: requests to suppliers never reach private networks. A name may resolve differently between
 * two connections. So the text is checked when it is stored, and the address again for every connection,
 * which is pinned to it.
 */
export class AddressGuard {
  private readonly exceptions: Exception[];

  constructor(
    allowed: readonly AllowedNetwork[],
    private readonly resolve: Resolver = systemResolver,
  ) {
    this.exceptions = allowed.map(exceptionOf);
  }

  /** Adds an exception of our own, such as the sandbox supplier's port. */
  allow(network: AllowedNetwork): void {
    this.exceptions.push(exceptionOf(network));
  }

  /** A base URL is checked as far as that goes without resolving its name. */
  checkBaseUrl(text: string): Result<URL, string> {
    if (text.length > 2_048) return err('is too long');
    if (!/^[\x21-\x7e]+$/.test(text)) return err('has characters that do not belong into an address');
    const authority = /^https?:\/\/([^/?#\\]+)(?:\/[^?#\\]*)?$/i.exec(text)?.[1]?.toLowerCase();
    if (authority === undefined) return err('is not of the form https://host/path');
    if (authority.includes('@')) return err('has credentials in it');
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (!url) return err('cannot be read');
    // An address in octal, in hexadecimal or in percent signs reads like another one.
    if (authority.replace(/:\d*$/, '') !== url.hostname) return err(`is a disguise of ${url.hostname}`);
    if (url.hostname.endsWith('.')) return err('ends its host with a dot');
    const host = bare(url.hostname);
    const port = portOf(url);
    if (familyOf(host)) {
      const refusal = this.refusal(host, port, [host], this.isExceptional(url));
      return refusal === undefined ? ok(url) : err(refusal);
    }
    const imaginable = this.exceptions.some((exception) => concerns(exception, host, port));
    if (this.isExceptional(url) && !imaginable)
      return err('must be https on port 443, unless the operator allows it');
    return ok(url);
  }

  /** The same, and that the name stands for permitted addresses right now. */
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

  /** It serves the sockets of one origin: it resolves, checks and pins. */
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

  /** Throws unless every address of the origin's host is permitted: a single forbidden one may be an attack. */
  async permittedAddresses(origin: URL): Promise<LookupAddress[]> {
    const host = bare(origin.hostname);
    const addresses = familyOf(host) ? [host] : await this.resolve(host);
    const refusal = this.refusal(host, portOf(origin), addresses, this.isExceptional(origin));
    if (refusal !== undefined) throw new AddressRefused(host, refusal);
    return addresses.map((address) => ({ address, family: familyOf(address) === 'ipv4' ? 4 : 6 }));
  }

  /**
   * A proxy resolves names itself, so nothing can be pinned behind one. Literal addresses obey the rules, and so do
   * the addresses that a name has here. A name that is not known here is the proxy's to judge, over https on 443 and
   * where it may be a public one.
   */
  async checkBehindProxy(origin: URL): Promise<void> {
    const checked = this.checkBaseUrl(origin.origin);
    const host = bare(origin.hostname);
    if (!checked.ok) throw new AddressRefused(host, checked.error);
    if (familyOf(host)) return;
    const addresses = await within(LOOKUP_BEHIND_PROXY_MS, this.resolve(host));
    const port = portOf(origin);
    if (addresses.length > 0) {
      const refusal = this.refusal(host, port, addresses, this.isExceptional(origin));
      if (refusal !== undefined) throw new AddressRefused(host, refusal);
    } else if (!this.exceptions.some((one) => names(one, host, port))) {
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
    listedOnly: boolean,
  ): string | undefined {
    if (addresses.length === 0) return 'it has no address';
    const relevant = this.exceptions.filter((exception) => concerns(exception, host, port));
    for (const address of addresses) {
      const family = familyOf(address);
      if (family && relevant.some(({ networks }) => networks.check(address, family))) continue;
      if (!isGlobalUnicast(address)) return `${address} is not an address of the public internet`;
      if (listedOnly) return 'it must be https on port 443, unless the operator allows it';
    }
    return undefined;
  }

  /** Such an origin needs the operator's permission even at a public address. */
  private isExceptional(url: URL): boolean {
    return url.protocol !== 'https:' || portOf(url) !== 443;
  }
}

/** A rule for this very name: its addresses cannot be looked at. */
const names = (exception: Exception, host: string, port: number): boolean =>
  exception.host === host && concerns(exception, host, port);

/** None where there is no answer in time. */
async function within(milliseconds: number, found: Promise<readonly string[]>): Promise<readonly string[]> {
  let late: NodeJS.Timeout | undefined;
  const nothing = new Promise<readonly string[]>((resolve) => {
    late = setTimeout(() => resolve([]), milliseconds);
  });
  try {
    return await Promise.race([found, nothing]);
  } catch {
    return [];
  } finally {
    clearTimeout(late);
  }
}

function exceptionOf(network: AllowedNetwork): Exception {
  return { host: network.host && bare(network.host), port: network.port, networks: listOf([network]) };
}

function concerns(exception: Exception, host: string, port: number): boolean {
  return (
    (exception.host === undefined || exception.host === host) &&
    (exception.port === undefined || exception.port === port)
  );
}

function bare(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port);
  return url.protocol === 'https:' ? 443 : 80;
}
