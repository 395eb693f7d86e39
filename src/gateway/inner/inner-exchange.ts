import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Caller } from '../../keys';
import type { HttpRequest } from '../../web';

/** A request from within this process, in the shape that the pipeline reads from a connection. */
export class InnerRequest extends IncomingMessage implements HttpRequest {
  readonly originalUrl: string;
  readonly params = {};
  readonly clientRequestId = null;

  constructor(
    path: string,
    readonly requestId: string,
    readonly caller: Caller,
    body: object,
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(new Socket());
    const bytes = Buffer.from(JSON.stringify(body));
    this.method = 'POST';
    this.url = this.originalUrl = path;
    this.headers = {
      ...headers,
      'content-type': 'application/json',
      'content-length': String(bytes.length),
    };
    this.push(bytes);
    this.push(null);
    this.complete = true;
  }
}

/** The receiver of an answer within this process. */
export interface AnswerReader {
  /** The supplier has answered; the headers are there. */
  head(response: InnerResponse): void;
  /** It is false while it can take no more; `InnerResponse.resume` tells when it can. */
  data(chunk: Buffer): boolean;
}

/** An answer to a part of this process, without a connection. */
export class InnerResponse extends ServerResponse {
  readonly settled: Record<string, string> = {};

  constructor(
    request: IncomingMessage,
    private readonly reader: AnswerReader,
  ) {
    super(request);
  }

  override flushHeaders(): void {
    this.reader.head(this);
  }

  override write(chunk: unknown): boolean {
    return this.reader.data(bytesOf(chunk));
  }

  override end(chunk?: unknown): this {
    if (this.finished) return this;
    if (chunk !== undefined && chunk !== null) this.reader.data(bytesOf(chunk));
    this.finished = true;
    return this;
  }

  override addTrailers(trailers: Record<string, string>): void {
    Object.assign(this.settled, trailers);
  }

  /** The reader has room again. */
  resume(): void {
    this.emit('drain');
  }

  /** The reader leaves. */
  leave(): void {
    if (!this.finished) this.emit('close');
  }
}

const bytesOf = (chunk: unknown): Buffer => (Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk)));
