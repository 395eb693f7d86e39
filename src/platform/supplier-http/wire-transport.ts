import { type Fault, fault, Pieces } from '../../kernel';
import type { Settings } from '../config';
import { type AddressGuard, AddressRefused } from './address-guard';
import type { SupplierCall, SupplierHandler, SupplierRequest, SupplierTransport } from './supplier-transport';
import {
  type Carrier,
  Connection,
  ConnectionPool,
  connectorTo,
  type Owner,
  requestHead,
  WireCall,
} from './wire';

/** One call on every connection and as many waiting: a slow supplier must not fill the node with waiting calls. */
const MOST_CALLS_PER_CONNECTION = 2;

const full = ({ host }: URL): Fault =>
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

/** How connections to one origin are opened. */
export interface Opener {
  open(owner: Owner): Carrier;
}

/** A way to suppliers other than the direct one. */
export interface Way {
  openerTo(origin: URL): Opener;
  /** A request line has this for the address of a call. */
  targetOf(url: URL): string;
}

interface Origin {
  readonly pool: ConnectionPool;
  readonly host: string;
  /** So many calls are under way or waiting. */
  open: number;
  readonly leave: () => void;
}

interface Target {
  readonly origin: Origin;
  readonly path: string;
}

const nothing = new Pieces([]);

/** Speaks HTTP/1.1 for us: one bounded connection pool for each origin, without redirects or retries. */
export class WireTransport implements SupplierTransport {
  private readonly origins = new Map<string, Origin>();
  /** Most calls reuse a parsed address. */
  private targets = new WeakMap<URL, Target>();

  constructor(
    private readonly settings: PoolSettings,
    private readonly guard: AddressGuard,
    private readonly way: Way | null = null,
  ) {}

  dispatch(request: SupplierRequest, handler: SupplierHandler): SupplierCall {
    const { method, headers, body = nothing, changedMind } = request;
    const { settings } = this;
    const { origin, path } = this.targets.get(request.url) ?? this.targetOf(request.url);
    if (origin.open >= settings.supplierConnections * MOST_CALLS_PER_CONNECTION) throw full(request.url);
    const pieces =
      body instanceof Pieces ? body : new Pieces([typeof body === 'string' ? Buffer.from(body) : body]);
    const head = requestHead({ method, path, host: origin.host }, headers, pieces.length);
    const terms = {
      firstByteMs: request.firstByteMs ?? settings.supplierFirstByteTimeoutMs,
      idleMs: request.idleMs ?? settings.supplierIdleTimeoutMs,
      totalMs: request.totalMs ?? settings.supplierTotalTimeoutMs,
      changedMind,
      isBodiless: method === 'HEAD',
    };
    origin.open += 1;
    const call = new WireCall(head, pieces, handler, terms, origin.leave);
    origin.pool.send(call);
    return call;
  }

  close(): void {
    for (const { pool } of this.origins.values()) pool.close();
    this.origins.clear();
    this.targets = new WeakMap();
  }

  private targetOf(url: URL): Target {
    const path = this.way === null ? `${url.pathname}${url.search}` : this.way.targetOf(url);
    const target = { origin: this.originOf(url), path };
    this.targets.set(url, target);
    return target;
  }

  private originOf(url: URL): Origin {
    const existing = this.origins.get(url.origin);
    if (existing) return existing;
    const address = new URL(url.origin);
    const pool = new ConnectionPool({
      ...(this.way?.openerTo(address) ?? this.directTo(address)),
      connections: this.settings.supplierConnections,
      restMs: this.settings.supplierRestMs,
      // Sockets do not resolve a literal address, so that one is checked beforehand.
      check: () => {
        const checked = this.guard.checkBaseUrl(address.origin);
        return checked.ok ? null : new AddressRefused(address.host, checked.error);
      },
    });
    const origin = { pool, host: address.host, open: 0, leave: (): void => void (origin.open -= 1) };
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
