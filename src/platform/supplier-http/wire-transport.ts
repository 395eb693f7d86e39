import { type Fault, fault, ByteParts } from '../../kernel';
import type { Settings } from '../config';
import { type AddressGuard, AddressRefused } from './address-guard';
import type { SupplierCall, SupplierHandler, SupplierRequest, SupplierTransport } from './supplier-transport';
import {
  type Carrier,
  Connection,
  ConnectionPool,
  connectorTo,
  type ConnectionOwner,
  requestHead,
  WireCall,
} from './wire';

/** A call on every connection and as many waiting: a slow supplier must not fill the node with waiting calls. */
const MAX_CALLS_PER_CONNECTION = 2;

const capacityFault = ({ host }: URL): Fault =>
  fault('capacity_exceeded', {
    status: 503,
    message: 'The supplier of this model has more calls waiting than it can answer. Try again in a moment.',
    retryAfterSeconds: 1,
    cause: new Error(`too many calls wait for ${host}`),
  });

export type PoolSettings = Pick<
  Settings,
  | 'supplierConnections'
  | 'supplierConnectTimeoutMs'
  | 'supplierFirstByteTimeoutMs'
  | 'supplierIdleTimeoutMs'
  | 'supplierRestMs'
  | 'supplierTotalTimeoutMs'
>;

export interface Opener {
  open(owner: ConnectionOwner): Carrier;
}

export interface IndirectRoute {
  openerTo(origin: URL): Opener;
  /** Request target for the URL of a call. */
  targetOf(url: URL): string;
}

interface Origin {
  readonly pool: ConnectionPool;
  readonly host: string;
  openCalls: number;
  readonly onFinish: () => void;
}

interface CallTarget {
  readonly origin: Origin;
  readonly path: string;
}

const emptyBody = new ByteParts([]);

/** HTTP/1.1 client with one bounded connection pool per origin, without redirects or retries. */
export class WireTransport implements SupplierTransport {
  private readonly origins = new Map<string, Origin>();
  /** Most calls reuse a parsed URL. */
  private targets = new WeakMap<URL, CallTarget>();

  constructor(
    private readonly settings: PoolSettings,
    private readonly guard: AddressGuard,
    private readonly route: IndirectRoute | null = null,
  ) {}

  dispatch(request: SupplierRequest, handler: SupplierHandler): SupplierCall {
    const { method, headers, body = emptyBody, changedMind } = request;
    const { settings } = this;
    const { origin, path } = this.targets.get(request.url) ?? this.targetOf(request.url);
    if (origin.openCalls >= settings.supplierConnections * MAX_CALLS_PER_CONNECTION)
      throw capacityFault(request.url);
    const pieces =
      body instanceof ByteParts ? body : new ByteParts([typeof body === 'string' ? Buffer.from(body) : body]);
    const head = requestHead({ method, path, host: origin.host }, headers, pieces.length);
    const terms = {
      firstByteMs: request.firstByteMs ?? settings.supplierFirstByteTimeoutMs,
      idleMs: request.idleMs ?? settings.supplierIdleTimeoutMs,
      totalMs: request.totalMs ?? settings.supplierTotalTimeoutMs,
      changedMind,
      isBodiless: method === 'HEAD',
    };
    origin.openCalls += 1;
    const call = new WireCall(head, pieces, handler, terms, origin.onFinish);
    origin.pool.send(call);
    return call;
  }

  close(): void {
    for (const { pool } of this.origins.values()) pool.close();
    this.origins.clear();
    this.targets = new WeakMap();
  }

  private targetOf(url: URL): CallTarget {
    const path = this.route === null ? `${url.pathname}${url.search}` : this.route.targetOf(url);
    const target = { origin: this.originOf(url), path };
    this.targets.set(url, target);
    return target;
  }

  private originOf(url: URL): Origin {
    const existing = this.origins.get(url.origin);
    if (existing) return existing;
    const address = new URL(url.origin);
    const pool = new ConnectionPool({
      ...(this.route?.openerTo(address) ?? this.directTo(address)),
      connections: this.settings.supplierConnections,
      restMs: this.settings.supplierRestMs,
      // Sockets do not resolve a literal address, so it is checked beforehand.
      check: () => {
        const checked = this.guard.checkBaseUrl(address.origin);
        return checked.ok ? null : new AddressRefused(address.host, checked.error);
      },
    });
    const origin = {
      pool,
      host: address.host,
      openCalls: 0,
      onFinish: (): void => void (origin.openCalls -= 1),
    };
    this.origins.set(url.origin, origin);
    return origin;
  }

  private directTo(origin: URL): Opener {
    const isEncrypted = origin.protocol === 'https:';
    const timeoutMs = this.settings.supplierConnectTimeoutMs;
    const connect = connectorTo({ origin, timeoutMs, lookup: this.guard.lookupFor(origin) });
    return { open: (owner) => new Connection(connect, isEncrypted, owner) };
  }
}
