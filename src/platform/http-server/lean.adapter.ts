import { createServer, type IncomingMessage, type ServerOptions, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ExpressAdapter } from '@nestjs/platform-express/adapters/express-adapter';
import express from 'express';
import { isUuid, MINUTE_MS, safeTokenIn, uuidv7 } from '../../kernel';
import { handleCrossOrigin } from './cross-origin';
import { respondToBrokenRequest, isPathTooLong, UnsupportedVersion, PathTooLong } from './broken-request';
import { isGatewayPath } from './gateway-path';
import { namesOneHost, toOriginForm } from './host';
import { addUncheckedHeader, latestResponseOn, LeanRequest, LeanResponse } from './lean-messages';
import { RouteTable } from './route-table';
import { lingerForRest } from './unread-body';

type NestHandler = (request: IncomingMessage, response: ServerResponse, next: () => void) => unknown;

type Register = (path: string | NestHandler, handler?: NestHandler) => unknown;

const verbs = ['get', 'post', 'put', 'patch', 'delete', 'head', 'options'] as const;
type Verb = (typeof verbs)[number];

type ServerTimes = Pick<ServerOptions, 'headersTimeout' | 'connectionsCheckingInterval'>;

export interface ConnectionTimes extends ServerTimes {
  /** How long an idle connection is kept for another request, as announced to callers. */
  readonly keepAliveTimeout?: number;
  /** How long a client can leave a waiting response unread. */
  readonly stallTimeout?: number;
  /** How long a body can still arrive after the response to it was sent. */
  readonly lingerTimeout?: number;
}

const defaultTimes: Required<ConnectionTimes> = {
  headersTimeout: 10_000,
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 2_000,
  stallTimeout: MINUTE_MS,
  lingerTimeout: 5_000,
};

/**
 * The Express adapter with a route table for `/v1` in front of Express, which would cost more than the rest of such a
 * request. Requests that the table does not know (HEAD, an odd spelling), or all with `lean` off, go to Express.
 */
export class LeanAdapter extends ExpressAdapter {
  readonly routes = new RouteTable<NestHandler>();
  /** Number of requests that were not valid HTTP, by response status. */
  readonly brokenRequests = new Map<number, number>();
  private readonly leanRoutes = new RouteTable<NestHandler>();
  private readonly times: Required<ConnectionTimes>;
  /** Handles requests that are not admitted while the service is closed; returns true for those. */
  closedHandler: ((request: LeanRequest, response: ServerResponse) => boolean) | null = null;
  /** Requests whose head arrived in this turn of the event loop. */
  private pendingRequests: LeanRequest[] = [];

  constructor(
    private readonly lean: boolean,
    times: ConnectionTimes = {},
    private readonly origins: readonly string[] = [],
    private readonly serves: (path: string) => boolean = () => true,
  ) {
    const application = express();
    application.disable('x-powered-by');
    application.disable('etag');
    application.enable('case sensitive routing');
    application.enable('strict routing');
    super(application);
    this.times = { ...defaultTimes, ...times };
    for (const verb of verbs) this.catchRoutes(verb);
  }

  /** Nest calls this again for a server that already listens during the start. */
  override initHttpServer(): void {
    if (this.httpServer !== undefined) return;
    const application = this.getInstance<NestHandler>();
    const { stallTimeout, keepAliveTimeout, lingerTimeout, ...times } = this.times;
    const server = createServer(
      {
        ...times,
        // Node would create a timer for every request and response.
        keepAliveTimeout: 0,
        IncomingMessage: LeanRequest,
        ServerResponse: LeanResponse,
        maxHeaderSize: 16 * 1024,
        // The send buffer for a slow client; beyond it, back-pressure reaches the supplier.
        highWaterMark: 16 * 1024,
        // Bodies have deadlines of their own, which grow with their size.
        requestTimeout: 0,
        // Node's own rejection would have no body.
        requireHostHeader: false,
      },
      (request, response) => {
        if (request.httpVersionMajor !== 1) {
          this.rejectBroken(new UnsupportedVersion(), request.socket);
          return;
        }
        if (!usesServedCoding(request) || !namesOneHost(request)) {
          this.rejectBroken(
            new Error('no host, more than one, or a transfer coding that is not served'),
            request.socket,
          );
          return;
        }
        if (isPathTooLong(request)) {
          this.rejectBroken(new PathTooLong(), request.socket);
          return;
        }
        response.markLatest();
        response.setKeepAliveTime(keepAliveTimeout);
        response.setLingerTime(lingerTimeout);
        toOriginForm(request);
        identify(request);
        if (this.handlePreflight(request, response)) return;
        if (this.closedHandler?.(request, response) === true) return;
        if (this.serve(request, response)) return;
        response.setHeader('x-request-id', request.requestId);
        if (request.clientRequestId !== null)
          response.setHeader('x-client-request-id', request.clientRequestId);
        response.setHeader('x-content-type-options', 'nosniff');
        // Express replaces the response's prototype, and with it Node's own release of the socket.
        response.prependOnceListener('finish', () => {
          if (!request.complete) lingerForRest(request, response, lingerTimeout);
        });
        application(request, response, unreachable);
      },
    );
    server.maxHeadersCount = 100;
    // A client that reuses the connection just in time must not find it being closed.
    const idle = keepAliveTimeout + KEEP_ALIVE_MARGIN_MS;
    server.setTimeout(Math.min(stallTimeout, idle), (socket: Socket) =>
      closeIfTimedOut(socket, latestResponseOn(socket), stallTimeout, idle),
    );
    // Node itself answers "100-continue"; any other expectation is ignored.
    server.on('checkExpectation', (request, response) => server.emit('request', request, response));
    server.on('clientError', (error, socket) => this.rejectBroken(error, socket));
    this.setHttpServer(server);
  }

  private rejectBroken(error: Error, socket: Duplex): void {
    const status = respondToBrokenRequest(error, socket, latestResponseOn(socket));
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
        if (this.lean && isGatewayPath(path)) this.leanRoutes.add(verb.toUpperCase(), path, handler);
        return toExpress(path, handler);
      },
    });
  }

  /** Cross-origin rules apply only to the API. */
  private handlePreflight(request: LeanRequest, response: ServerResponse): boolean {
    if (request.method !== 'OPTIONS' && this.origins.length === 0) return false;
    const [path = ''] = (request.url ?? '/').split('?');
    if (!isGatewayPath(path)) return false;
    if (request.method === 'OPTIONS') addIdHeaders(request, response);
    return handleCrossOrigin(request, response, this.origins, this.routes.methodsOf(path));
  }

  private serve(request: LeanRequest, response: ServerResponse): boolean {
    const url = request.url ?? '/';
    const queryStart = url.indexOf('?');
    const match = this.leanRoutes.find(
      request.method ?? 'GET',
      queryStart === -1 ? url : url.slice(0, queryStart),
    );
    if (match === null) return false;
    request.params = match.params;
    request.originalUrl = url;
    addIdHeaders(request, response);
    addUncheckedHeader(response, 'x-content-type-options', 'nosniff');
    const { handler } = match;
    request.onceComplete(() => void handler(request, response, unreachable));
    if (this.pendingRequests.length === 0) setImmediate(() => this.startHandlers());
    this.pendingRequests.push(request);
    return true;
  }

  /** Most bodies arrive with their head; for the others the gateway waits one turn of the event loop. */
  private startHandlers(): void {
    const { pendingRequests: requests } = this;
    this.pendingRequests = [];
    for (const request of requests) request.startHandler();
  }
}

/** Margin between the announced keep-alive and the real one. */
const KEEP_ALIVE_MARGIN_MS = 1_000;

const movedBytes = Symbol('moved bytes');
const quietTime = Symbol('quiet time');

/** Bytes that the socket had moved when its timer last ran, and milliseconds without any since. */
type WatchedSocket = Socket & { [movedBytes]?: number; [quietTime]?: number };

/**
 * Runs when no byte moved for as long as the socket's timer, which is fine while a response is being made. `stall`
 * limits a client that does not read its response, `idle` a connection without a request.
 */
function closeIfTimedOut(
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
  const remaining = (isWaiting ? stall : idle) - quietMs;
  if (remaining > 0) socket.setTimeout(remaining);
  // Without a reset the kernel keeps megabytes for a client that does not read them.
  else if (isWaiting) socket.resetAndDestroy();
  else socket.destroy();
}

function identify(request: LeanRequest): void {
  const callerId = request.headers['x-request-id'];
  const isOwnId = isUuid(callerId);
  request.requestId = isOwnId ? callerId : uuidv7();
  request.clientRequestId = isOwnId ? null : safeTokenIn(callerId);
}

/** Both ids contain only safe characters, so they need no validation. */
function addIdHeaders({ requestId, clientRequestId }: LeanRequest, response: ServerResponse): void {
  addUncheckedHeader(response, 'x-request-id', requestId);
  if (clientRequestId !== null) addUncheckedHeader(response, 'x-client-request-id', clientRequestId);
}

/** Node accepts other transfer codings. */
const usesServedCoding = ({ headers }: IncomingMessage): boolean =>
  (headers['transfer-encoding'] ?? 'chunked').toLowerCase() === 'chunked';

/** Nest handles every request that it gets, including those for unknown paths. */
function unreachable(): void {
  throw new Error('a request fell through every handler');
}
