import type { AddressGuard } from './address-guard';
import { EgressTransport } from './egress/egress-transport';
import { type EgressSettings, Ways } from './egress/ways';
import type {
  EgressTerms,
  SupplierCall,
  SupplierHandler,
  SupplierRequest,
  SupplierTransport,
} from './supplier-transport';
import { type PoolSettings, WireTransport } from './wire-transport';

interface Choice {
  readonly terms: EgressTerms | undefined;
  readonly transport: SupplierTransport;
}

/** Sends each call by the transport that its supplier needs. Where none needs anything, nothing is looked up. */
export class ChosenTransport implements SupplierTransport {
  private readonly wire: WireTransport;
  private readonly ways: Ways;
  private readonly others = new Map<string, EgressTransport>();
  /** Most calls reuse a parsed address. */
  private readonly choices = new WeakMap<URL, Choice>();

  constructor(
    private readonly settings: PoolSettings & EgressSettings,
    private readonly guard: AddressGuard,
  ) {
    this.wire = new WireTransport(settings, guard);
    this.ways = new Ways(settings);
  }

  dispatch(request: SupplierRequest, handler: SupplierHandler): SupplierCall {
    const { egress, url } = request;
    const transport =
      egress === undefined && !this.ways.hasRules ? this.wire : this.transportFor(url, egress);
    return transport.dispatch(request, handler);
  }

  /** Null where an address is reached directly; else tries to, as far as the handshake. */
  tryOpening(url: URL, terms: EgressTerms | undefined): Promise<void> | null {
    const chosen = this.chosenFor(url, terms);
    return chosen instanceof EgressTransport ? chosen.tryOpening(new URL(url.origin)) : null;
  }

  close(): void {
    this.wire.close();
    for (const transport of this.others.values()) transport.close();
    this.others.clear();
  }

  private transportFor(url: URL, terms: EgressTerms | undefined): SupplierTransport {
    const known = this.choices.get(url);
    if (known !== undefined && known.terms === terms) return known.transport;
    const transport = this.chosenFor(url, terms);
    this.choices.set(url, { terms, transport });
    return transport;
  }

  private chosenFor(url: URL, terms: EgressTerms | undefined): SupplierTransport {
    const way = this.ways.to(url, terms);
    if (way === null) return this.wire;
    let transport = this.others.get(way.key);
    if (transport === undefined) {
      transport = new EgressTransport(this.settings, this.guard, way.needs());
      this.others.set(way.key, transport);
    }
    return transport;
  }
}
