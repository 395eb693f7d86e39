import { createHash } from 'node:crypto';
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';
import { fault } from '../../../kernel';
import { DIRECT, type Settings } from '../../config';
import type { ClientIdentity, EgressTerms } from '../supplier-transport';
import type { EgressNeeds } from './egress-transport';
import { NoProxy } from './no-proxy';
import { Proxy } from './proxy';

export type EgressOptions = Pick<
  Settings,
  'egressProxy' | 'noProxy' | 'egressProxies' | 'egressCa' | 'egressClientCertificate' | 'egressClientKey'
>;

/** An indirect route; equal needs have the same key. */
export interface EgressRoute {
  readonly key: string;
  needs(): EgressNeeds;
}

const noTerms: EgressTerms = {};

/** Finds the route to a URL, from the settings and the terms of its supplier. */
export class EgressRouter {
  private readonly defaultProxy: Proxy | null;
  private readonly namedProxies: ReadonlyMap<string, Proxy>;
  private readonly noProxy: NoProxy;
  private readonly identity: ClientIdentity | undefined;
  /** If false, only suppliers with terms of their own are reached indirectly. */
  readonly hasRules: boolean;

  constructor(private readonly settings: EgressOptions) {
    const { egressProxy, egressProxies, noProxy, egressClientCertificate, egressClientKey } = settings;
    this.defaultProxy = egressProxy === undefined ? null : new Proxy(egressProxy);
    this.namedProxies = new Map(egressProxies.map(({ name, url }) => [name, new Proxy(url)]));
    this.noProxy = new NoProxy(noProxy);
    this.identity =
      egressClientCertificate === undefined || egressClientKey === undefined
        ? undefined
        : { certificate: egressClientCertificate, key: egressClientKey };
    this.hasRules =
      this.defaultProxy !== null || settings.egressCa !== undefined || this.identity !== undefined;
  }

  /** Null for the direct route. */
  routeTo(url: URL, terms: EgressTerms = noTerms): EgressRoute | null {
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
        // The client certificate is only for suppliers.
        proxyContext: proxy === null || egressCa === undefined ? undefined : contextOf([egressCa]),
      }),
    };
  }

  /** A proxy that a supplier names overrides all rules. */
  proxyFor(url: URL, { proxy: name }: EgressTerms = noTerms): Proxy | null {
    if (name === DIRECT) return null;
    if (name !== undefined) {
      const proxy = this.namedProxies.get(name);
      if (proxy !== undefined) return proxy;
      throw fault('configuration_error', {
        details: { proxy: name, problem: 'EGRESS_PROXIES has none of this name' },
      });
    }
    const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
    const isDirect =
      this.defaultProxy === null || isThisMachine(url.hostname) || this.noProxy.has(url.hostname, port);
    return isDirect ? null : this.defaultProxy;
  }
}

/** As in Go, the default proxy is never used for this machine, which runs the built-in sandboxes. */
const isThisMachine = (hostname: string): boolean =>
  /^(?:127\.\d+\.\d+\.\d+|\[::1\]|(?:[^:]+\.)?localhost)$/.test(hostname);

export function contextOf(
  authorities: readonly string[],
  identity?: ClientIdentity,
): SecureContext | undefined {
  if (authorities.length === 0 && identity === undefined) return undefined;
  return createSecureContext({
    // Authorities that are named replace the default ones, which are meant to stay.
    ca: [...getCACertificates('default'), ...authorities],
    ...(identity === undefined ? {} : { cert: identity.certificate, key: identity.key }),
  });
}

/** Hashed, so that private keys are not kept in keys of maps. */
const keyOf = (parts: readonly unknown[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('base64');
