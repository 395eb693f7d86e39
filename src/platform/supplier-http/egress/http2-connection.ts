import type { IncomingHttpHeaders } from 'node:http';
import type { TLSSocket } from 'node:tls';
import type { Client, Dispatcher } from 'undici';
import { headerName } from '../../../kernel';
import { BrokenAnswer, SupplierClosed } from '../errors';
import type { Asked, CallCarrier, Carrier, Owner, WireCall } from '../wire';
import { judgeEmpty, judgeHead } from './http2-answer';
import { WatchedFrames } from './watched-frames';

/** As many calls share a connection, unless the supplier takes fewer: then they wait for one another on it. */
export const CALLS_EACH = 100;
const IDLE_MS = 30_000;

type ClientClass = typeof Client;

/** A connection of HTTP/2, on which undici keeps calls apart. */
export class Http2Connection implements Carrier {
  readonly restMs = 0;
  private readonly client: Client;
  private readonly frames: WatchedFrames;
  private readonly streams = new Set<Stream>();
  /** A client's streams have the odd numbers, in the order in which they are begun. */
  private nextNumber = 1;
  private isLeaving = false;

  constructor(
    Undici: ClientClass,
    origin: URL,
    private readonly socket: TLSSocket,
    private readonly owner: Owner,
  ) {
    let given = false;
    this.frames = new WatchedFrames(socket);
    this.client = new Undici(origin, {
      allowH2: true,
      // It gets this connection, and no other in its place: calls are repeated by lanes, if at all.
      connect: (_options, give) => {
        const isFirst = !given;
        given = true;
        queueMicrotask(() =>
          isFirst ? give(null, this.frames as unknown as TLSSocket) : give(new SupplierClosed(), null),
        );
      },
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: IDLE_MS,
    });
    this.client.on('disconnect', () => this.leave());
    socket
      .on('error', () => undefined)
      .on('close', () => {
        this.leave();
        owner.closed(this, true, null);
      });
    owner.opened(this);
  }

  get isUsable(): boolean {
    return !this.isLeaving && !this.socket.destroyed;
  }

  get hasRoom(): boolean {
    return this.isUsable && this.streams.size < CALLS_EACH;
  }

  carry(call: WireCall): void {
    const stream: Stream = new Stream(call, {
      begin: () => {
        const number = this.nextNumber;
        this.nextNumber += 2;
        this.frames.expect(number);
        return number;
      },
      lengthOf: (number) => this.frames.lengthOf(number),
      doubt: () => (this.isLeaving = true),
      leave: () => {
        this.frames.forget(stream.number);
        this.over(stream);
      },
    });
    this.streams.add(stream);
    call.beginsOn(stream);
    const { whole } = call.body;
    const { method, url } = call.asked;
    const path = `${url.pathname}${url.search}`;
    const body = whole.length === 0 ? null : whole;
    this.client.dispatch({ path, method, headers: fieldsOf(call.asked), body }, stream);
  }

  destroy(error?: Error): void {
    this.isLeaving = true;
    // Others are still being answered on it.
    if (error === undefined && this.streams.size > 0) return;
    // Undici must have none under way when it ends, or it stumbles.
    for (const stream of this.streams) stream.fail(error ?? new SupplierClosed());
    this.end();
  }

  /** Nothing new is begun on it: the supplier said so, or is gone. */
  private leave(): void {
    this.isLeaving = true;
    if (this.streams.size === 0) this.end();
  }

  private over(stream: Stream): void {
    const hadRoom = this.streams.size < CALLS_EACH;
    if (!this.streams.delete(stream)) return;
    if (!this.isLeaving) {
      if (!hadRoom) this.owner.freed(this);
    } else if (this.streams.size === 0) this.end();
  }

  private end(): void {
    void this.client.destroy().catch(() => undefined);
    this.socket.destroy();
  }
}

interface StreamOwner {
  /** Answers the number of the stream that is begun. */
  begin(): number;
  /** The supplier has said that the answer ends after so many bytes. */
  lengthOf(number: number): number | undefined;
  /** Something went wrong that may concern the whole connection. */
  doubt(): void;
  leave(): void;
}

/** One call on it. */
class Stream implements Dispatcher.DispatchHandler, CallCarrier {
  private controller: Dispatcher.DispatchController | null = null;
  number = 0;
  private bytes = 0;
  private status = 0;
  private earlyHeads = 0;
  /** The answer is whole, but its reader has asked for a pause. */
  private heldBack = false;
  private isDestroyed = false;

  constructor(
    private readonly call: WireCall,
    private readonly owner: StreamOwner,
  ) {}

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    if (this.call.isOver) return controller.abort(new SupplierClosed());
    this.number = this.owner.begin();
    if (this.call.isPaused) controller.pause();
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, fields: IncomingHttpHeaders): void {
    const { call } = this;
    // Informational answers (1xx) precede the real one.
    if (status < 200) this.earlyHeads += 1;
    const judged = judgeHead(status, fields, this.earlyHeads);
    if (judged instanceof BrokenAnswer) return this.fail(judged);
    if (status < 200) return;
    this.status = status;
    call.onHead(status, judged);
    call.waits();
  }

  onResponseData(_: Dispatcher.DispatchController, piece: Buffer): void {
    const broken = judgeEmpty(this.status, piece);
    if (broken !== null) return this.fail(broken);
    this.bytes += piece.length;
    this.call.onData(piece);
    this.call.waits();
  }

  onResponseEnd(): void {
    const length = this.owner.lengthOf(this.number);
    if (length === undefined) this.fail(new SupplierClosed());
    else if (length !== this.bytes) this.fail(new BrokenAnswer('some of it was lost on the way to us'));
    else if (this.call.isPaused) this.heldBack = true;
    else this.finish();
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    if (!this.isDestroyed) this.owner.doubt();
    this.owner.leave();
    if (!this.isDestroyed) this.call.fail(toldOf(error));
  }

  pause(): void {
    this.controller?.pause();
  }

  resume(): void {
    if (this.heldBack) this.finish();
    else this.controller?.resume();
  }

  /** Its call has ended, or is being ended, for a reason of its own. */
  destroy(): void {
    this.isDestroyed = true;
    this.owner.leave();
    this.controller?.abort(new SupplierClosed());
  }

  fail(error: Error): void {
    this.call.fail(error);
    this.destroy();
  }

  private finish(): void {
    this.owner.leave();
    this.call.end();
  }
}

/** HTTP/2 writes names in small letters, and has no connection to speak of (RFC 9113, section 8.2). */
const notSent: ReadonlySet<string> = new Set([
  'accept-encoding',
  'connection',
  'content-length',
  'host',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'transfer-encoding',
  'upgrade',
]);

function fieldsOf({ headers }: Asked): Record<string, string> {
  const fields: Record<string, string> = { 'accept-encoding': 'identity' };
  for (const spelling in headers) {
    const name = headerName(spelling);
    if (name !== null && !notSent.has(name)) fields[name] = headers[spelling]!;
  }
  return fields;
}

/** These codes of undici and of Node say that the connection is gone; the others, that the answer was wrong. */
const gone: ReadonlySet<string> = new Set([
  'UND_ERR_SOCKET',
  'UND_ERR_INFO',
  'UND_ERR_DESTROYED',
  'UND_ERR_CLOSED',
]);

function toldOf(error: Error & { readonly code?: string }): Error {
  const { code = '' } = error;
  if (gone.has(code)) return Object.assign(new SupplierClosed(), { cause: error });
  if (code.startsWith('UND_ERR_') || code.startsWith('ERR_HTTP2_'))
    return Object.assign(new BrokenAnswer(error.message), { cause: error });
  return error;
}
