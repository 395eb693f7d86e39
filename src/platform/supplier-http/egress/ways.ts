import { createHash } from 'node:crypto';
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';
import { fault } from '../../../kernel';
import { DIRECT, type Settings } from '../../config';
import type { ClientIdentity, EgressTerms } from '../supplier-transport';
import type { Needs } from './egress-transport';
import { NoProxy } from './no-proxy';
import { Proxy } from './proxy';

export type EgressSettings = Pick<
  Settings,
  'egressProxy' | 'noProxy' | 'egressProxies' | 'egressCa' | 'egressClientCertificate' | 'egressClientKey'
>;

/** A way other than the direct one, under a key that is the same for the same needs. */
export interface FoundWay {
  readonly key: string;
  needs(): Needs;
}

const nothing: EgressTerms = {};

/** Finds how an address is reached, by the settings and by what its supplier asks for. */
export class Ways {
  private readonly usual: Proxy | null;
  private readonly named: ReadonlyMap<string, Proxy>;
  private readonly noProxy: NoProxy;
  private readonly identity: ClientIdentity | undefined;
  /** Without it, only suppliers that ask for something are reached otherwise than directly. */
  readonly hasRules: boolean;

  constructor(private readonly settings: EgressSettings) {
    const { egressProxy, egressProxies, noProxy, egressClientCertificate, egressClientKey } = settings;
    this.usual = egressProxy === undefined ? null : new Proxy(egressProxy);
    this.named = new Map(egressProxies.map(({ name, url }) => [name, new Proxy(url)]));
    this.noProxy = new NoProxy(noProxy);
    this.identity =
      egressClientCertificate === undefined || egressClientKey === undefined
        ? undefined
        : { certificate: egressClientCertificate, key: egressClientKey };
    this.hasRules = this.usual !== null || settings.egressCa !== undefined || this.identity !== undefined;
  }

  /** Null is the direct way. */
  to(url: URL, terms: EgressTerms = nothing): FoundWay | null {
    const { egressCa } = this.settings;
    const proxy = this.proxyFor(url, terms);
    const isSecure = url.protocol === 'https:';
    const authorities = isSecure ? [egressCa, terms.ca].filter((pem) => pem !== undefined) : [];
    const identity = isSecure ? (terms.identity ?? this.identity) : undefined;
    if (proxy === null && authorities.length === 0 && identity === undefined) return null;
    return {
      key: keyOf([proxy?.origin.href, proxy?.headers, authorities, identity]),
      needs: () => ({
        proxy,
        secureContext: contextOf(authorities, identity),
        // A certificate of ours is for suppliers.
        proxyContext: proxy === null || egressCa === undefined ? undefined : contextOf([egressCa]),
      }),
    };
  }

  /** The one that a supplier names stands above all rules. */
  proxyFor(url: URL, { proxy: name }: EgressTerms = nothing): Proxy | null {
    if (name === DIRECT) return null;
    if (name !== undefined) {
      const proxy = this.named.get(name);
      if (proxy !== undefined) return proxy;
      throw fault('configuration_error', {
        details: { proxy: name, problem: 'EGRESS_PROXIES has none of this name' },
      });
    }
    const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
    const isDirect = this.usual === null || isOwn(url.hostname) || this.noProxy.has(url.hostname, port);
    return isDirect ? null : this.usual;
  }
}

/** As in Go, this machine is never asked for by the usual proxy: the sandboxes of our own are on it. */
const isOwn = (hostname: string): boolean =>
  /^(?:127\.\d+\.\d+\.\d+|\[::1\]|(?:[^:]+\.)?localhost)$/.test(hostname);

export function contextOf(
  authorities: readonly string[],
  identity?: ClientIdentity,
): SecureContext | undefined {
  if (authorities.length === 0 && identity === undefined) return undefined;
  return createSecureContext({
    // Authorities that are named replace the usual ones, which are meant to stay.
    ca: [...getCACertificates('default'), ...authorities],
    ...(identity === undefined ? {} : { cert: identity.certificate, key: identity.key }),
  });
}

/** Keys of certificates are not kept in keys of maps. */
const keyOf = (parts: readonly unknown[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('base64');
