import { once } from 'node:events';
import { type AddressInfo, connect, createServer as createPlain, type Server, type Socket } from 'node:net';
import { createServer as createSecure } from 'node:tls';

/** Handling of a request: pass it on, respond itself, hang or cut the connection. */
type ProxyVerdict = 'pass' | 'hang' | 'cut' | { readonly answer: string };

export interface ForwardProxyOptions {
  /** For example `user:password`; defaults to no authentication. */
  readonly credentials?: string;
  readonly tls?: { readonly cert: string; readonly key: string };
  readonly judge?: (line: string) => ProxyVerdict;
  /** Address a host name resolves to, as if the proxy resolved it. */
  readonly resolve?: (host: string) => string;
}

export interface ForwardProxy {
  readonly port: number;
  /** Request lines received. */
  readonly requestLines: string[];
  readonly heads: string[];
  /** Sockets of clients and targets. */
  readonly sockets: Set<Socket>;
  close(): void;
}

const authenticationRequired =
  'HTTP/1.1 407 Proxy Authentication Required\r\nproxy-authenticate: Basic realm="x"\r\ncontent-length: 0\r\n\r\n';

/** Proxy that tunnels CONNECT and forwards requests in absolute form; response bytes pass unchanged. */
export async function startForwardProxy(options: ForwardProxyOptions = {}): Promise<ForwardProxy> {
  const proxy = { requestLines: [] as string[], heads: [] as string[], sockets: new Set<Socket>() };
  const serve = (socket: Socket): void => new ProxyClient(socket, options, proxy).begin();
  const server: Server =
    options.tls === undefined
      ? createPlain({ allowHalfOpen: true, noDelay: true }, serve)
      : createSecure({ ...options.tls, allowHalfOpen: true, noDelay: true }, serve);
  server.on('tlsClientError', () => undefined);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    ...proxy,
    port: (server.address() as AddressInfo).port,
    close() {
      for (const socket of proxy.sockets) socket.destroy();
      server.close();
    },
  };
}

class ProxyClient {
  private pending = Buffer.alloc(0);
  private target: Socket | null = null;
  /** Body bytes still to be passed on before the next request starts. */
  private bodyBytesLeft = 0;
  /** Another chunk of a chunked body follows. */
  private isChunked = false;

  constructor(
    private readonly socket: Socket,
    private readonly options: ForwardProxyOptions,
    private readonly proxy: Omit<ForwardProxy, 'port' | 'close'>,
  ) {}

  begin(): void {
    this.proxy.sockets.add(this.socket);
    this.socket.on('error', () => undefined).on('data', (bytes: Buffer) => this.take(bytes));
    this.socket
      .on('close', () => this.target?.destroy())
      .on('end', () => this.target?.end() ?? this.socket.end());
  }

  private take(bytes: Buffer): void {
    this.pending = Buffer.concat([this.pending, bytes]);
    for (;;) {
      const body = this.pending.subarray(0, this.bodyBytesLeft);
      if (body.length > 0) this.target?.write(body);
      this.bodyBytesLeft -= body.length;
      this.pending = this.pending.subarray(body.length);
      if (this.bodyBytesLeft > 0) return;
      if (this.isChunked) {
        const line = this.pending.indexOf('\r\n');
        if (line === -1) return;
        const size = parseInt(this.pending.toString('latin1', 0, line), 16);
        this.bodyBytesLeft = line + size + 4;
        this.isChunked = size > 0;
        continue;
      }
      const end = this.pending.indexOf('\r\n\r\n');
      if (end === -1) return;
      const head = this.pending.toString('latin1', 0, end);
      this.pending = this.pending.subarray(end + 4);
      if (!this.handleRequest(head)) return;
    }
  }

  /** Returns false if nothing further is read as a request. */
  private handleRequest(head: string): boolean {
    const { credentials, judge = (): ProxyVerdict => 'pass' } = this.options;
    const line = head.slice(0, head.indexOf('\r\n'));
    this.proxy.requestLines.push(line);
    this.proxy.heads.push(head);
    const credentialsReceived = /^proxy-authorization: Basic (\S+)$/im.exec(head)?.[1];
    const isAuthenticated =
      credentials === undefined || credentialsReceived === Buffer.from(credentials).toString('base64');
    const verdict = isAuthenticated ? judge(line) : { answer: authenticationRequired };
    if (verdict === 'hang') return false;
    if (verdict === 'cut') return this.drop();
    if (verdict !== 'pass') return this.socket.write(verdict.answer);
    const [method = '', address = ''] = line.split(' ');
    if (method === 'CONNECT') {
      this.tunnel(address);
      return false;
    }
    const { hostname, port, origin } = new URL(address);
    this.target ??= this.connect(hostname, Number(port) || 80);
    const forwardedHead = head.replace(` ${origin}`, ' ').replace(/\r\nproxy-authorization: [^\r]*/i, '');
    this.target.write(`${forwardedHead}\r\n\r\n`, 'latin1');
    this.bodyBytesLeft = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0);
    this.isChunked = /^transfer-encoding: chunked$/im.test(head);
    return true;
  }

  private drop(): false {
    this.socket.destroy();
    return false;
  }

  private tunnel(address: string): void {
    const { hostname, port } = new URL(`http://${address}`);
    const target = this.connect(hostname, Number(port) || 443);
    this.target = target;
    target.once('connect', () => this.socket.write('HTTP/1.1 200 Connection established\r\n\r\n'));
    this.socket.removeAllListeners('data').on('data', (bytes: Buffer) => target.write(bytes));
    if (this.pending.length > 0) target.write(this.pending);
  }

  private connect(host: string, port: number): Socket {
    const { socket } = this;
    const target = connect({
      host: this.options.resolve?.(host) ?? host,
      port,
      noDelay: true,
      allowHalfOpen: true,
    });
    this.proxy.sockets.add(target);
    // Back-pressure is passed on in both directions.
    target.on('data', (bytes: Buffer) => {
      if (!socket.write(bytes)) target.pause();
    });
    socket.on('drain', () => target.resume());
    target.on('end', () => socket.end());
    // Passes on a reset as a reset.
    target.on('error', (error: NodeJS.ErrnoException) =>
      error.code === 'ECONNRESET' && 'resetAndDestroy' in socket
        ? socket.resetAndDestroy()
        : socket.destroy(),
    );
    target.on('close', () => socket.end());
    return target;
  }
}
