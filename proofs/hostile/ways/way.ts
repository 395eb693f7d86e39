import {
  type AddressGuard,
  SelectingTransport,
  type EgressTerms,
  type SupplierTransport,
} from '#product/platform';
import { type ForwardProxy, forwardProxy } from '../../../test/support/forward-proxy';
import { certificates } from './certificates';
import { type Front, secureFront } from './fronts';

/** The proxies and certificates between us and a supplier, for one way (docs/egress.md). */
interface Means {
  readonly what: string;
  readonly proxy: 'none' | 'plain' | 'secure';
  readonly supplier: 'plain' | 'secure';
}

export const means = {
  direct: { what: 'directly', proxy: 'none', supplier: 'plain' },
  proxy: { what: 'in absolute form, through an HTTP proxy', proxy: 'plain', supplier: 'plain' },
  tunnel: {
    what: 'in a tunnel of an HTTPS proxy, with a private authority and a client certificate',
    proxy: 'secure',
    supplier: 'secure',
  },
} as const satisfies Record<string, Means>;

export type WayName = keyof typeof means;
export const wayNames = Object.keys(means) as readonly WayName[];

type Settings = ConstructorParameters<typeof SelectingTransport>[0];
type EgressSettings = Pick<Settings, Extract<keyof Settings, `egress${string}` | 'noProxy'>>;
/** How many connections, and how long, without the ways out. */
export type PoolSettings = Omit<Settings, keyof EgressSettings>;

const PROXY = 'house';

/** A way to servers of this machine, for the service as it ships and for a transport in this process. */
export class WayOut {
  /** A proxy that is named stands above the rule that this machine is reached directly. */
  private readonly terms: EgressTerms | undefined;
  private readonly egress: EgressSettings;
  private readonly fronts: Front[] = [];
  private readonly targets = new Set<string>();
  /** Number of connections to what stands before suppliers. */
  private taken = 0;
  private readonly came = (): void => void (this.taken += 1);

  private constructor(
    readonly means: Means,
    private readonly proxy: ForwardProxy | null,
  ) {
    this.terms = proxy === null ? undefined : { proxy: PROXY };
    const url = `${means.proxy === 'secure' ? 'https' : 'http'}://127.0.0.1:${proxy?.port}`;
    const isSecure = means.supplier !== 'plain';
    this.egress = {
      noProxy: '',
      egressProxies: proxy === null ? [] : [{ name: PROXY, url }],
      ...(isSecure && {
        egressCa: certificates.supplier,
        egressClientCertificate: certificates.client,
        egressClientKey: certificates.clientKey,
      }),
    };
  }

  static async open(name: WayName): Promise<WayOut> {
    const { proxy } = means[name];
    const tls = { cert: certificates.supplier, key: certificates.supplierKey };
    // Every name leads to this machine.
    const resolve = (): string => '127.0.0.1';
    const opened =
      proxy === 'none' ? null : await forwardProxy({ resolve, ...(proxy === 'secure' && { tls }) });
    return new WayOut(means[name], opened);
  }

  /** `settings` of a provider that is reached by this way. */
  settings(others: object = {}): object {
    return this.terms === undefined ? others : { ...others, egress: this.terms };
  }

  /** For the service; certificates hold for every supplier. */
  get environment(): Readonly<Record<string, string>> {
    const { egressProxies, egressCa, egressClientCertificate, egressClientKey } = this.egress;
    const named = {
      EGRESS_PROXIES: egressProxies.map(({ name, url }) => `${name}=${url}`).join(),
      EGRESS_CA: egressCa,
      EGRESS_CLIENT_CERTIFICATE: egressClientCertificate,
      EGRESS_CLIENT_KEY: egressClientKey,
    };
    const set = Object.entries(named).flatMap(([name, value]) => (value ? [[name, value] as const] : []));
    return Object.fromEntries(set);
  }

  /** The origin of a plain server that listens on this port. */
  async to(port: number, host = '127.0.0.1'): Promise<string> {
    const { supplier } = this.means;
    if (supplier === 'plain') return this.known(`http://${host}:${port}`);
    const front = await secureFront(port, this.came);
    this.fronts.push(front);
    return this.known(`https://${host}:${front.port}`);
  }

  /** The proxy may be asked for this address. */
  known(origin: string): string {
    this.targets.add(new URL(origin).host);
    return origin;
  }

  /** So many requests or connections came by this way. */
  get used(): number {
    return this.proxy?.asked.length ?? this.taken;
  }

  /** The other requests that reached the proxy. */
  get strays(): string[] {
    return (this.proxy?.asked ?? []).filter((line) => {
      const [, target = ''] = line.split(' ');
      return !this.targets.has(URL.parse(target)?.host || target);
    });
  }

  transport(pool: PoolSettings, guard: AddressGuard): SupplierTransport {
    const chosen = new SelectingTransport({ ...pool, ...this.egress }, guard);
    const { terms: egress } = this;
    return {
      dispatch: (request, handler) => chosen.dispatch({ ...request, egress }, handler),
      close: () => chosen.close(),
    };
  }

  close(): void {
    for (const front of this.fronts) front.stop();
    this.proxy?.close();
  }
}
