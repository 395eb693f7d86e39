import type { Socket } from 'node:net';
import type { SecureContext } from 'node:tls';
import { AddressRefused } from '../address-guard';
import { ProxyFailed, SupplierClosed, SupplierDeadline } from '../errors';
import {
  type Carrier,
  Connection,
  connectorTo,
  type Destination,
  type Owner,
  readingFrom,
  secureConnectorTo,
  type WireCall,
} from '../wire';
import type { Proxy } from './proxy';
import { problemOf, tunnelThrough } from './tunnel';

/** How one origin is reached. */
export interface Route {
  readonly origin: URL;
  readonly timeoutMs: number;
  readonly proxy: Proxy | null;
  /** What the proxy is trusted by. */
  readonly proxyContext: SecureContext | undefined;
  readonly secureContext: SecureContext | undefined;
  readonly lookup: Destination['lookup'];
  /** Throws where the origin may not be connected to. */
  check(): Promise<void>;
}

/** Opens the connections to one origin. What is the same for all of them is made once. */
export class Router {
  readonly secure: ReturnType<typeof secureConnectorTo>;
  /** A proxy passes on requests for plain origins: then it is what is connected to. */
  readonly plain: ReturnType<typeof connectorTo>;
  readonly isForwarded: boolean;
  readonly isEncrypted: boolean;

  constructor(readonly route: Route) {
    const { origin, proxy, timeoutMs, lookup, secureContext, proxyContext } = route;
    const isSecure = origin.protocol === 'https:';
    this.isForwarded = proxy !== null && !isSecure;
    this.isEncrypted = isSecure || (this.isForwarded && proxy!.origin.protocol === 'https:');
    this.secure = secureConnectorTo({ origin, timeoutMs, lookup, secureContext });
    this.plain = connectorTo(
      this.isForwarded
        ? { origin: proxy!.origin, timeoutMs, secureContext: proxyContext }
        : { origin, timeoutMs, lookup },
    );
  }
}

/** A connection through a proxy, or with certificates of its own. */
export class EgressConnection implements Carrier {
  private inner: Connection | null = null;
  private readonly ending = new AbortController();
  private readonly late: NodeJS.Timeout;
  /** It is open, or never will be. */
  private isOver = false;
  private isReported = false;

  constructor(
    private readonly router: Router,
    private readonly owner: Owner,
  ) {
    const { timeoutMs, proxy } = router.route;
    const through = proxy === null ? '' : ` through the proxy ${proxy.host}`;
    this.late = setTimeout(
      () => this.giveUp(new SupplierDeadline(`took no connection${through} within`, timeoutMs)),
      timeoutMs,
    );
    this.connect().catch((error: unknown) => this.giveUp(error as Error));
  }

  get isUsable(): boolean {
    return this.inner?.isUsable ?? false;
  }

  get restMs(): number {
    return this.inner?.restMs ?? 0;
  }

  carry(call: WireCall): void {
    this.inner!.carry(call);
  }

  destroy(error?: Error): void {
    if (this.inner === null) this.giveUp(error ?? new SupplierClosed());
    else this.inner.destroy(error);
  }

  private async connect(): Promise<void> {
    const { route, isForwarded, isEncrypted, secure, plain } = this.router;
    if (route.proxy !== null) await route.check();
    if (this.isOver) return;
    if (route.origin.protocol !== 'https:' || isForwarded) {
      this.inner = new Connection(plain, isEncrypted, this.within());
      return;
    }
    const tunnel = await this.tunnel();
    if (this.isOver) return void tunnel?.destroy();
    this.inner = new Connection((reading) => readingFrom(secure(tunnel), reading), true, this.within());
  }

  private tunnel(): Promise<Socket | undefined> {
    const { proxy, origin, timeoutMs, proxyContext: secureContext } = this.router.route;
    if (proxy === null) return Promise.resolve(undefined);
    const target = `${origin.hostname}:${origin.port || '443'}`;
    return tunnelThrough({ proxy, target, secureContext, timeoutMs, signal: this.ending.signal });
  }

  /** The connection within tells of itself as of this one. */
  private within(): Owner {
    const { owner } = this;
    return {
      get restMs() {
        return owner.restMs;
      },
      opened: () => {
        this.isOver = true;
        clearTimeout(this.late);
        owner.opened(this);
      },
      freed: () => owner.freed(this),
      closed: (_, wasOpen, failure) => this.report(wasOpen, failure),
      strayed: () => owner.strayed(),
    };
  }

  /** It does not come to be open. */
  private giveUp(error: Error): void {
    if (this.isOver) return;
    this.ending.abort(error);
    this.report(false, error);
    this.inner?.destroy();
  }

  private report(wasOpen: boolean, failure: Error | null): void {
    if (this.isReported) return;
    this.isOver = this.isReported = true;
    clearTimeout(this.late);
    this.owner.closed(this, wasOpen, wasOpen || failure === null ? failure : this.toldOf(failure));
  }

  /** Where a proxy is all that is connected to, it is the one that failed. */
  private toldOf(failure: Error): Error {
    const { isForwarded, route } = this.router;
    const isOurs = failure instanceof SupplierDeadline || failure instanceof AddressRefused;
    return isForwarded && !isOurs ? new ProxyFailed(route.proxy!.host, problemOf(failure), failure) : failure;
  }
}
