import type { IncomingHttpHeaders } from 'node:http';
import type { Fault, Pieces } from '../../kernel';

export interface SupplierRequest {
  readonly url: URL;
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly headers: Record<string, string>;
  readonly body?: Pieces | Buffer | string;
  /** How long the head of the answer may take; unset, the setting for whole answers. */
  readonly firstByteMs?: number;
  readonly idleMs?: number;
  readonly totalMs?: number;
  /** Asked when a connection is there at last: a fault is why the call is not sent after all. */
  readonly changedMind?: () => Fault | null;
}

/** Who is told of an answer: its head, its pieces, and in the end one of the last two, once. */
export interface SupplierHandler {
  onHead?(status: number, headers: IncomingHttpHeaders): void;
  onData?(piece: Buffer): void;
  onEnd?(): void;
  onBroken?(error: Error): void;
}

/** A call under way. */
export interface SupplierCall {
  /** Whether bytes may have left: such a call may have been carried out, and must not be repeated unthinkingly. */
  readonly begun: boolean;
  /** No more of the answer for now. */
  pause(): void;
  resume(): void;
  /** Ends the call; the handler learns of it by `onBroken` with this reason. */
  abort(reason: Error): void;
}

/** How requests reach suppliers; the class is what Nest injects the transport by. */
export abstract class SupplierTransport {
  /**
   * Sends a request and reports to the handler, without a promise or a copy a chunk. Exactly one of the handler's
   * `onEnd` and `onBroken` is called, once, in the end. Redirects are answers like any other.
   */
  abstract dispatch(request: SupplierRequest, handler: SupplierHandler): SupplierCall;

  /** Ends every call and connection. */
  abstract close(): void;
}
