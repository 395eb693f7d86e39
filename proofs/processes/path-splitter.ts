import { once } from 'node:events';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Single address before two roles: API calls go to the gateway, everything else to the portal. */
export async function splitByPath(
  gateway: string,
  portal: string,
): Promise<Server & { readonly url: string }> {
  const server = createServer((inbound, outbound) => {
    const path = inbound.url ?? '/';
    const to = /^\/(v\d+(\/|$|\?)|api\/hello)/.test(path) ? gateway : portal;
    const { method, headers } = inbound;
    const upstreamRequest = request(to + path, { method, headers }, (answer) => {
      outbound.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
      answer.pipe(outbound);
    });
    upstreamRequest.on('error', () => outbound.destroy());
    inbound.pipe(upstreamRequest);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return Object.assign(server, { url: `http://127.0.0.1:${port}` });
}
