import type { IncomingHttpHeaders } from 'node:http';
import { Fault, fault } from '../../kernel';
import { errorCode, type SupplierCall, type SupplierHandler } from '../../platform';
import type { ResponseUnwrapper } from './response-unwrapper';

export interface ResponseHead {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
}

export interface SupplierResponse extends ResponseHead {
  readonly body: Buffer;
}

/** Receives a supplier's response in chunks. `data` returns false while the reader cannot take more. */
export interface ExchangeReader {
  data(chunk: Buffer): boolean;
  end(): void;
  broken(cause: Fault): void;
}

const MAX_RESPONSE_BYTES = 64 * 1024 * 1024;

/** Maximum number of bytes, and maximum time, that a supplier can keep sending after a complete response. */
const MAX_BYTES_AFTER_END = 64 * 1024;
const MAX_TIME_AFTER_END_MS = 1_000;

type ExchangeEnding = { readonly kind: 'end' } | { readonly kind: 'broken'; readonly cause: Fault };

interface HeadWaiter {
  readonly resolve: (head: ResponseHead) => void;
  readonly reject: (cause: Fault) => void;
}

/**
 * A single call to a supplier, from the request to the last byte of the response. The head is a promise; the body goes
 * to a reader, which can be attached later and apply back-pressure.
 */
export class SupplierExchange implements SupplierHandler {
  private receivedHead: ResponseHead | null = null;
  private waiter: HeadWaiter | null = null;
  private reader: ExchangeReader | null = null;
  private readonly earlyChunks: Buffer[] = [];
  private ending: ExchangeEnding | null = null;
  private abortCause: Fault | null = null;
  private call: SupplierCall | null = null;
  private unwrapping: ResponseUnwrapper | undefined;

  /** `responseUnwrapper` removes the supplier's wrapping from a successful response. */
  constructor(private readonly responseUnwrapper?: ResponseUnwrapper) {}

  /** Resolves when the supplier starts to respond. */
  get head(): Promise<ResponseHead> {
    return new Promise((resolve, reject) => {
      if (this.receivedHead !== null) resolve(this.receivedHead);
      else if (this.ending !== null) reject(causeOf(this.ending));
      else this.waiter = { resolve, reject };
    });
  }

  /** Whether bytes were possibly sent, so that the supplier might be processing the request. */
  get hasStarted(): boolean {
    return this.call?.hasStarted ?? false;
  }

  /** Starts the call; `dispatch` must report to the given handler, which is this exchange. */
  start(dispatch: (handler: SupplierHandler) => SupplierCall): this {
    this.call = dispatch(this);
    return this;
  }

  /** Stops the call immediately; the supplier sees its connection close. */
  abort(cause: Fault): void {
    this.abortCause ??= cause;
    this.call?.abort(cause);
  }

  /** Passes the body to a reader: received chunks first, then the rest as it arrives. */
  attachReader(reader: ExchangeReader): void {
    this.reader = reader;
    for (const chunk of this.earlyChunks.splice(0)) this.deliver(chunk);
    if (this.ending !== null) this.report(this.ending);
  }

  async readBody(limit = MAX_RESPONSE_BYTES): Promise<Buffer> {
    return (await this.readResponse(limit)).body;
  }

  readResponse(limit = MAX_RESPONSE_BYTES): Promise<SupplierResponse> {
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      let size = 0;
      this.attachReader({
        data: (chunk) => {
          size += chunk.length;
          if (size > limit) this.abort(fault('provider_response_too_large'));
          else chunks.push(chunk);
          return true;
        },
        end: () => {
          const { status, headers } = this.receivedHead!;
          const onlyChunk = chunks.length === 1 ? chunks[0] : undefined;
          resolve({ status, headers, body: onlyChunk ?? Buffer.concat(chunks, size) });
        },
        broken: reject,
      });
    });
  }

  /**
   * Ends a complete response without reading the rest. A little more is accepted, so that the connection can be reused;
   * a supplier that then still does not end its body is aborted.
   */
  release(): void {
    if (this.ending !== null) return;
    let remaining = MAX_BYTES_AFTER_END;
    const abandon = (): void => this.abort(fault('upstream_invalid_response'));
    const timer = setTimeout(abandon, MAX_TIME_AFTER_END_MS).unref();
    const stop = (): void => clearTimeout(timer);
    this.reader = {
      data: ({ length }) => {
        remaining -= length;
        if (remaining < 0) abandon();
        return true;
      },
      end: stop,
      broken: stop,
    };
    this.resume();
  }

  resume(): void {
    this.call?.resume();
  }

  onHead(status: number, headers: IncomingHttpHeaders): void {
    this.unwrapping = status < 300 ? this.responseUnwrapper : undefined;
    const { contentType } = this.unwrapping ?? {};
    this.receivedHead = {
      status,
      headers: contentType === undefined ? headers : { ...headers, 'content-type': contentType },
    };
    this.waiter?.resolve(this.receivedHead);
  }

  onData(chunk: Buffer): void {
    const piece = this.unwrapping?.push(chunk) ?? chunk;
    if (!(piece instanceof Fault)) return this.deliver(piece);
    this.finish({ kind: 'broken', cause: piece });
    this.abort(piece);
  }

  onEnd(): void {
    const last = this.unwrapping?.end();
    if (last instanceof Fault) return this.finish({ kind: 'broken', cause: last });
    if (last !== undefined) this.deliver(last);
    this.finish({ kind: 'end' });
  }

  onBroken(error: Error): void {
    this.finish({ kind: 'broken', cause: this.abortCause ?? brokenConnection(error) });
  }

  private deliver(chunk: Buffer): void {
    if (chunk.length === 0) return;
    if (this.reader === null) this.earlyChunks.push(chunk);
    else if (!this.reader.data(chunk)) this.call?.pause();
  }

  private finish(ending: ExchangeEnding): void {
    if (this.ending !== null) return;
    this.ending = ending;
    if (this.receivedHead === null) this.waiter?.reject(causeOf(ending));
    this.report(ending);
  }

  private report(ending: ExchangeEnding): void {
    if (ending.kind === 'end' && this.receivedHead !== null) this.reader?.end();
    else this.reader?.broken(causeOf(ending));
  }
}

const causeOf = (ending: ExchangeEnding): Fault =>
  ending.kind === 'broken' ? ending.cause : fault('upstream_unavailable');

const timeOuts = new Set(['ETIMEDOUT', 'SUPPLIER_DEADLINE']);

/** Error code of a response that violates HTTP. */
const BROKEN_RESPONSE = 'SUPPLIER_BROKEN_ANSWER';

/** Error codes for exhausted file descriptors of this process or machine; the supplier was not called. */
const outOfDescriptors = new Set(['EMFILE', 'ENFILE']);

function brokenConnection(error: Error): Fault {
  if (error instanceof Fault) return error;
  const code = errorCode(error);
  if (outOfDescriptors.has(code))
    return fault('capacity_exceeded', {
      status: 503,
      message: 'The service has no connection to spare. Try again in a moment.',
      retryAfterSeconds: 1,
      cause: error,
    });
  if (code === BROKEN_RESPONSE) return fault('upstream_invalid_response', { cause: error });
  return fault(timeOuts.has(code) ? 'upstream_timeout' : 'upstream_unavailable', { cause: error });
}
