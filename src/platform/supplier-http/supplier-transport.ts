import type { IncomingHttpHeaders } from 'node:http';
import type { Fault, ByteParts } from '../../kernel';

export type RequestMethod = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE';

/** A certificate with its chain, and its key: both in PEM. */
export interface ClientIdentity {
  readonly certificate: string;
  readonly key: string;
}

/** Egress of one supplier; missing parts are as in the settings. */
export interface EgressTerms {
  /** Name of a proxy in the settings, or `direct` for none. */
  readonly proxy?: string;
  /** Additional trusted certificates, in PEM. */
  readonly ca?: string;
  readonly identity?: ClientIdentity;
}

export interface SupplierRequest {
  readonly url: URL;
  readonly method: RequestMethod;
  readonly headers: Record<string, string>;
  readonly body?: ByteParts | Buffer | string;
  /** Deadline of the response's head; defaults to the setting for complete responses. */
  readonly firstByteMs?: number;
  readonly idleMs?: number;
  readonly totalMs?: number;
  /** Called once a connection is available; a fault prevents the call from being sent. */
  readonly changedMind?: () => Fault | null;
  /** Must be the same object for all calls of one supplier, since results are cached by it. */
  readonly egress?: EgressTerms | undefined;
}

/** Receives a response: its head, its pieces, and finally one of the last two, once. */
export interface SupplierHandler {
  onHead?(status: number, headers: IncomingHttpHeaders): void;
  onData?(piece: Buffer): void;
  onEnd?(): void;
  onBroken?(error: Error): void;
}

export interface SupplierCall {
  /**
   * True if bytes might have been sent: the supplier might have executed the call, so it must not be blindly repeated.
   */
  readonly hasStarted: boolean;
  pause(): void;
  resume(): void;
  /** Ends the call; the handler is notified by `onBroken` with this reason. */
  abort(reason: Error): void;
}

/** Transport of requests to suppliers; the class is the token that Nest injects it by. */
export abstract class SupplierTransport {
  /**
   * Sends a request and reports to the handler, without promises or copies; redirects are ordinary responses. Exactly
   * one of `onEnd` and `onBroken` is called, once, at the end.
   */
  abstract dispatch(request: SupplierRequest, handler: SupplierHandler): SupplierCall;

  abstract close(): void;
}
