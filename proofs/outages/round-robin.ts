import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Backend {
  readonly url: string;
  isReady: boolean;
}

const POLL_INTERVAL_MS = 200;
const POLL_DEADLINE_MS = 1_000;

/**
 * Minimal load balancer: ready nodes in turn, one connection per call. A refused connection moves the call to the next
 * node; any response, or a broken connection, is passed on.
 */
export class RoundRobin {
  private readonly server: Server;
  private readonly pollTimer: NodeJS.Timeout;
  private nextIndex = 0;

  private constructor(private readonly backends: readonly Backend[]) {
    this.server = createServer((inbound, outbound) => void this.serve(inbound, outbound));
    this.pollTimer = setInterval(() => void this.poll(), POLL_INTERVAL_MS);
  }

  static async start(urls: readonly string[]): Promise<RoundRobin> {
    const proxy = new RoundRobin(urls.map((url) => ({ url, isReady: true })));
    proxy.server.listen(0, '127.0.0.1');
    await once(proxy.server, 'listening');
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  isReady(url: string): boolean {
    return this.backends.some((backend) => backend.url === url && backend.isReady);
  }

  async stop(): Promise<void> {
    clearInterval(this.pollTimer);
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  private async poll(): Promise<void> {
    await Promise.all(
      this.backends.map(async (backend) => {
        const signal = AbortSignal.timeout(POLL_DEADLINE_MS);
        const isReady = await fetch(`${backend.url}/health/ready`, { signal }).then(
          async (response) => {
            await response.arrayBuffer();
            return response.ok;
          },
          () => false,
        );
        backend.isReady = isReady;
      }),
    );
  }

  private async serve(inbound: IncomingMessage, outbound: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of inbound) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const ready = this.backends.filter(({ isReady }) => isReady);
    const candidates = ready.length > 0 ? ready : this.backends;
    const first = (this.nextIndex += 1);
    for (let index = 0; index < candidates.length; index += 1) {
      const { url } = candidates[(first + index) % candidates.length]!;
      if (await forward(url, inbound, body, outbound)) return;
    }
    outbound.writeHead(502).end();
  }
}

/** Returns false if no connection could be opened, so no process received any part of the call. */
function forward(
  url: string,
  inbound: IncomingMessage,
  body: Buffer,
  outbound: ServerResponse,
): Promise<boolean> {
  return new Promise((resolve) => {
    const { method, headers } = inbound;
    const { connection: _ours, host: _name, ...rest } = headers;
    const outgoing = request(
      url + (inbound.url ?? ''),
      { method, headers: rest, agent: false },
      (response) => {
        outbound.writeHead(response.statusCode ?? 502, response.rawHeaders);
        response.on('data', (chunk: Buffer) => outbound.write(chunk));
        response.on('error', () => outbound.destroy());
        response.on('end', () => outbound.end());
        resolve(true);
      },
    );
    let isConnected = false;
    outgoing.on('socket', (socket) => socket.once('connect', () => (isConnected = true)));
    outgoing.on('error', () => {
      if (isConnected) outbound.destroy();
      resolve(isConnected);
    });
    outbound.on('close', () => outgoing.destroy());
    outgoing.end(body);
  });
}
