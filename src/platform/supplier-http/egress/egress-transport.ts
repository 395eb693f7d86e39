import type { IncomingHttpHeaders } from 'node:http';
import type { SecureContext } from 'node:tls';
import type { AddressGuard } from '../address-guard';
import { ProxyFailed, SupplierClosed } from '../errors';
import type {
  SupplierCall,
  SupplierHandler,
  SupplierRequest,
  SupplierTransport,
} from '../supplier-transport';
import { type Opener, type PoolSettings, type IndirectRoute, WireTransport } from '../wire-transport';
import { EgressConnection, OriginConnector } from './egress-connection';
import type { Proxy } from './proxy';
import { refusalOf } from './tunnel';

/** Differences from a direct connection. */
export interface EgressNeeds {
  readonly proxy: Proxy | null;
  readonly proxyContext: SecureContext | undefined;
  readonly secureContext: SecureContext | undefined;
}

/**
 * Reaches suppliers through proxies or with other certificates. Tunnels are undici's; the response parser, pools and
 * deadlines are those of direct connections.
 */
export class EgressTransport implements SupplierTransport {
  private readonly wire: WireTransport;

  constructor(
    private readonly settings: PoolSettings,
    private readonly guard: AddressGuard,
    private readonly needs: EgressNeeds,
  ) {
    const route: IndirectRoute = {
      openerTo: (origin) => this.openerTo(origin),
      targetOf: (url) => `${this.isForwarded(url) ? url.origin : ''}${url.pathname}${url.search}`,
    };
    this.wire = new WireTransport(settings, guard, route);
  }

  dispatch(request: SupplierRequest, handler: SupplierHandler): SupplierCall {
    const { proxy } = this.needs;
    if (proxy === null || !this.isForwarded(request.url)) return this.wire.dispatch(request, handler);
    const forwarded = new ForwardedResponse(proxy, request.url, handler);
    const headers = { ...request.headers, ...proxy.headers };
    return (forwarded.call = this.wire.dispatch({ ...request, headers }, forwarded));
  }

  /** Opens a connection up to the handshake, and closes it; nothing is sent. */
  tryConnecting(origin: URL): Promise<void> {
    return new Promise((resolve, reject) => {
      const connection = this.openerTo(origin).open({
        restMs: 0,
        onOpened: () => {
          resolve();
          setImmediate(() => connection.destroy());
        },
        onFreed: () => undefined,
        onClosed: (_, __, failure) => reject(failure ?? new SupplierClosed()),
        onUnsolicited: () => undefined,
      });
    });
  }

  close(): void {
    this.wire.close();
  }

  /** As is customary, a proxy forwards plain requests, and tunnels the rest. */
  private isForwarded({ protocol }: URL): boolean {
    return this.needs.proxy !== null && protocol === 'http:';
  }

  private openerTo(origin: URL): Opener {
    const { guard, needs } = this;
    const connector = new OriginConnector({
      ...needs,
      origin,
      timeoutMs: this.settings.supplierConnectTimeoutMs,
      lookup: needs.proxy === null ? guard.lookupFor(origin) : undefined,
      check: () => guard.checkBehindProxy(origin),
    });
    return { open: (owner) => new EgressConnection(connector, owner) };
  }
}

/** Keeps a proxy's own responses apart from the supplier's. */
class ForwardedResponse implements SupplierHandler {
  call: SupplierCall | null = null;

  constructor(
    private readonly proxy: Proxy,
    private readonly url: URL,
    private readonly handler: SupplierHandler,
  ) {}

  onHead(status: number, headers: IncomingHttpHeaders): void {
    if (status !== 407) return this.handler.onHead?.(status, headers);
    this.call?.abort(new ProxyFailed(this.proxy.host, refusalOf(status, this.url.host)));
  }

  onData(piece: Buffer): void {
    this.handler.onData?.(piece);
  }

  onEnd(): void {
    this.handler.onEnd?.();
  }

  onBroken(error: Error): void {
    this.handler.onBroken?.(error);
  }
}
