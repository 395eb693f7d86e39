import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { Fault, fault } from '../../kernel';
import { errorCode, type SupplierCall, type SupplierHandler } from '../../platform';
import type { Unframer } from './kit';

export interface AnswerHead {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
}

/** Who reads a supplier's answer. `data` answers false while it cannot take more. */
export interface AnswerReader {
  data(chunk: Buffer): boolean;
  end(): void;
  broken(cause: Fault): void;
}

const EVENTS = 'text/event-stream';

export interface ExchangeOptions {
  /** Takes streams out of what the supplier wraps them in. */
  readonly unframer?: Unframer;
}

const LARGEST_ANSWER = 64 * 1024 * 1024;

type Ending = { readonly kind: 'end' } | { readonly kind: 'broken'; readonly cause: Fault };

/**
 * One call to a supplier, from the request to the last byte of the answer. The head is a promise; the body goes
 * to whoever reads it, who may come later than its first bytes and may be slower than they are.
 */
export class SupplierExchange implements SupplierHandler {
  readonly head: Promise<AnswerHead>;
  private resolveHead: (head: AnswerHead) => void;
  private rejectHead: (cause: Fault) => void;
  private controller: Dispatcher.DispatchController | null = null;
  private reader: AnswerReader | null = null;
  private readonly early: Buffer[] = [];
  private ending: Ending | null = null;
  private refused: Fault | null = null;
  private answered = false;
  private call: SupplierCall | null = null;
  private unframer: Unframer | undefined;

  constructor(private readonly options: ExchangeOptions = {}) {
    this.head = new Promise((resolve, reject) => {
      this.resolveHead = resolve;
      this.rejectHead = reject;
    });
  }

  /** Begins the call; what it is sent to reports to this exchange from then on. */
  begin(dispatch: (handler: SupplierHandler) => SupplierCall): this {
    this.call = dispatch(this);
    return this;
  }

  /** Stops the call at once; the supplier sees its connection close. */
  abort(cause: Fault): void {
    this.refused ??= cause;
    this.call?.abort(cause);
  }

  /** Hands over the body: what has come already, then the rest as it comes. */
  read(reader: AnswerReader): void {
    this.reader = reader;
    for (const chunk of this.early.splice(0)) this.pass(chunk);
    if (this.ending !== null) this.tell(this.ending);
  }

  /** The whole body, for answers that are read before anything is decided. */
  whole(limit = LARGEST_ANSWER): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      let size = 0;
      this.read({
        data: (chunk) => {
          size += chunk.length;
          if (size > limit) this.abort(fault('provider_response_too_large'));
          else chunks.push(chunk);
          return true;
        },
        end: () =>
          resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, size)),
        broken: reject,
      });
    });
  }

  /** The reader can take more again. */
  resume(): void {
    if (this.controller?.paused === true) {
      this.controller.resume();
    }
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    // Informational answers (1xx) precede the real one.
    if (status < 200) return;
    this.answered = true;
    const head = { status, headers };
    this.unframer = status < 300 ? this.options.unframer : undefined;
    this.resolveHead(this.unframer ? { status, headers: { ...headers, 'content-type': EVENTS } } : head);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const piece = this.unframer?.push(chunk) ?? chunk;
    if (!(piece instanceof Fault)) return this.pass(piece);
    this.finish({ kind: 'broken', cause: piece });
    this.abort(piece);
  }

  onResponseEnd(): void {
    const cause = this.unframer?.end();
    this.finish(cause ? { kind: 'broken', cause } : { kind: 'end' });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.finish({ kind: 'broken', cause: this.refused ?? brokenConnection(error) });
  }

  private pass(chunk: Buffer): void {
    if (chunk.length === 0) return;
    if (this.reader === null) this.early.push(chunk);
    else if (!this.reader.data(chunk)) this.controller?.pause();
  }

  private finish(ending: Ending): void {
    if (this.ending !== null) return;
    this.ending = ending;
    if (!this.answered) {
      this.rejectHead(ending.kind === 'broken' ? ending.cause : fault('upstream_unavailable'));
    } else if (this.reader !== null) {
      this.tell(ending);
    }
  }

  private tell(ending: Ending): void {
    if (ending.kind === 'end') this.reader?.end();
    else this.reader?.broken(ending.cause);
  }
}

const timeOuts = new Set([
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'SUPPLIER_DEADLINE',
]);

const brokenConnection = (error: Error): Fault =>
  error instanceof Fault
    ? error
    : fault(timeOuts.has(errorCode(error)) ? 'upstream_timeout' : 'upstream_unavailable', { cause: error });
