import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The clients' outgoing proxy. It refuses every connection and records its target. */
export class Outside {
  readonly wanted = new Set<string>();
  private readonly server = createServer((request, response) => {
    this.wanted.add(request.url ?? '');
    response.writeHead(403).end();
  });

  static async open(): Promise<Outside> {
    const outside = new Outside();
    outside.server.on('connect', (request, socket) => {
      outside.wanted.add(request.url ?? '');
      socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    });
    outside.server.listen(0, '127.0.0.1');
    await once(outside.server, 'listening');
    return outside;
  }

  get environment(): Record<string, string> {
    const url = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
    const here = '127.0.0.1,localhost';
    return {
      ...Object.fromEntries(['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY'].map((name) => [name, url])),
      ...Object.fromEntries(['http_proxy', 'https_proxy', 'all_proxy'].map((name) => [name, url])),
      NO_PROXY: here,
      no_proxy: here,
    };
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
  }
}
