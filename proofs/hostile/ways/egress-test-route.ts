import {
  type AddressGuard,
  SelectingTransport,
  type EgressTerms,
  type SupplierTransport,
} from '#product/platform';
import { type ForwardProxy, startForwardProxy } from '../../../test/support/forward-proxy';
import { certificates } from './certificates';
import { type TlsFront, secureFront } from './fronts';

/** Proxies and certificates between us and a supplier, for one egress route (docs/egress.md). */
interface RouteMeans {
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
} as const satisfies Record<string, RouteMeans>;

export type EgressRouteName = keyof typeof means;
export const egressRouteNames = Object.keys(means) as readonly EgressRouteName[];

type TransportSettings = ConstructorParameters<typeof SelectingTransport>[0];
type EgressSettings = Pick<
  TransportSettings,
  Extract<keyof TransportSettings, `egress${string}` | 'noProxy'>
>;
/** Pool sizes and timeouts, without egress settings. */
export type PoolSettings = Omit<TransportSettings, keyof EgressSettings>;

const PROXY_NAME = 'house';

/** Egress route to servers of this machine, for the shipped service and for a transport in this process. */
export class EgressTestRoute {
  /** An explicitly named proxy overrides the rule that this machine is reached directly. */
  private readonly terms: EgressTerms | undefined;
  private readonly egress: EgressSettings;
  private readonly fronts: TlsFront[] = [];
  private readonly targets = new Set<string>();
  /** Number of connections to the fronts of suppliers. */
  private connectionCount = 0;
  private readonly countConnection = (): void => void (this.connectionCount += 1);

  private constructor(
    readonly means: RouteMeans,
    private readonly proxy: ForwardProxy | null,
  ) {
    this.terms = proxy === null ? undefined : { proxy: PROXY_NAME };
    const url = `${means.proxy === 'secure' ? 'https' : 'http'}://127.0.0.1:${proxy?.port}`;
    const isSecure = means.supplier !== 'plain';
    this.egress = {
      noProxy: '',
      egressProxies: proxy === null ? [] : [{ name: PROXY_NAME, url }],
      ...(isSecure && {
        egressCa: certificates.supplier,
        egressClientCertificate: certificates.client,
        egressClientKey: certificates.clientKey,
      }),
    };
  }

  static async open(name: EgressRouteName): Promise<EgressTestRoute> {
    const { proxy } = means[name];
    const tls = { cert: certificates.supplier, key: certificates.supplierKey };
    // Every name resolves to this machine.
    const resolve = (): string => '127.0.0.1';
    const openProxy =
      proxy === 'none' ? null : await startForwardProxy({ resolve, ...(proxy === 'secure' && { tls }) });
    return new EgressTestRoute(means[name], openProxy);
  }

  /** `settings` of a provider behind this route. */
  settings(others: object = {}): object {
    return this.terms === undefined ? others : { ...others, egress: this.terms };
  }

  /** Environment of the service; certificates apply to every supplier. */
  get environment(): Readonly<Record<string, string>> {
    const { egressProxies, egressCa, egressClientCertificate, egressClientKey } = this.egress;
    const named = {
      EGRESS_PROXIES: egressProxies.map(({ name, url }) => `${name}=${url}`).join(),
      EGRESS_CA: egressCa,
      EGRESS_CLIENT_CERTIFICATE: egressClientCertificate,
      EGRESS_CLIENT_KEY: egressClientKey,
    };
    const variables = Object.entries(named).flatMap(([name, value]) =>
      value ? [[name, value] as const] : [],
    );
    return Object.fromEntries(variables);
  }

  /** Origin under which a plain server on this port is reached. */
  async to(port: number, host = '127.0.0.1'): Promise<string> {
    const { supplier } = this.means;
    if (supplier === 'plain') return this.allowTarget(`http://${host}:${port}`);
    const front = await secureFront(port, this.countConnection);
    this.fronts.push(front);
    return this.allowTarget(`https://${host}:${front.port}`);
  }

  /** Registers an address that the proxy may be asked for. */
  allowTarget(origin: string): string {
    this.targets.add(new URL(origin).host);
    return origin;
  }

  /** Number of requests or connections through this route. */
  get useCount(): number {
    return this.proxy?.requestLines.length ?? this.connectionCount;
  }

  /** Unexpected requests that reached the proxy. */
  get unexpectedRequests(): string[] {
    return (this.proxy?.requestLines ?? []).filter((line) => {
      const [, target = ''] = line.split(' ');
      return !this.targets.has(URL.parse(target)?.host || target);
    });
  }

  transport(pool: PoolSettings, guard: AddressGuard): SupplierTransport {
    const chosenTransport = new SelectingTransport({ ...pool, ...this.egress }, guard);
    const { terms: egress } = this;
    return {
      dispatch: (request, handler) => chosenTransport.dispatch({ ...request, egress }, handler),
      close: () => chosenTransport.close(),
    };
  }

  close(): void {
    for (const front of this.fronts) front.stop();
    this.proxy?.close();
  }
}
