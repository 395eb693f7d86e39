import type { IncomingHttpHeaders } from 'node:http';
import type { Fault, Pieces } from '../../kernel';

export type RequestMethod = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE';

/** A certificate, with those that vouch for it, and its key: both in PEM. */
export interface ClientIdentity {
  readonly certificate: string;
  readonly key: string;
}

/** What one supplier asks of the way to it; what is missing is as the settings say. */
export interface EgressTerms {
  /** The name of a proxy of the settings, or `direct` for none. */
  readonly proxy?: string;
  /** Certificates in PEM that are trusted, too. */
  readonly ca?: string;
  readonly identity?: ClientIdentity;
}

export interface SupplierRequest {
  readonly url: URL;
  readonly method: RequestMethod;
  readonly headers: Record<string, string>;
  readonly body?: Pieces | Buffer | string;
  /** The deadline of the answer's head; unset, the setting for whole answers. */
  readonly firstByteMs?: number;
  readonly idleMs?: number;
  readonly totalMs?: number;
  /** Asked once a connection is available: a fault stops the call from being sent. */
  readonly changedMind?: () => Fault | null;
  /** The same object for all calls of one supplier, as what follows from it is kept by it. */
  readonly egress?: EgressTerms | undefined;
}

/** The handler is told of an answer: its head, its pieces, and at the end one of the last two, once. */
export interface SupplierHandler {
  onHead?(status: number, headers: IncomingHttpHeaders): void;
  onData?(piece: Buffer): void;
  onEnd?(): void;
  onBroken?(error: Error): void;
}

/** A call under way. */
export interface SupplierCall {
  /** Bytes may have left: the supplier may have executed such a call, so it must not be blindly repeated. */
  readonly begun: boolean;
  /** Pauses the answer (back-pressure). */
  pause(): void;
  resume(): void;
  /** Ends the call; the handler learns of it by `onBroken` with this reason. */
  abort(reason: Error): void;
}

/** Requests reach suppliers by a transport; the class is the token that Nest injects it by. */
export abstract class SupplierTransport {
  /**
   * Sends a request and reports to the handler, without promises or copies. Exactly one of `onEnd` and `onBroken` is
   * called, once, at the end. Redirects are ordinary answers.
   */
  abstract dispatch(request: SupplierRequest, handler: SupplierHandler): SupplierCall;

  /** Ends every call and connection. */
  abstract close(): void;
}
