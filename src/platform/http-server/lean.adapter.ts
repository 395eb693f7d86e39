import { createServer, type IncomingMessage, type ServerOptions, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ExpressAdapter } from '@nestjs/platform-express/adapters/express-adapter';
import express from 'express';
import { isUuid, MINUTE_MS, safeTokenIn, uuidv7 } from '../../kernel';
import { crossOrigin } from './cross-origin';
import { answerBrokenRequest, isPathTooLong, OtherVersion, PathTooLong } from './broken-request';
import { isGatewayPath } from './gateway-path';
import { namesOneHost, toOriginForm } from './host';
import { addUncheckedHeader, latestOn, LeanRequest, LeanResponse } from './lean-messages';
import { RouteTable } from './route-table';
import { awaitRest } from './unread-body';

type NestHandler = (request: IncomingMessage, response: ServerResponse, next: () => void) => unknown;

type Register = (path: string | NestHandler, handler?: NestHandler) => unknown;

const verbs = ['get', 'post', 'put', 'patch', 'delete', 'head', 'options'] as const;
type Verb = (typeof verbs)[number];

type ServerTimes = Pick<ServerOptions, 'headersTimeout' | 'connectionsCheckingInterval'>;

/** A connection may take these times, in milliseconds. */
export interface ConnectionTimes extends ServerTimes {
  /** It is kept so long for another request, as callers are told. */
  readonly keepAliveTimeout?: number;
  /** A client may take nothing of a waiting answer for so long. */
  readonly stallTimeout?: number;
  /** A body may still come in for so long after the answer to it has gone out. */
  readonly lingerTimeout?: number;
}

const usualTimes: Required<ConnectionTimes> = {
  headersTimeout: 10_000,
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 2_000,
  stallTimeout: MINUTE_MS,
  lingerTimeout: 5_000,
};

/**
 * The Express adapter with a route table for `/v1` in front of Express, which would cost more than the rest of such a
 * request. The routes stay ordinary Nest handlers with guards, interceptors and filters. Requests that the table does
 * not know (HEAD, an odd spelling) go on to Express. With `lean` off all do, and a test compares the answers.
 */
export class LeanAdapter extends ExpressAdapter {
  /** Every route of the service: what exists, and under which verbs. */
  readonly routes = new RouteTable<NestHandler>();
  /** Requests that were no valid HTTP, by the status of their refusal. */
  readonly brokenRequests = new Map<number, number>();
  private readonly taken = new RouteTable<NestHandler>();
  private readonly times: Required<ConnectionTimes>;
  /** While the service is closed, it answers what may not come in, and says so. */
  door: ((request: LeanRequest, response: ServerResponse) => boolean) | null = null;
  /** Requests whose head has come in this turn of the event loop. */
  private heads: LeanRequest[] = [];

  constructor(
    private readonly lean: boolean,
    times: ConnectionTimes = {},
    /** Scripts of these origins may call the API. */
    private readonly origins: readonly string[] = [],
    /** Routes at other paths do not exist on this node. */
    private readonly serves: (path: string) => boolean = () => true,
  ) {
    const application = express();
    application.disable('x-powered-by');
    application.disable('etag');
    application.enable('case sensitive routing');
    application.enable('strict routing');
    super(application);
    this.times = { ...usualTimes, ...times };
    for (const verb of verbs) this.catchRoutes(verb);
  }

  /** Nest calls it again for a server that already listens during the start. */
  override initHttpServer(): void {
    if (this.httpServer !== undefined) return;
    const application = this.getInstance<NestHandler>();
    const { stallTimeout, keepAliveTimeout, lingerTimeout, ...times } = this.times;
    const server = createServer(
      {
        ...times,
        // Node would create a timer for every request and answer.
        keepAliveTimeout: 0,
        IncomingMessage: LeanRequest,
        ServerResponse: LeanResponse,
        maxHeaderSize: 16 * 1024,
        // The send buffer for a slow client; beyond it, back-pressure reaches the supplier.
        highWaterMark: 16 * 1024,
        // Bodies have deadlines of their own that grow with what arrives.
        requestTimeout: 0,
        // Node's own refusal would have no body.
        requireHostHeader: false,
      },
      (request, response) => {
        if (request.httpVersionMajor !== 1) {
          this.refuse(new OtherVersion(), request.socket);
          return;
        }
        if (!isPlain(request) || !namesOneHost(request)) {
          this.refuse(
            new Error('no host, more than one, or a transfer coding that is not served'),
            request.socket,
          );
          return;
        }
        if (isPathTooLong(request)) {
          this.refuse(new PathTooLong(), request.socket);
          return;
        }
        response.comesLatest();
        response.keptFor(keepAliveTimeout);
        response.lingersFor(lingerTimeout);
        toOriginForm(request);
        identify(request);
        if (this.isPreflight(request, response)) return;
        if (this.door?.(request, response) === true) return;
        if (this.serve(request, response)) return;
        response.setHeader('x-request-id', request.requestId);
        if (request.clientRequestId !== null)
          response.setHeader('x-client-request-id', request.clientRequestId);
        response.setHeader('x-content-type-options', 'nosniff');
        // Express replaces the answer's prototype, and with it Node's own release of the socket.
        response.prependOnceListener('finish', () => {
          if (!request.complete) awaitRest(request, response, lingerTimeout);
        });
        application(request, response, unreachable);
      },
    );
    server.maxHeadersCount = 100;
    // A client that reuses the connection just in time must not find it being closed.
    const idle = keepAliveTimeout + KEPT_LONGER_MS;
    server.setTimeout(Math.min(stallTimeout, idle), (socket: Socket) =>
      closeIfOver(socket, latestOn(socket), stallTimeout, idle),
    );
    // Node itself answers "100-continue"; any other expectation is ignored.
    server.on('checkExpectation', (request, response) => server.emit('request', request, response));
    server.on('clientError', (error, socket) => this.refuse(error, socket));
    this.setHttpServer(server);
  }

  private refuse(error: Error, socket: Duplex): void {
    const status = answerBrokenRequest(error, socket, latestOn(socket));
    if (status !== null) this.brokenRequests.set(status, (this.brokenRequests.get(status) ?? 0) + 1);
  }

  override reply(response: ServerResponse, body: unknown, status?: number): unknown {
    if (!(body instanceof Uint8Array)) return super.reply(response, body, status) as unknown;
    if (status !== undefined) response.statusCode = status;
    response.setHeader('content-length', body.length);
    return response.end(body);
  }

  override setHeader(response: ServerResponse, name: string, value: string): unknown {
    return response.setHeader(name, value);
  }

  private catchRoutes(verb: Verb): void {
    const toExpress = ExpressAdapter.prototype[verb].bind(this) as Register;
    Object.defineProperty(this, verb, {
      value: (path: string, handler: NestHandler): unknown => {
        if (!this.serves(path)) return this;
        this.routes.add(verb.toUpperCase(), path, handler);
        if (this.lean && isGatewayPath(path)) this.taken.add(verb.toUpperCase(), path, handler);
        return toExpress(path, handler);
      },
    });
  }

  /** Other origins are concerned with the API alone. */
  private isPreflight(request: LeanRequest, response: ServerResponse): boolean {
    if (request.method !== 'OPTIONS' && this.origins.length === 0) return false;
    const [path = ''] = (request.url ?? '/').split('?');
    if (!isGatewayPath(path)) return false;
    if (request.method === 'OPTIONS') tellIds(request, response);
    return crossOrigin(request, response, this.origins, this.routes.methodsOf(path));
  }

  private serve(request: LeanRequest, response: ServerResponse): boolean {
    const url = request.url ?? '/';
    const question = url.indexOf('?');
    const match = this.taken.find(request.method ?? 'GET', question === -1 ? url : url.slice(0, question));
    if (match === null) return false;
    request.params = match.params;
    request.originalUrl = url;
    tellIds(request, response);
    addUncheckedHeader(response, 'x-content-type-options', 'nosniff');
    const { handler } = match;
    request.onceWhole(() => void handler(request, response, unreachable));
    if (this.heads.length === 0) setImmediate(() => this.beginAll());
    this.heads.push(request);
    return true;
  }

  /** Most bodies arrive with their head; for the others the gateway waits one turn of the event loop. */
  private beginAll(): void {
    const { heads } = this;
    this.heads = [];
    for (const request of heads) request.begin();
  }
}

/** The margin between the announced keep-alive and the real one. */
const KEPT_LONGER_MS = 1_000;

const movedBytes = Symbol('moved bytes');
const quietTime = Symbol('quiet time');

/** When its timer last ran, the socket had moved so many bytes, and had moved none for so many milliseconds. */
type WatchedSocket = Socket & { [movedBytes]?: number; [quietTime]?: number };

/**
 * No byte moved for as long as the socket's timer runs. That is fine while an answer is being made. It is not for
 * `stall`, when the client does not read its answer, and not for `idle`, without a request.
 */
function closeIfOver(
  socket: WatchedSocket,
  latest: ServerResponse | undefined,
  stall: number,
  idle: number,
): void {
  const bytes = socket.bytesRead + socket.bytesWritten;
  const quietMs = (socket[movedBytes] === bytes ? socket[quietTime]! : 0) + socket.timeout!;
  socket[movedBytes] = bytes;
  socket[quietTime] = quietMs;
  const isWaiting = socket.writableLength > 0;
  if (!isWaiting && latest?.writableFinished === false) return;
  const left = (isWaiting ? stall : idle) - quietMs;
  if (left > 0) socket.setTimeout(left);
  // Without a reset the kernel keeps megabytes for a client that does not read them.
  else if (isWaiting) socket.resetAndDestroy();
  else socket.destroy();
}

function identify(request: LeanRequest): void {
  const given = request.headers['x-request-id'];
  const isOurs = isUuid(given);
  request.requestId = isOurs ? given : uuidv7();
  request.clientRequestId = isOurs ? null : safeTokenIn(given);
}

/** Neither id holds a character that would have to be checked. */
function tellIds({ requestId, clientRequestId }: LeanRequest, response: ServerResponse): void {
  addUncheckedHeader(response, 'x-request-id', requestId);
  if (clientRequestId !== null) addUncheckedHeader(response, 'x-client-request-id', clientRequestId);
}

/** Node lets other transfer codings through. */
const isPlain = ({ headers }: IncomingMessage): boolean =>
  (headers['transfer-encoding'] ?? 'chunked').toLowerCase() === 'chunked';

/** Nest answers every request it is given, not-found ones included. */
function unreachable(): void {
  throw new Error('a request fell through every handler');
}
