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
  /** A supplier's own way, where it has one. */
  readonly egress?: EgressTerms | undefined;
}

/** The answer may take this much time and room. */
export interface OutgoingBounds {
  readonly mostBytes: number;
  readonly deadlineMs: number;
}

export interface OutgoingAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** An answer that is read as it comes; a slow reader slows the sender down. */
export interface OpenedAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readable;
}

/** Some servers refuse a program that does not say what it is. */
const AGENT = { 'user-agent': 'Switchboard' };
const MAY_HAVE_NO_BODY = new Set([204, 205, 304]);

/**
 * Every read of the product that no model answers: identity providers, the payment processor and what extensions ask.
 * Answers are bounded in bytes and time; redirects are ordinary answers; the address is checked at every connection.
 */
export class OutgoingClient {
  constructor(private readonly transport: SupplierTransport) {}

  read(request: OutgoingRequest, { mostBytes, deadlineMs }: OutgoingBounds): Promise<OutgoingAnswer> {
    const { url, method = 'GET', headers = {}, body, signal, egress } = request;
    return new Promise((resolve, reject) => {
      const answer = new WholeAnswer(mostBytes, resolve, reject);
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
        answer,
      );
      answer.tooLarge = (): void => call.abort(fault('result_too_large'));
      signal?.addEventListener('abort', () => call.abort(abortedBy(signal)), { once: true });
    });
  }

  /** The deadline is that of the head, and of each silence behind it. Who does not read the body destroys it. */
  open(request: OutgoingRequest, { deadlineMs }: Pick<OutgoingBounds, 'deadlineMs'>): Promise<OpenedAnswer> {
    const { url, method = 'GET', headers = {}, body, signal } = request;
    return new Promise((resolve, reject) => {
      const answer = new PassedAnswer(resolve, reject);
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
        answer,
      );
      answer.call = call;
      const leave = (): void => call.abort(abortedBy(signal!));
      signal?.addEventListener('abort', leave, { once: true });
      answer.once('close', () => signal?.removeEventListener('abort', leave));
    });
  }

  /** It serves packages that ask by `fetch`. */
  fetchWithin(bounds: OutgoingBounds): typeof fetch {
    return async (input, { method = 'GET', headers, body, signal } = {}) => {
      const url = input instanceof Request ? input.url : String(input);
      const answer = await this.read(
        {
          url,
          method: method as RequestMethod,
          headers: Object.fromEntries(new Headers(headers)),
          ...(typeof body === 'string' ? { body } : {}),
          ...(signal ? { signal } : {}),
        },
        bounds,
      );
      const fields = Object.entries(answer.headers).map(([name, value]): [string, string] => [
        name,
        String(value),
      ]);
      return new Response(MAY_HAVE_NO_BODY.has(answer.status) ? null : Uint8Array.from(answer.body), {
        status: answer.status,
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

/** Gathers an answer, and gives up where it is longer than allowed. */
class WholeAnswer implements SupplierHandler {
  private head: Pick<OutgoingAnswer, 'status' | 'headers'> = { status: 0, headers: {} };
  private readonly pieces: Buffer[] = [];
  private bytes = 0;
  tooLarge: () => void = () => undefined;

  constructor(
    private readonly mostBytes: number,
    private readonly resolve: (answer: OutgoingAnswer) => void,
    private readonly reject: (error: Error) => void,
  ) {}

  onHead(status: number, headers: IncomingHttpHeaders): void {
    this.head = { status, headers };
  }

  onData(piece: Buffer): void {
    this.bytes += piece.length;
    if (this.bytes > this.mostBytes) this.tooLarge();
    else this.pieces.push(piece);
  }

  onEnd(): void {
    this.resolve({ ...this.head, body: Buffer.concat(this.pieces) });
  }

  onBroken(error: Error): void {
    this.reject(error);
  }
}

/** Passes an answer on piece by piece. */
class PassedAnswer extends Readable implements SupplierHandler {
  call?: SupplierCall;
  private isBegun = false;

  constructor(
    private readonly resolve: (answer: OpenedAnswer) => void,
    private readonly reject: (error: Error) => void,
  ) {
    super();
  }

  onHead(status: number, headers: IncomingHttpHeaders): void {
    this.isBegun = true;
    this.resolve({ status, headers, body: this });
  }

  onData(piece: Buffer): void {
    if (!this.push(piece)) this.call?.pause();
  }

  onEnd(): void {
    this.push(null);
  }

  onBroken(error: Error): void {
    if (this.isBegun) this.destroy(error);
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
