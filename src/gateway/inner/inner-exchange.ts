import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Caller } from '../../keys';
import type { HttpRequest } from '../../web';

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

export interface InnerResponseReader {
  head(response: InnerResponse): void;
  data(chunk: Buffer): boolean;
}

export class InnerResponse extends ServerResponse {
  readonly settled: Record<string, string> = {};

  constructor(
    request: IncomingMessage,
    private readonly reader: InnerResponseReader,
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

  resume(): void {
    this.emit('drain');
  }

  leave(): void {
    if (!this.finished) this.emit('close');
  }
}

const bytesOf = (chunk: unknown): Buffer => (Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk)));
