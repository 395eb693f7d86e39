import type { Socket } from 'node:net';
import type { SecureContext } from 'node:tls';
import { AddressRefused } from '../address-guard';
import { ProxyFailed, SupplierClosed, SupplierDeadline } from '../errors';
import {
  type Carrier,
  Connection,
  connectorTo,
  type ConnectDestination,
  type ConnectionOwner,
  attachReader,
  secureConnectorTo,
  type WireCall,
} from '../wire';
import type { Proxy } from './proxy';
import { problemOf, tunnelThrough } from './tunnel';

export interface OriginRoute {
  readonly origin: URL;
  readonly timeoutMs: number;
  readonly proxy: Proxy | null;
  /** Trusted certificates for the proxy itself. */
  readonly proxyContext: SecureContext | undefined;
  readonly secureContext: SecureContext | undefined;
  readonly lookup: ConnectDestination['lookup'];
  /** Throws if the origin must not be connected to. */
  check(): Promise<void>;
}

/** Opens the connections to one origin. Everything that they share is created once. */
export class OriginConnector {
  readonly secure: ReturnType<typeof secureConnectorTo>;
  /** A proxy forwards requests for plain origins: connections then go to the proxy. */
  readonly plain: ReturnType<typeof connectorTo>;
  readonly isForwarded: boolean;
  readonly isEncrypted: boolean;

  constructor(readonly route: OriginRoute) {
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

/** A connection through a proxy, or with its own certificates. */
export class EgressConnection implements Carrier {
  private inner: Connection | null = null;
  private readonly ending = new AbortController();
  private readonly timer: NodeJS.Timeout;
  /** True once the connection is open, or never will be. */
  private isSettled = false;
  private isReported = false;

  constructor(
    private readonly connector: OriginConnector,
    private readonly owner: ConnectionOwner,
  ) {
    const { timeoutMs, proxy } = connector.route;
    const through = proxy === null ? '' : ` through the proxy ${proxy.host}`;
    this.timer = setTimeout(
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
    const { route, isForwarded, isEncrypted, secure, plain } = this.connector;
    if (route.proxy !== null) await route.check();
    if (this.isSettled) return;
    if (route.origin.protocol !== 'https:' || isForwarded) {
      this.inner = new Connection(plain, isEncrypted, this.ownerOfInner());
      return;
    }
    const tunnel = await this.tunnel();
    if (this.isSettled) return void tunnel?.destroy();
    this.inner = new Connection(
      (reading) => attachReader(secure(tunnel), reading),
      true,
      this.ownerOfInner(),
    );
  }

  private tunnel(): Promise<Socket | undefined> {
    const { proxy, origin, timeoutMs, proxyContext: secureContext } = this.connector.route;
    if (proxy === null) return Promise.resolve(undefined);
    const target = `${origin.hostname}:${origin.port || '443'}`;
    return tunnelThrough({ proxy, target, secureContext, timeoutMs, signal: this.ending.signal });
  }

  /** Makes the inner connection report as this one. */
  private ownerOfInner(): ConnectionOwner {
    const { owner } = this;
    return {
      get restMs() {
        return owner.restMs;
      },
      onOpened: () => {
        this.isSettled = true;
        clearTimeout(this.timer);
        owner.onOpened(this);
      },
      onFreed: () => owner.onFreed(this),
      onClosed: (_, wasOpen, failure) => this.report(wasOpen, failure),
      onUnsolicited: () => owner.onUnsolicited(),
    };
  }

  /** Ends a connection that does not open. */
  private giveUp(error: Error): void {
    if (this.isSettled) return;
    this.ending.abort(error);
    this.report(false, error);
    this.inner?.destroy();
  }

  private report(wasOpen: boolean, failure: Error | null): void {
    if (this.isReported) return;
    this.isSettled = this.isReported = true;
    clearTimeout(this.timer);
    this.owner.onClosed(this, wasOpen, wasOpen || failure === null ? failure : this.reportedFailure(failure));
  }

  /** If connections go only to a proxy, the proxy is the one that failed. */
  private reportedFailure(failure: Error): Error {
    const { isForwarded, route } = this.connector;
    const isOwnFailure = failure instanceof SupplierDeadline || failure instanceof AddressRefused;
    return isForwarded && !isOwnFailure
      ? new ProxyFailed(route.proxy!.host, problemOf(failure), failure)
      : failure;
  }
}
