import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import { DAY_MS, fault } from '../../kernel';
import type {
  EgressTerms,
  RequestMethod,
  SupplierCall,
  SupplierHandler,
  SupplierTransport,
} from '../supplier-http';

export interface OutgoingRequest {
  readonly url: string;
  readonly method?: RequestMethod;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  readonly signal?: AbortSignal;
  /** Egress of a supplier, if it has its own. */
  readonly egress?: EgressTerms | undefined;
}

export interface OutgoingBounds {
  readonly mostBytes: number;
  readonly deadlineMs: number;
}

export interface OutgoingResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** A response that is read as it arrives; a slow reader slows the sender down. */
export interface OpenedResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readable;
}

/** Some servers reject clients without a user agent. */
const AGENT = { 'user-agent': 'Switchboard' };
const BODILESS_STATUSES = new Set([204, 205, 304]);

/**
 * Client for outgoing requests other than to models: identity providers, the payment processor, extensions. Responses
 * are limited in size and time, redirects are not followed, and the address of every connection is checked.
 */
export class OutgoingClient {
  constructor(private readonly transport: SupplierTransport) {}

  read(request: OutgoingRequest, { mostBytes, deadlineMs }: OutgoingBounds): Promise<OutgoingResponse> {
    const { url, method = 'GET', headers = {}, body, signal, egress } = request;
    return new Promise((resolve, reject) => {
      const response = new BufferedResponse(mostBytes, resolve, reject);
      const call = this.transport.dispatch(
        {
          url: new URL(url),
          method,
          headers: { ...AGENT, ...headers },
          ...(body === undefined ? {} : { body }),
          egress,
          firstByteMs: deadlineMs,
          idleMs: deadlineMs,
          totalMs: deadlineMs,
        },
        response,
      );
      response.tooLarge = (): void => call.abort(fault('result_too_large'));
      signal?.addEventListener('abort', () => call.abort(abortedBy(signal)), { once: true });
    });
  }

  /**
   * The deadline applies to the headers, and to each pause after them. Callers that do not read the body must destroy
   * it.
   */
  open(
    request: OutgoingRequest,
    { deadlineMs }: Pick<OutgoingBounds, 'deadlineMs'>,
  ): Promise<OpenedResponse> {
    const { url, method = 'GET', headers = {}, body, signal } = request;
    return new Promise((resolve, reject) => {
      const response = new StreamedResponse(resolve, reject);
      const call = this.transport.dispatch(
        {
          url: new URL(url),
          method,
          headers: { ...AGENT, ...headers },
          ...(body === undefined ? {} : { body }),
          firstByteMs: deadlineMs,
          idleMs: deadlineMs,
          totalMs: DAY_MS,
        },
        response,
      );
      response.call = call;
      const abort = (): void => call.abort(abortedBy(signal!));
      signal?.addEventListener('abort', abort, { once: true });
      response.once('close', () => signal?.removeEventListener('abort', abort));
    });
  }

  /** For packages that use `fetch`. */
  fetchWithin(bounds: OutgoingBounds): typeof fetch {
    return async (input, { method = 'GET', headers, body, signal } = {}) => {
      const url = input instanceof Request ? input.url : String(input);
      const response = await this.read(
        {
          url,
          method: method as RequestMethod,
          headers: Object.fromEntries(new Headers(headers)),
          ...(typeof body === 'string' ? { body } : {}),
          ...(signal ? { signal } : {}),
        },
        bounds,
      );
      const fields = Object.entries(response.headers).map(([name, value]): [string, string] => [
        name,
        String(value),
      ]);
      return new Response(BODILESS_STATUSES.has(response.status) ? null : Uint8Array.from(response.body), {
        status: response.status,
        headers: fields,
      });
    };
  }

  close(): void {
    this.transport.close();
  }
}

const abortedBy = ({ reason }: AbortSignal): Error =>
  reason instanceof Error ? reason : new Error('the caller stopped waiting');

/** Buffers a response, and gives up if it is longer than allowed. */
class BufferedResponse implements SupplierHandler {
  private head: Pick<OutgoingResponse, 'status' | 'headers'> = { status: 0, headers: {} };
  private readonly pieces: Buffer[] = [];
  private bytes = 0;
  tooLarge: () => void = () => undefined;

  constructor(
    private readonly maxBytes: number,
    private readonly resolve: (response: OutgoingResponse) => void,
    private readonly reject: (error: Error) => void,
  ) {}

  onHead(status: number, headers: IncomingHttpHeaders): void {
    this.head = { status, headers };
  }

  onData(piece: Buffer): void {
    this.bytes += piece.length;
    if (this.bytes > this.maxBytes) this.tooLarge();
    else this.pieces.push(piece);
  }

  onEnd(): void {
    this.resolve({ ...this.head, body: Buffer.concat(this.pieces) });
  }

  onBroken(error: Error): void {
    this.reject(error);
  }
}

class StreamedResponse extends Readable implements SupplierHandler {
  call?: SupplierCall;
  private hasStarted = false;

  constructor(
    private readonly resolve: (response: OpenedResponse) => void,
    private readonly reject: (error: Error) => void,
  ) {
    super();
  }

  onHead(status: number, headers: IncomingHttpHeaders): void {
    this.hasStarted = true;
    this.resolve({ status, headers, body: this });
  }

  onData(piece: Buffer): void {
    if (!this.push(piece)) this.call?.pause();
  }

  onEnd(): void {
    this.push(null);
  }

  onBroken(error: Error): void {
    if (this.hasStarted) this.destroy(error);
    else {
      this.reject(error);
      this.destroy();
    }
  }

  override _read(): void {
    this.call?.resume();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.call?.abort(error ?? new Error('nobody reads the answer'));
    done(error);
  }
}
