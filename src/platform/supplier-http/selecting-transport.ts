import type { AddressGuard } from './address-guard';
import { EgressTransport } from './egress/egress-transport';
import { type EgressOptions, EgressRouter } from './egress/egress-router';
import type {
  EgressTerms,
  SupplierCall,
  SupplierHandler,
  SupplierRequest,
  SupplierTransport,
} from './supplier-transport';
import { type PoolSettings, WireTransport } from './wire-transport';

interface TransportChoice {
  readonly terms: EgressTerms | undefined;
  readonly transport: SupplierTransport;
}

/**
 * Sends each call by the transport that its supplier needs. If no supplier needs a special one, nothing is looked up.
 */
export class SelectingTransport implements SupplierTransport {
  private readonly wire: WireTransport;
  private readonly router: EgressRouter;
  private readonly egressTransports = new Map<string, EgressTransport>();
  /** Most calls reuse a parsed URL. */
  private readonly choices = new WeakMap<URL, TransportChoice>();

  constructor(
    private readonly settings: PoolSettings & EgressOptions,
    private readonly guard: AddressGuard,
  ) {
    this.wire = new WireTransport(settings, guard);
    this.router = new EgressRouter(settings);
  }

  dispatch(request: SupplierRequest, handler: SupplierHandler): SupplierCall {
    const { egress, url } = request;
    const transport =
      egress === undefined && !this.router.hasRules ? this.wire : this.transportFor(url, egress);
    return transport.dispatch(request, handler);
  }

  /** Null if a URL is reached directly; otherwise tries to connect, up to the handshake. */
  tryConnecting(url: URL, terms: EgressTerms | undefined): Promise<void> | null {
    const transport = this.selectTransport(url, terms);
    return transport instanceof EgressTransport ? transport.tryConnecting(new URL(url.origin)) : null;
  }

  close(): void {
    this.wire.close();
    for (const transport of this.egressTransports.values()) transport.close();
    this.egressTransports.clear();
  }

  private transportFor(url: URL, terms: EgressTerms | undefined): SupplierTransport {
    const existing = this.choices.get(url);
    if (existing !== undefined && existing.terms === terms) return existing.transport;
    const transport = this.selectTransport(url, terms);
    this.choices.set(url, { terms, transport });
    return transport;
  }

  private selectTransport(url: URL, terms: EgressTerms | undefined): SupplierTransport {
    const route = this.router.routeTo(url, terms);
    if (route === null) return this.wire;
    let transport = this.egressTransports.get(route.key);
    if (transport === undefined) {
      transport = new EgressTransport(this.settings, this.guard, route.needs());
      this.egressTransports.set(route.key, transport);
    }
    return transport;
  }
}
