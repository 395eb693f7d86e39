import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Outbound proxy of the clients. Refuses every connection and records its target. */
export class EgressProxy {
  readonly targets = new Set<string>();
  private readonly server = createServer((request, response) => {
    this.targets.add(request.url ?? '');
    response.writeHead(403).end();
  });

  static async open(): Promise<EgressProxy> {
    const egressProxy = new EgressProxy();
    egressProxy.server.on('connect', (request, socket) => {
      egressProxy.targets.add(request.url ?? '');
      socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    });
    egressProxy.server.listen(0, '127.0.0.1');
    await once(egressProxy.server, 'listening');
    return egressProxy;
  }

  get environment(): Record<string, string> {
    const url = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
    const noProxy = '127.0.0.1,localhost';
    return {
      ...Object.fromEntries(['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY'].map((name) => [name, url])),
      ...Object.fromEntries(['http_proxy', 'https_proxy', 'all_proxy'].map((name) => [name, url])),
      NO_PROXY: noProxy,
      no_proxy: noProxy,
    };
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
  }
}
