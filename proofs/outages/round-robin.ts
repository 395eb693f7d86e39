import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Backend {
  readonly url: string;
  isReady: boolean;
}

const LOOK_EVERY_MS = 200;
const LOOK_DEADLINE_MS = 1_000;

/**
 * A minimal load balancer: ready nodes in turn, each call on a connection of its own. A refused connection moves the
 * call to the next node; any answer, and a broken connection, is passed on.
 */
export class RoundRobin {
  private readonly server: Server;
  private readonly looking: NodeJS.Timeout;
  private turn = 0;

  private constructor(private readonly backends: readonly Backend[]) {
    this.server = createServer((inbound, outbound) => void this.serve(inbound, outbound));
    this.looking = setInterval(() => void this.look(), LOOK_EVERY_MS);
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
    clearInterval(this.looking);
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  private async look(): Promise<void> {
    await Promise.all(
      this.backends.map(async (backend) => {
        const signal = AbortSignal.timeout(LOOK_DEADLINE_MS);
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
    const first = (this.turn += 1);
    for (let place = 0; place < candidates.length; place += 1) {
      const { url } = candidates[(first + place) % candidates.length]!;
      if (await pass(url, inbound, body, outbound)) return;
    }
    outbound.writeHead(502).end();
  }
}

/** False when no connection could be opened, so that no process received any of the call. */
function pass(
  url: string,
  inbound: IncomingMessage,
  body: Buffer,
  outbound: ServerResponse,
): Promise<boolean> {
  return new Promise((resolve) => {
    const { method, headers } = inbound;
    const { connection: _ours, host: _name, ...rest } = headers;
    const sent = request(url + (inbound.url ?? ''), { method, headers: rest, agent: false }, (response) => {
      outbound.writeHead(response.statusCode ?? 502, response.rawHeaders);
      response.on('data', (chunk: Buffer) => outbound.write(chunk));
      response.on('error', () => outbound.destroy());
      response.on('end', () => outbound.end());
      resolve(true);
    });
    let isConnected = false;
    sent.on('socket', (socket) => socket.once('connect', () => (isConnected = true)));
    sent.on('error', () => {
      if (isConnected) outbound.destroy();
      resolve(isConnected);
    });
    outbound.on('close', () => sent.destroy());
    sent.end(body);
  });
}
