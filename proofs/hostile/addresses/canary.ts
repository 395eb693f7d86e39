import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Listens on a forbidden address and counts connections. */
export class Canary {
  connections = 0;
  readonly requests: { readonly url: string; readonly headers: IncomingMessage['headers'] }[] = [];

  private constructor(
    private readonly server: Server,
    readonly port: number,
  ) {
    server.on('connection', () => (this.connections += 1));
    server.on('request', (request, response) => {
      this.requests.push({ url: request.url ?? '', headers: request.headers });
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"instance":"canary"}');
    });
  }

  /** Listens on every address of the machine, IPv4 and IPv6. */
  static async listen(): Promise<Canary> {
    const server = createServer().listen(0, '::');
    await once(server, 'listening');
    return new Canary(server, (server.address() as AddressInfo).port);
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }
}
