import { once } from 'node:events';
import { type AddressInfo, connect, createServer as createPlain, type Server, type Socket } from 'node:net';
import { createServer as createSecure } from 'node:tls';

/** What the proxy does with a request: it lets it through, answers for itself, or says nothing. */
type Verdict = 'pass' | 'hang' | 'cut' | { readonly answer: string };

export interface ForwardProxyOptions {
  /** Such as `user:password`; without them everybody is let through. */
  readonly credentials?: string;
  readonly tls?: { readonly cert: string; readonly key: string };
  readonly judge?: (line: string) => Verdict;
  /** Where a name leads to; as if the proxy resolved it. */
  readonly resolve?: (host: string) => string;
}

export interface ForwardProxy {
  readonly port: number;
  /** The first lines of what it was asked. */
  readonly asked: string[];
  readonly heads: string[];
  /** Of both sides. */
  readonly sockets: Set<Socket>;
  close(): void;
}

const wanted =
  'HTTP/1.1 407 Proxy Authentication Required\r\nproxy-authenticate: Basic realm="x"\r\ncontent-length: 0\r\n\r\n';

/** A proxy that tunnels by CONNECT and passes on requests in absolute form; bytes of answers it leaves as they are. */
export async function forwardProxy(options: ForwardProxyOptions = {}): Promise<ForwardProxy> {
  const proxy = { asked: [] as string[], heads: [] as string[], sockets: new Set<Socket>() };
  const serve = (socket: Socket): void => new Client(socket, options, proxy).begin();
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

class Client {
  private come = Buffer.alloc(0);
  private target: Socket | null = null;
  /** So much of a body is still to be passed on before the next request begins. */
  private left = 0;
  /** The body comes in chunks, and another one follows. */
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
    this.come = Buffer.concat([this.come, bytes]);
    for (;;) {
      const body = this.come.subarray(0, this.left);
      if (body.length > 0) this.target?.write(body);
      this.left -= body.length;
      this.come = this.come.subarray(body.length);
      if (this.left > 0) return;
      if (this.isChunked) {
        const line = this.come.indexOf('\r\n');
        if (line === -1) return;
        const size = parseInt(this.come.toString('latin1', 0, line), 16);
        this.left = line + size + 4;
        this.isChunked = size > 0;
        continue;
      }
      const end = this.come.indexOf('\r\n\r\n');
      if (end === -1) return;
      const head = this.come.toString('latin1', 0, end);
      this.come = this.come.subarray(end + 4);
      if (!this.ask(head)) return;
    }
  }

  /** False where nothing further is read as a request. */
  private ask(head: string): boolean {
    const { credentials, judge = (): Verdict => 'pass' } = this.options;
    const line = head.slice(0, head.indexOf('\r\n'));
    this.proxy.asked.push(line);
    this.proxy.heads.push(head);
    const given = /^proxy-authorization: Basic (\S+)$/im.exec(head)?.[1];
    const isKnown = credentials === undefined || given === Buffer.from(credentials).toString('base64');
    const verdict = isKnown ? judge(line) : { answer: wanted };
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
    const kept = head.replace(` ${origin}`, ' ').replace(/\r\nproxy-authorization: [^\r]*/i, '');
    this.target.write(`${kept}\r\n\r\n`, 'latin1');
    this.left = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0);
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
    if (this.come.length > 0) target.write(this.come);
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
    // As much is held back on one side as is not taken on the other.
    target.on('data', (bytes: Buffer) => {
      if (!socket.write(bytes)) target.pause();
    });
    socket.on('drain', () => target.resume());
    target.on('end', () => socket.end());
    // A reset stays a reset.
    target.on('error', (error: NodeJS.ErrnoException) =>
      error.code === 'ECONNRESET' && 'resetAndDestroy' in socket
        ? socket.resetAndDestroy()
        : socket.destroy(),
    );
    target.on('close', () => socket.end());
    return target;
  }
}
