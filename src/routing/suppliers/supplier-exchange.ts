import type { IncomingHttpHeaders } from 'node:http';
import { Fault, fault } from '../../kernel';
import { errorCode, type SupplierCall, type SupplierHandler } from '../../platform';
import type { Unwrapping } from './unwrapping';

export interface AnswerHead {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
}

/** An answer that nothing is done with before it is whole. */
export interface WholeAnswer extends AnswerHead {
  readonly body: Buffer;
}

/** The reader takes a supplier's answer as it comes. `data` answers false while it cannot take more. */
export interface AnswerReader {
  data(chunk: Buffer): boolean;
  end(): void;
  broken(cause: Fault): void;
}

const LARGEST_ANSWER = 64 * 1024 * 1024;

/** A supplier may send so much, for so long, after an answer that is whole. */
const MOST_AFTER_END = 64 * 1024;
const LONGEST_AFTER_END_MS = 1_000;

type Ending = { readonly kind: 'end' } | { readonly kind: 'broken'; readonly cause: Fault };

interface HeadWaiter {
  readonly resolve: (head: AnswerHead) => void;
  readonly reject: (cause: Fault) => void;
}

/**
 * One call to a supplier, from the request to the last byte of the answer. The head is a promise; the body goes to a
 * reader, which may attach later and apply back-pressure.
 */
export class SupplierExchange implements SupplierHandler {
  private known: AnswerHead | null = null;
  private waiter: HeadWaiter | null = null;
  private reader: AnswerReader | null = null;
  private readonly early: Buffer[] = [];
  private ending: Ending | null = null;
  private refused: Fault | null = null;
  private call: SupplierCall | null = null;
  private unwrapping: Unwrapping | undefined;

  /** `wrapped` takes an answer out of what the supplier wraps it in. */
  constructor(private readonly wrapped?: Unwrapping) {}

  /** It resolves when the supplier begins to answer. */
  get head(): Promise<AnswerHead> {
    return new Promise((resolve, reject) => {
      if (this.known !== null) resolve(this.known);
      else if (this.ending !== null) reject(causeOf(this.ending));
      else this.waiter = { resolve, reject };
    });
  }

  /** Bytes may have left: the supplier may be at work. */
  get begun(): boolean {
    return this.call?.begun ?? false;
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
    if (this.ending !== null) this.report(this.ending);
  }

  /** The whole body, for answers that are read before anything is decided. */
  async whole(limit = LARGEST_ANSWER): Promise<Buffer> {
    return (await this.complete(limit)).body;
  }

  /** It resolves with head and body at once. */
  complete(limit = LARGEST_ANSWER): Promise<WholeAnswer> {
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
        end: () => {
          const { status, headers } = this.known!;
          const only = chunks.length === 1 ? chunks[0] : undefined;
          resolve({ status, headers, body: only ?? Buffer.concat(chunks, size) });
        },
        broken: reject,
      });
    });
  }

  /**
   * The answer is whole, and the rest is not read. A little more is let pass, so that the connection can be used again; a
   * supplier that does not end its body then is left.
   */
  release(): void {
    if (this.ending !== null) return;
    let left = MOST_AFTER_END;
    const leave = (): void => this.abort(fault('upstream_invalid_response'));
    const timer = setTimeout(leave, LONGEST_AFTER_END_MS).unref();
    const stop = (): void => clearTimeout(timer);
    this.reader = {
      data: ({ length }) => {
        left -= length;
        if (left < 0) leave();
        return true;
      },
      end: stop,
      broken: stop,
    };
    this.resume();
  }

  /** The reader can take more again. */
  resume(): void {
    this.call?.resume();
  }

  onHead(status: number, headers: IncomingHttpHeaders): void {
    this.unwrapping = status < 300 ? this.wrapped : undefined;
    const { contentType } = this.unwrapping ?? {};
    this.known = {
      status,
      headers: contentType === undefined ? headers : { ...headers, 'content-type': contentType },
    };
    this.waiter?.resolve(this.known);
  }

  onData(chunk: Buffer): void {
    const piece = this.unwrapping?.push(chunk) ?? chunk;
    if (!(piece instanceof Fault)) return this.pass(piece);
    this.finish({ kind: 'broken', cause: piece });
    this.abort(piece);
  }

  onEnd(): void {
    const last = this.unwrapping?.end();
    if (last instanceof Fault) return this.finish({ kind: 'broken', cause: last });
    if (last !== undefined) this.pass(last);
    this.finish({ kind: 'end' });
  }

  onBroken(error: Error): void {
    this.finish({ kind: 'broken', cause: this.refused ?? brokenConnection(error) });
  }

  private pass(chunk: Buffer): void {
    if (chunk.length === 0) return;
    if (this.reader === null) this.early.push(chunk);
    else if (!this.reader.data(chunk)) this.call?.pause();
  }

  private finish(ending: Ending): void {
    if (this.ending !== null) return;
    this.ending = ending;
    if (this.known === null) this.waiter?.reject(causeOf(ending));
    this.report(ending);
  }

  private report(ending: Ending): void {
    if (ending.kind === 'end' && this.known !== null) this.reader?.end();
    else this.reader?.broken(causeOf(ending));
  }
}

const causeOf = (ending: Ending): Fault =>
  ending.kind === 'broken' ? ending.cause : fault('upstream_unavailable');

const timeOuts = new Set(['ETIMEDOUT', 'SUPPLIER_DEADLINE']);

/** An answer came, and it breaks the rules of HTTP. */
const BROKEN_ANSWER = 'SUPPLIER_BROKEN_ANSWER';

/** This process or this machine may open nothing more: no fault of the supplier, who was not even asked. */
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
  if (code === BROKEN_ANSWER) return fault('upstream_invalid_response', { cause: error });
  return fault(timeOuts.has(code) ? 'upstream_timeout' : 'upstream_unavailable', { cause: error });
}
