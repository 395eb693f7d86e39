import type { Socket } from 'node:net';
import { buildConnector, type Dispatcher, Pool } from 'undici';
import { type Fault, fault } from '../../kernel';
import type { Settings } from '../config';
import { type AddressGuard, AddressRefused } from './address-guard';

export interface SupplierRequest {
  readonly url: URL;
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly headers: Record<string, string>;
  readonly body?: Buffer | string;
  /** How long the head of the answer may take; unset, the setting for whole answers. */
  readonly firstByteMs?: number;
  readonly idleMs?: number;
  readonly totalMs?: number;
  readonly signal?: AbortSignal;
  /** Asked when a connection is there at last: a fault is why the call is not sent after all. */
  readonly changedMind?: () => Fault | null;
}

export type SupplierHandler = Dispatcher.DispatchHandler;

export interface SupplierCall {
  /** Whether bytes may have left: such a call may have been carried out, and must not be repeated unthinkingly. */
  readonly begun: boolean;
  /** Ends the call; the handler learns of it by `onResponseError` with this reason. */
  abort(reason: Error): void;
}

export class SupplierDeadline extends Error {
  readonly code = 'SUPPLIER_DEADLINE';

  constructor(milliseconds: number) {
    super(`the supplier took longer than ${milliseconds} ms`);
    this.name = 'SupplierDeadline';
  }
}

/** One on every connection and as many that wait: what is slow must not fill the node with those who wait for it. */
const MOST_CALLS_PER_CONNECTION = 2;

const full = ({ host }: URL): Fault =>
  fault('capacity_exceeded', {
    status: 503,
    message: 'The supplier of this model has more calls waiting than it can answer. Try again in a moment.',
    retryAfterSeconds: 1,
    cause: new Error(`too many calls wait for ${host}`),
  });

type PoolSettings = Pick<
  Settings,
  | 'supplierConnections'
  | 'supplierConnectTimeoutMs'
  | 'supplierFirstByteTimeoutMs'
  | 'supplierIdleTimeoutMs'
  | 'supplierTotalTimeoutMs'
>;

interface Origin {
  readonly pool: Pool;
  /** How many calls are under way or waiting. */
  open: number;
}

interface Target {
  readonly origin: Origin;
  readonly path: string;
}

/** All connections to suppliers: one bounded pool an origin, nothing followed, nothing repeated. */
export class SupplierPools {
  private readonly origins = new Map<string, Origin>();
  /** Most calls go to addresses that have been taken apart before. */
  private targets = new WeakMap<URL, Target>();

  constructor(
    private readonly settings: PoolSettings,
    private readonly guard: AddressGuard,
  ) {}

  /**
   * Sends a request and reports to the handler, without a promise or a copy a chunk. Exactly one of the handler's
   * `onResponseEnd` and `onResponseError` is called, once, in the end. Redirects are answers like any other.
   */
  dispatch(request: SupplierRequest, handler: SupplierHandler): SupplierCall {
    const { method, headers, body = null, signal } = request;
    const { supplierFirstByteTimeoutMs, supplierTotalTimeoutMs, supplierIdleTimeoutMs } = this.settings;
    const { firstByteMs = supplierFirstByteTimeoutMs, totalMs = supplierTotalTimeoutMs } = request;
    const { origin, path } = this.targets.get(request.url) ?? this.targetOf(request.url);
    if (origin.open >= this.settings.supplierConnections * MOST_CALLS_PER_CONNECTION) throw full(request.url);
    origin.open += 1;
    const call = new OngoingCall(handler, firstByteMs, totalMs, signal, origin, request.changedMind);
    const options: Dispatcher.DispatchOptions = {
      path,
      method,
      headers,
      body,
      // The call's own clock also runs while it waits for a connection.
      headersTimeout: 0,
      bodyTimeout: request.idleMs ?? supplierIdleTimeoutMs,
    };
    try {
      if (!call.over) origin.pool.dispatch(options, call);
    } catch (error) {
      call.abort(errorOf(error));
    }
    return call;
  }

  async close(): Promise<void> {
    const origins = [...this.origins.values()];
    this.origins.clear();
    this.targets = new WeakMap();
    await Promise.all(origins.map(({ pool }) => pool.destroy()));
  }

  private targetOf(url: URL): Target {
    const target = { origin: this.originOf(url), path: `${url.pathname}${url.search}` };
    this.targets.set(url, target);
    return target;
  }

  private originOf(url: URL): Origin {
    const existing = this.origins.get(url.origin);
    if (existing) return existing;
    const pool = new Pool(url.origin, {
      connections: this.settings.supplierConnections,
      pipelining: 1,
      allowH2: false,
      keepAliveTimeout: 30_000,
      keepAliveMaxTimeout: 60_000,
      connect: this.connectorFor(new URL(url.origin)),
    });
    const origin = { pool, open: 0 };
    this.origins.set(url.origin, origin);
    return origin;
  }

  /** Sockets do not look up a host that is an address already, so that one is checked before they get it. */
  private connectorFor(origin: URL): buildConnector.connector {
    const options = {
      allowH2: false,
      timeout: this.settings.supplierConnectTimeoutMs,
      lookup: this.guard.lookupFor(origin),
    };
    // One for all connections keeps the sessions that they resume.
    const connect = origin.protocol === 'https:' ? buildConnector(options) : frugalConnector(options);
    return (options, callback) => {
      const checked = this.guard.checkBaseUrl(origin.origin);
      if (checked.ok) connect(options, callback);
      else callback(new AddressRefused(origin.host, checked.error), null);
    };
  }
}

/** What one read takes, and what waits in a socket at most before the next: beyond it the supplier is held up. */
const READ_BYTES = 16 * 1024;

/**
 * Reads into the same memory again and again: by itself a socket takes 64 KB for every read, and as much again for
 * whoever reads slowly. Encrypted connections cannot be told to.
 */
const frugalConnector =
  (options: buildConnector.BuildOptions): buildConnector.connector =>
  (target, callback) => {
    let socket: Socket | null = null;
    const read = (count: number, memory: Uint8Array): boolean => {
      const chunk = Buffer.allocUnsafe(count);
      chunk.set(memory.subarray(0, count));
      return socket!.push(chunk);
    };
    const reading = {
      highWaterMark: READ_BYTES,
      onread: { buffer: Buffer.allocUnsafeSlow(READ_BYTES), callback: read },
    };
    buildConnector({ ...options, ...reading })(target, (...outcome) => {
      socket = outcome[1];
      callback(...outcome);
    });
  };

/** Stands between undici and a handler: adds the deadlines and abortion at any time, and ends exactly once. */
class OngoingCall implements SupplierCall, Dispatcher.DispatchHandler {
  begun = false;
  over = false;
  private controller: Dispatcher.DispatchController | undefined;
  private reason: Error | undefined;
  private timer: NodeJS.Timeout;
  private answered = false;
  private readonly onAbort: (() => void) | undefined;

  constructor(
    private readonly handler: SupplierHandler,
    firstByteMs: number,
    totalMs: number,
    private readonly signal: AbortSignal | undefined,
    private readonly origin: Origin,
    private readonly changedMind: SupplierRequest['changedMind'],
  ) {
    // Most calls are over before the first clock runs out, so the second is started only then.
    const first = Math.min(firstByteMs, totalMs);
    this.timer = setTimeout(() => {
      if (!this.answered || first === totalMs) return this.abort(new SupplierDeadline(first));
      this.timer = setTimeout(() => this.abort(new SupplierDeadline(totalMs)), totalMs - first);
    }, first);
    if (signal === undefined) return;
    this.onAbort = (): void => this.abort(errorOf(signal.reason));
    signal.addEventListener('abort', this.onAbort, { once: true });
    if (signal.aborted) this.onAbort();
  }

  abort(reason: Error): void {
    if (this.over) return;
    this.reason = reason;
    if (this.controller) this.controller.abort(reason);
    // Still waiting for a connection: undici hands out no controller yet, and must not begin when it has one.
    this.fail(this.controller, reason);
  }

  onRequestStart(controller: Dispatcher.DispatchController, context: unknown): void {
    this.reason ??= this.changedMind?.() ?? undefined;
    if (this.reason) {
      controller.abort(this.reason);
      return this.fail(controller, this.reason);
    }
    this.begun = true;
    this.controller = controller;
    this.handler.onRequestStart?.(controller, context);
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Parameters<NonNullable<SupplierHandler['onResponseStart']>>[2],
    text?: string,
  ): void {
    this.answered ||= status >= 200;
    if (!this.over) this.handler.onResponseStart?.(controller, status, headers, text);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.over) this.handler.onResponseData?.(controller, chunk);
  }

  onResponseEnd(
    controller: Dispatcher.DispatchController,
    trailers: Parameters<NonNullable<SupplierHandler['onResponseEnd']>>[1],
  ): void {
    if (this.finish()) this.handler.onResponseEnd?.(controller, trailers);
  }

  onResponseError(controller: Dispatcher.DispatchController, error: Error): void {
    this.fail(controller, error);
  }

  private fail(controller: Dispatcher.DispatchController | undefined, error: Error): void {
    if (this.finish()) this.handler.onResponseError?.(controller ?? unbegun, error);
  }

  private finish(): boolean {
    if (this.over) return false;
    this.over = true;
    clearTimeout(this.timer);
    if (this.onAbort !== undefined) this.signal?.removeEventListener('abort', this.onAbort);
    this.origin.open -= 1;
    return true;
  }
}

/** The controller of a call that never got a connection. */
const unbegun: Dispatcher.DispatchController = {
  aborted: true,
  paused: false,
  reason: null,
  abort: () => undefined,
  pause: () => undefined,
  resume: () => undefined,
};

function errorOf(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error('the call was aborted');
}
