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
import { type Opener, type PoolSettings, type Way, WireTransport } from '../wire-transport';
import { EgressConnection, Router } from './egress-connection';
import type { Proxy } from './proxy';
import { refusalOf } from './tunnel';

/** What differs from a direct connection. */
export interface Needs {
  readonly proxy: Proxy | null;
  readonly proxyContext: SecureContext | undefined;
  readonly secureContext: SecureContext | undefined;
}

/**
 * Reaches suppliers through proxies or with other certificates. Tunnels are undici's; the parser of responses, pools and
 * deadlines are those of direct connections.
 */
export class EgressTransport implements SupplierTransport {
  private readonly wire: WireTransport;

  constructor(
    private readonly settings: PoolSettings,
    private readonly guard: AddressGuard,
    private readonly needs: Needs,
  ) {
    const way: Way = {
      openerTo: (origin) => this.openerTo(origin),
      targetOf: (url) => `${this.isForwarded(url) ? url.origin : ''}${url.pathname}${url.search}`,
    };
    this.wire = new WireTransport(settings, guard, way);
  }

  dispatch(request: SupplierRequest, handler: SupplierHandler): SupplierCall {
    const { proxy } = this.needs;
    if (proxy === null || !this.isForwarded(request.url)) return this.wire.dispatch(request, handler);
    const forwarded = new ForwardedAnswer(proxy, request.url, handler);
    const headers = { ...request.headers, ...proxy.headers };
    return (forwarded.call = this.wire.dispatch({ ...request, headers }, forwarded));
  }

  /** Opens a connection as far as the handshake, and closes it; nothing is sent. */
  tryOpening(origin: URL): Promise<void> {
    return new Promise((resolve, reject) => {
      const connection = this.openerTo(origin).open({
        restMs: 0,
        opened: () => {
          resolve();
          setImmediate(() => connection.destroy());
        },
        freed: () => undefined,
        closed: (_, __, failure) => reject(failure ?? new SupplierClosed()),
        strayed: () => undefined,
      });
    });
  }

  close(): void {
    this.wire.close();
  }

  /** As is customary, a proxy passes on what is plain, and connects to the rest. */
  private isForwarded({ protocol }: URL): boolean {
    return this.needs.proxy !== null && protocol === 'http:';
  }

  private openerTo(origin: URL): Opener {
    const { guard, needs } = this;
    const router = new Router({
      ...needs,
      origin,
      timeoutMs: this.settings.supplierConnectTimeoutMs,
      lookup: needs.proxy === null ? guard.lookupFor(origin) : undefined,
      check: () => guard.checkBehindProxy(origin),
    });
    return { open: (owner) => new EgressConnection(router, owner) };
  }
}

/** What a proxy answers for itself is not taken for the supplier's answer. */
class ForwardedAnswer implements SupplierHandler {
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
