import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  request as send,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';

/** An answer of the service as it passed. */
export interface Passed {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body: Buffer;
  readonly trailers: Readonly<Record<string, string>>;
}

/** One way to break one answer of a row. */
export interface Breakage {
  readonly name: string;
  /** The route and status of the answer; of what is not asked at all, the route. */
  readonly of: string;
  /** Its number among those. */
  readonly at: number;
  /** Null where there is nothing to break in this answer. */
  readonly change: (passed: Passed) => Passed | null;
  /** Answered with what passed before, without asking the service. */
  readonly instead?: Passed;
}

/** A route without what tells one object from another. */
export const routeOf = (method: string, path: string): string =>
  `${method} ${(path.split('?')[0] ?? '').replaceAll(/[^/]*[\dA-Z][^/]*/g, (part) => (part === 'v1' ? part : '*'))}`;

const hops = new Set(['connection', 'keep-alive', 'transfer-encoding', 'content-length']);

/** Stands between the rows and the service. Passes everything on as it comes, unless told to break an answer. */
export class Meddler {
  private breakage: Breakage | null = null;
  private readonly counts = new Map<string, number>();
  private seen: Promise<Passed>[] = [];
  private hasBroken = false;

  private constructor(
    private readonly server: Server,
    private readonly target: URL,
    readonly url: string,
  ) {}

  static async start(target: string): Promise<Meddler> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const meddler = new Meddler(server, new URL(target), url);
    server.on('request', (request, response) => meddler.pass(request, response));
    return meddler;
  }

  /** Counts from the start again; from now on this is broken, or nothing. */
  arm(breakage: Breakage | null): void {
    this.breakage = breakage;
    this.counts.clear();
    this.seen = [];
    this.hasBroken = false;
  }

  /** Something was there to break. */
  get broke(): boolean {
    return this.hasBroken;
  }

  /** All answers that came to their end. */
  async passed(): Promise<readonly Passed[]> {
    const all = await Promise.allSettled(this.seen);
    return all.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  /** The breakage is due where this is the place; else null. */
  private due(of: string): Breakage | null {
    const count = this.counts.get(of) ?? 0;
    this.counts.set(of, count + 1);
    return this.breakage?.of === of && this.breakage.at === count ? this.breakage : null;
  }

  private pass(request: IncomingMessage, response: ServerResponse): void {
    const { method = 'GET', url: path = '/', headers } = request;
    const instead = this.due(routeOf(method, path))?.instead;
    if (instead !== undefined) {
      this.hasBroken = true;
      request.resume().once('end', () => give(response, instead));
      return;
    }
    const upstream = send({ host: this.target.hostname, port: this.target.port, method, path, headers });
    upstream.on('error', () => response.destroy());
    response.on('close', () => upstream.destroy());
    const whole = new Promise<Passed>((resolve, reject) => {
      upstream.on('close', () => reject(new Error('cut')));
      upstream.on('response', (answer) => {
        const breakage = this.due(`${routeOf(method, path)} ${answer.statusCode}`);
        if (breakage === null) head(response, answer);
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => {
          chunks.push(chunk);
          if (breakage === null) response.write(chunk);
        });
        answer.on('error', () => response.destroy());
        answer.on('end', () => {
          const passed = passedOf(method, path, answer, Buffer.concat(chunks));
          resolve(passed);
          if (breakage === null) return finish(response, passed.trailers);
          const broken = breakage.change(passed);
          this.hasBroken ||= broken !== null;
          give(response, broken ?? passed);
        });
      });
    });
    whole.catch(() => undefined);
    this.seen.push(whole);
    request.pipe(upstream);
  }
}

const passedOf = (method: string, path: string, answer: IncomingMessage, body: Buffer): Passed => ({
  method,
  path,
  status: answer.statusCode ?? 0,
  headers: Object.fromEntries(
    Object.entries(answer.headers).flatMap(([name, value]) =>
      value === undefined || hops.has(name) ? [] : [[name, value]],
    ),
  ),
  body,
  trailers: Object.fromEntries(
    Object.entries(answer.trailers).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  ),
});

function head(response: ServerResponse, answer: IncomingMessage): void {
  const { 'transfer-encoding': _coded, connection: _kept, 'keep-alive': _long, ...headers } = answer.headers;
  response.writeHead(answer.statusCode ?? 502, headers);
  response.flushHeaders();
}

function finish(response: ServerResponse, trailers: Passed['trailers']): void {
  if (Object.keys(trailers).length > 0) response.addTrailers(trailers);
  response.end();
}

function give(response: ServerResponse, { status, headers, body, trailers }: Passed): void {
  response.writeHead(status, headers);
  if (body.length > 0) response.write(body);
  finish(response, trailers);
}
