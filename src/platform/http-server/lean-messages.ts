import {
  IncomingMessage,
  type OutgoingHttpHeader,
  type OutgoingHttpHeaders,
  ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { Socket } from 'node:net';
import { parse, type ParsedUrlQuery } from 'node:querystring';
import { type Duplex, Readable } from 'node:stream';
import { isValidHeaderValue } from '../../kernel';
import { httpDate } from './http-date';
import { lingerForRest } from './unread-body';

const emptyBuffer = Buffer.alloc(0);

/**
 * The subset of Express's request and response that Nest needs, for routes in front of Express. A body stays a list of
 * chunks, and becomes a stream only on demand.
 */
export class LeanRequest extends IncomingMessage {
  declare requestId: string;
  declare clientRequestId: string | null;
  declare params: Readonly<Record<string, string>>;
  declare originalUrl: string;
  /** Node's internal flag: the body has a reader. */
  declare private _consuming: boolean;
  /** Chunks that were neither read nor taken yet; null once the body is a stream. */
  private bufferedChunks: Buffer[] | null = [];
  private bufferedBytes = 0;
  isBodyTaken = false;
  private handler: (() => void) | null = null;

  get query(): ParsedUrlQuery {
    const url = this.url ?? '';
    const queryStart = url.indexOf('?');
    return parse(queryStart === -1 ? '' : url.slice(queryStart + 1));
  }

  /** Registers a handler that runs once the body is complete, or earlier through `startHandler`. */
  onceComplete(handler: () => void): void {
    this.handler = handler;
  }

  startHandler(): void {
    const { handler } = this;
    this.handler = null;
    handler?.();
  }

  /** The complete body, once `complete`; null if it is read as a stream. */
  takeBody(): Buffer | null {
    const { bufferedChunks: chunks } = this;
    if (chunks === null) return null;
    this.bufferedChunks = [];
    this.isBodyTaken = true;
    this._consuming = true;
    if (chunks.length === 1) return chunks[0]!;
    return chunks.length === 0 ? emptyBuffer : Buffer.concat(chunks, this.bufferedBytes);
  }

  get arrivedBytes(): number {
    return this.bufferedChunks === null ? this.readableLength : this.bufferedBytes;
  }

  override push(chunk: Buffer | null): boolean {
    if (this.bufferedChunks === null) return super.push(chunk);
    if (chunk === null) {
      this.startHandler();
      return false;
    }
    this.bufferedChunks.push(chunk);
    this.bufferedBytes += chunk.length;
    return this.bufferedBytes < this.readableHighWaterMark;
  }

  override _read(size: number): void {
    const { bufferedChunks: chunks } = this;
    if (chunks === null) return super._read(size);
    this.bufferedChunks = null;
    for (const chunk of chunks) super.push(chunk);
    if (this.complete) super.push(null);
    else super._read(size);
  }
}

// An accessor, although the types declare a property.
Object.defineProperty(LeanRequest.prototype, 'readableEnded', {
  get(this: LeanRequest): unknown {
    return this.isBodyTaken || Reflect.get(Readable.prototype, 'readableEnded', this);
  },
});

const latest = Symbol('latest answer');
type RespondingSocket = Duplex & { [latest]?: ServerResponse | undefined };

/** Response that was started last; undefined once it is sent. */
export const latestResponseOn = (socket: RespondingSocket): ServerResponse | undefined => socket[latest];

type Headers = OutgoingHttpHeaders | OutgoingHttpHeader[];

const LENGTH = 'content-length';

export class LeanResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  /**
   * Node's internal state: the head as sent, whether it was sent, and whether the connection ends with the response.
   */
  declare private _header: string | null;
  declare private _headerSent: boolean;
  declare private _last: boolean;
  declare private _expect_continue: boolean;
  declare private _keepAliveTimeout: number;
  /** Header lines. Setting them one by one in Node costs several times as much. */
  private pendingLines = '';
  private hasLength = false;
  private lingerMs = 0;
  awaitsDrain = false;

  addHeader(name: string, value: string): void {
    if (!isValidHeaderValue(value))
      throw new TypeError(`the header ${name} has characters that cannot be sent`);
    this.addUncheckedHeader(name, value);
  }

  addUncheckedHeader(name: string, value: string): void {
    if (name === LENGTH) this.hasLength = true;
    this.pendingLines += `${name}: ${value}\r\n`;
  }

  markLatest(): void {
    (this.req.socket as RespondingSocket)[latest] = this;
  }

  /** An idle connection must not keep its last response in memory. */
  override detachSocket(socket: Socket): void {
    super.detachSocket(socket);
    if (latestResponseOn(socket) === this) (socket as RespondingSocket)[latest] = undefined;
    if (!this.req.complete) lingerForRest(this.req, this, this.lingerMs);
  }

  setLingerTime(milliseconds: number): void {
    this.lingerMs = milliseconds;
  }

  /** Sets how long the connection is kept for another request, as announced to callers. */
  setKeepAliveTime(milliseconds: number): void {
    this._keepAliveTimeout = milliseconds;
  }

  override writeHead(status: number, reason?: string | Headers, headers?: Headers): this {
    const { pendingLines: lines } = this;
    if (lines === '') return this.writeNodeHead(status, reason, headers);
    this.pendingLines = '';
    if (reason === undefined && this.hasLength && this.isOrdinary(status))
      return this.writeFastHead(status, lines);
    for (const line of lines.split('\r\n')) {
      const colon = line.indexOf(':');
      const name = line.slice(0, colon);
      if (colon !== -1 && !this.hasHeader(name)) this.setHeader(name, line.slice(colon + 2));
    }
    return this.writeNodeHead(status, reason, headers);
  }

  /** Node writes a chunk and its frame in four pieces. A single piece makes a stream a tenth cheaper. */
  override write(chunk: unknown, encoding?: unknown, callback?: unknown): boolean {
    const { socket } = this;
    const isOnePiece =
      (typeof chunk === 'string' || Buffer.isBuffer(chunk)) &&
      chunk.length > 0 &&
      encoding === undefined &&
      callback === undefined;
    const isStreaming = this.chunkedEncoding && this.headersSent && !this.writableEnded;
    if (!isOnePiece || !isStreaming || socket === null || socket.destroyed || this.writableCorked > 0)
      return super.write(chunk, encoding as BufferEncoding, callback as () => void);
    const fits = socket.write(frameChunk(chunk));
    if (!fits) this.emitDrainAfter(socket);
    return fits;
  }

  private emitDrainAfter(socket: Socket): void {
    if (this.awaitsDrain) return;
    this.awaitsDrain = true;
    socket.once('drain', () => {
      this.awaitsDrain = false;
      if (!this.writableEnded) this.emit('drain');
    });
  }

  status(code: number): this {
    this.statusCode = code;
    return this;
  }

  json(body: unknown): this {
    const text = Buffer.from(JSON.stringify(body));
    if (!this.hasHeader('content-type')) this.setHeader('content-type', 'application/json; charset=utf-8');
    this.setHeader(LENGTH, text.length);
    return this.end(text);
  }

  send(body: string | Buffer = ''): this {
    if (body !== '' && !this.hasHeader('content-type'))
      this.setHeader('content-type', 'text/html; charset=utf-8');
    this.setHeader(LENGTH, Buffer.byteLength(body));
    return this.end(body);
  }

  /** True if neither Node's own state nor the response is a special case. */
  private isOrdinary(status: number): boolean {
    return (
      status >= 200 && status !== 204 && status !== 304 && !this._expect_continue && !this.hasNodeHeaders
    );
  }

  private get hasNodeHeaders(): boolean {
    return this.getHeaderNames().length > 0;
  }

  private writeNodeHead(status: number, reason?: string | Headers, headers?: Headers): this {
    return typeof reason === 'string'
      ? super.writeHead(status, reason, headers)
      : super.writeHead(status, reason ?? headers);
  }

  /** Writes the head that Node would write for these lines. */
  private writeFastHead(status: number, lines: string): this {
    this.statusCode = status;
    this.statusMessage = STATUS_CODES[status] ?? 'unknown';
    this._last = !this.shouldKeepAlive;
    const connection = this._last
      ? 'connection: close'
      : `connection: keep-alive\r\nkeep-alive: timeout=${Math.floor(this._keepAliveTimeout / 1_000)}`;
    this._header = `HTTP/1.1 ${status} ${this.statusMessage}\r\n${lines}date: ${httpDate()}\r\n${connection}\r\n\r\n`;
    this._headerSent = false;
    return this;
  }
}

// An accessor, whatever the types say.
Object.defineProperty(LeanResponse.prototype, 'writableNeedDrain', {
  get(this: LeanResponse): unknown {
    return this.awaitsDrain || Reflect.get(ServerResponse.prototype, 'writableNeedDrain', this);
  },
});

function frameChunk(chunk: string | Buffer): Buffer {
  const length = Buffer.byteLength(chunk);
  const head = `${length.toString(16)}\r\n`;
  const frame = Buffer.allocUnsafe(head.length + length + 2);
  frame.write(head, 0, 'latin1');
  if (typeof chunk === 'string') frame.write(chunk, head.length, 'utf8');
  else chunk.copy(frame, head.length);
  frame.write('\r\n', head.length + length, 'latin1');
  return frame;
}

/** Adds a header that is not read again before it is sent. */
export function addHeader(response: ServerResponse, name: string, value: string): void {
  if (response instanceof LeanResponse) response.addHeader(name, value);
  else response.setHeader(name, value);
}

/** Variant of `addHeader` for a number or a literal of this source, which cannot contain invalid characters. */
export function addUncheckedHeader(response: ServerResponse, name: string, value: string): void {
  if (response instanceof LeanResponse) response.addUncheckedHeader(name, value);
  else response.setHeader(name, value);
}
