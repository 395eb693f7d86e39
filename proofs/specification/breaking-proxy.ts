import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  request as send,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';

/** A response of the service that passed the proxy. */
export interface PassedResponse {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body: Buffer;
  readonly trailers: Readonly<Record<string, string>>;
}

/** A way to break one response of a row. */
export interface ResponseBreakage {
  readonly name: string;
  /** Route and status of the response; for a request that is not forwarded, only the route. */
  readonly of: string;
  /** Index among the responses with this key. */
  readonly at: number;
  /** Returns null if there is nothing to break in this response. */
  readonly change: (passed: PassedResponse) => PassedResponse | null;
  /** Earlier response to send instead of forwarding the request. */
  readonly instead?: PassedResponse;
}

/** A route without the parts that identify an object. */
export const routeOf = (method: string, path: string): string =>
  `${method} ${(path.split('?')[0] ?? '').replaceAll(/[^/]*[\dA-Z][^/]*/g, (part) => (part === 'v1' ? part : '*'))}`;

const HOP_BY_HOP_HEADERS = new Set(['connection', 'keep-alive', 'transfer-encoding', 'content-length']);

/** A proxy between the rows and the service that forwards everything unchanged, unless told to break a response. */
export class BreakingProxy {
  private breakage: ResponseBreakage | null = null;
  private readonly counts = new Map<string, number>();
  private responses: Promise<PassedResponse>[] = [];
  private hasBroken = false;

  private constructor(
    private readonly server: Server,
    private readonly target: URL,
    readonly url: string,
  ) {}

  static async start(target: string): Promise<BreakingProxy> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const meddler = new BreakingProxy(server, new URL(target), url);
    server.on('request', (request, response) => meddler.forward(request, response));
    return meddler;
  }

  /** Resets the counters; from now on this breakage applies, or none. */
  arm(breakage: ResponseBreakage | null): void {
    this.breakage = breakage;
    this.counts.clear();
    this.responses = [];
    this.hasBroken = false;
  }

  /** Whether the breakage was applied. */
  get hasApplied(): boolean {
    return this.hasBroken;
  }

  /** All responses that were complete. */
  async completeResponses(): Promise<readonly PassedResponse[]> {
    const all = await Promise.allSettled(this.responses);
    return all.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  /** Returns the breakage if it applies to this response; null otherwise. */
  private breakageAt(of: string): ResponseBreakage | null {
    const count = this.counts.get(of) ?? 0;
    this.counts.set(of, count + 1);
    return this.breakage?.of === of && this.breakage.at === count ? this.breakage : null;
  }

  private forward(request: IncomingMessage, response: ServerResponse): void {
    const { method = 'GET', url: path = '/', headers } = request;
    const instead = this.breakageAt(routeOf(method, path))?.instead;
    if (instead !== undefined) {
      this.hasBroken = true;
      request.resume().once('end', () => sendResponse(response, instead));
      return;
    }
    const upstream = send({ host: this.target.hostname, port: this.target.port, method, path, headers });
    upstream.on('error', () => response.destroy());
    response.on('close', () => upstream.destroy());
    const completeResponse = new Promise<PassedResponse>((resolve, reject) => {
      upstream.on('close', () => reject(new Error('cut')));
      upstream.on('response', (answer) => {
        const breakage = this.breakageAt(`${routeOf(method, path)} ${answer.statusCode}`);
        if (breakage === null) writeHeaders(response, answer);
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => {
          chunks.push(chunk);
          if (breakage === null) response.write(chunk);
        });
        answer.on('error', () => response.destroy());
        answer.on('end', () => {
          const passedResponse = passedOf(method, path, answer, Buffer.concat(chunks));
          resolve(passedResponse);
          if (breakage === null) return finish(response, passedResponse.trailers);
          const brokenResponse = breakage.change(passedResponse);
          this.hasBroken ||= brokenResponse !== null;
          sendResponse(response, brokenResponse ?? passedResponse);
        });
      });
    });
    completeResponse.catch(() => undefined);
    this.responses.push(completeResponse);
    request.pipe(upstream);
  }
}

const passedOf = (method: string, path: string, answer: IncomingMessage, body: Buffer): PassedResponse => ({
  method,
  path,
  status: answer.statusCode ?? 0,
  headers: Object.fromEntries(
    Object.entries(answer.headers).flatMap(([name, value]) =>
      value === undefined || HOP_BY_HOP_HEADERS.has(name) ? [] : [[name, value]],
    ),
  ),
  body,
  trailers: Object.fromEntries(
    Object.entries(answer.trailers).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  ),
});

function writeHeaders(response: ServerResponse, answer: IncomingMessage): void {
  const { 'transfer-encoding': _coded, connection: _kept, 'keep-alive': _long, ...headers } = answer.headers;
  response.writeHead(answer.statusCode ?? 502, headers);
  response.flushHeaders();
}

function finish(response: ServerResponse, trailers: PassedResponse['trailers']): void {
  if (Object.keys(trailers).length > 0) response.addTrailers(trailers);
  response.end();
}

function sendResponse(response: ServerResponse, { status, headers, body, trailers }: PassedResponse): void {
  response.writeHead(status, headers);
  if (body.length > 0) response.write(body);
  finish(response, trailers);
}
