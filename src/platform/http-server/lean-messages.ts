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
import { awaitRest } from './unread-body';

const nothing = Buffer.alloc(0);

/**
 * The subset of Express's request and response that Nest needs, for routes in front of Express. A body stays a list
 * of chunks and becomes a stream only on demand: most are taken whole.
 */
export class LeanRequest extends IncomingMessage {
  declare requestId: string;
  declare clientRequestId: string | null;
  declare params: Readonly<Record<string, string>>;
  declare originalUrl: string;
  /** Node's own: the body has a reader. */
  declare private _consuming: boolean;
  /** These pieces have come and were neither read nor taken; null once it is a stream. */
  private kept: Buffer[] | null = [];
  private keptBytes = 0;
  /** The whole body was handed over. */
  isTaken = false;
  private answer: (() => void) | null = null;

  get query(): ParsedUrlQuery {
    const url = this.url ?? '';
    const question = url.indexOf('?');
    return parse(question === -1 ? '' : url.slice(question + 1));
  }

  /** Called once the body is complete, or earlier through `begin`. */
  onceWhole(answer: () => void): void {
    this.answer = answer;
  }

  begin(): void {
    const { answer } = this;
    this.answer = null;
    answer?.();
  }

  /** The whole body, once `complete`; null when it is read as a stream. */
  takeBody(): Buffer | null {
    const { kept } = this;
    if (kept === null) return null;
    this.kept = [];
    this.isTaken = true;
    this._consuming = true;
    if (kept.length === 1) return kept[0]!;
    return kept.length === 0 ? nothing : Buffer.concat(kept, this.keptBytes);
  }

  /** So much of the body has come. */
  get arrivedBytes(): number {
    return this.kept === null ? this.readableLength : this.keptBytes;
  }

  override push(chunk: Buffer | null): boolean {
    if (this.kept === null) return super.push(chunk);
    if (chunk === null) {
      this.begin();
      return false;
    }
    this.kept.push(chunk);
    this.keptBytes += chunk.length;
    return this.keptBytes < this.readableHighWaterMark;
  }

  override _read(size: number): void {
    const { kept } = this;
    if (kept === null) return super._read(size);
    this.kept = null;
    for (const chunk of kept) super.push(chunk);
    if (this.complete) super.push(null);
    else super._read(size);
  }
}

// An accessor, although the types declare a property.
Object.defineProperty(LeanRequest.prototype, 'readableEnded', {
  get(this: LeanRequest): unknown {
    return this.isTaken || Reflect.get(Readable.prototype, 'readableEnded', this);
  },
});

const latest = Symbol('latest answer');
type AnsweringSocket = Duplex & { [latest]?: ServerResponse | undefined };

/** The answer that was begun last; none once it is sent. */
export const latestOn = (socket: AnsweringSocket): ServerResponse | undefined => socket[latest];

type Headers = OutgoingHttpHeaders | OutgoingHttpHeader[];

const LENGTH = 'content-length';

export class LeanResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  /** Node's own: the head as it goes out, whether it has gone, and whether the connection ends with the answer. */
  declare private _header: string | null;
  declare private _headerSent: boolean;
  declare private _last: boolean;
  declare private _expect_continue: boolean;
  declare private _keepAliveTimeout: number;
  /** These are header lines. Setting them one by one in Node costs several times as much. */
  private early = '';
  private hasLength = false;
  private lingerMs = 0;
  awaitsDrain = false;

  addHeader(name: string, value: string): void {
    if (!isValidHeaderValue(value))
      throw new TypeError(`the header ${name} has characters that cannot be sent`);
    this.addUncheckedHeader(name, value);
  }

  /** Its value is not validated. */
  addUncheckedHeader(name: string, value: string): void {
    if (name === LENGTH) this.hasLength = true;
    this.early += `${name}: ${value}\r\n`;
  }

  comesLatest(): void {
    (this.req.socket as AnsweringSocket)[latest] = this;
  }

  /** An idle connection must not keep its last answer in memory. */
  override detachSocket(socket: Socket): void {
    super.detachSocket(socket);
    if (latestOn(socket) === this) (socket as AnsweringSocket)[latest] = undefined;
    if (!this.req.complete) awaitRest(this.req, this, this.lingerMs);
  }

  /** The connection waits so long for the rest of a body once the answer is out. */
  lingersFor(milliseconds: number): void {
    this.lingerMs = milliseconds;
  }

  /** The connection is kept so long for another request; callers are told. */
  keptFor(milliseconds: number): void {
    this._keepAliveTimeout = milliseconds;
  }

  override writeHead(status: number, reason?: string | Headers, headers?: Headers): this {
    const { early } = this;
    if (early === '') return this.head(status, reason, headers);
    this.early = '';
    if (reason === undefined && this.hasLength && this.isUsual(status)) return this.ownHead(status, early);
    for (const line of early.split('\r\n')) {
      const colon = line.indexOf(':');
      const name = line.slice(0, colon);
      if (colon !== -1 && !this.hasHeader(name)) this.setHeader(name, line.slice(colon + 2));
    }
    return this.head(status, reason, headers);
  }

  /** Node writes a chunk and its frame in four pieces. As one it costs a tenth less of a stream. */
  override write(chunk: unknown, encoding?: unknown, callback?: unknown): boolean {
    const { socket } = this;
    const isOnePiece =
      (typeof chunk === 'string' || Buffer.isBuffer(chunk)) &&
      chunk.length > 0 &&
      encoding === undefined &&
      callback === undefined;
    const isUnderWay = this.chunkedEncoding && this.headersSent && !this.writableEnded;
    if (!isOnePiece || !isUnderWay || socket === null || socket.destroyed || this.writableCorked > 0)
      return super.write(chunk, encoding as BufferEncoding, callback as () => void);
    const fits = socket.write(framed(chunk));
    if (!fits) this.drainWith(socket);
    return fits;
  }

  private drainWith(socket: Socket): void {
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

  /** Node's own state and the answer have no special cases. */
  private isUsual(status: number): boolean {
    return status >= 200 && status !== 204 && status !== 304 && !this._expect_continue && !this.hasAny;
  }

  private get hasAny(): boolean {
    return this.getHeaderNames().length > 0;
  }

  private head(status: number, reason?: string | Headers, headers?: Headers): this {
    return typeof reason === 'string'
      ? super.writeHead(status, reason, headers)
      : super.writeHead(status, reason ?? headers);
  }

  /** The head that Node would write for these lines. */
  private ownHead(status: number, lines: string): this {
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

/** A chunk of a chunked body, with its length before it. */
function framed(chunk: string | Buffer): Buffer {
  const length = Buffer.byteLength(chunk);
  const head = `${length.toString(16)}\r\n`;
  const frame = Buffer.allocUnsafe(head.length + length + 2);
  frame.write(head, 0, 'latin1');
  if (typeof chunk === 'string') frame.write(chunk, head.length, 'utf8');
  else chunk.copy(frame, head.length);
  frame.write('\r\n', head.length + length, 'latin1');
  return frame;
}

/** A header that is not read again before it is sent. */
export function addHeader(response: ServerResponse, name: string, value: string): void {
  if (response instanceof LeanResponse) response.addHeader(name, value);
  else response.setHeader(name, value);
}

/** The same for a number or a literal of this source, which cannot contain invalid characters. */
export function addUncheckedHeader(response: ServerResponse, name: string, value: string): void {
  if (response instanceof LeanResponse) response.addUncheckedHeader(name, value);
  else response.setHeader(name, value);
}
