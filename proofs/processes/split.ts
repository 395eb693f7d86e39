import { once } from 'node:events';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One address before two roles: calls go to the gateway, everything else to the portal. */
export async function splitByPath(
  gateway: string,
  portal: string,
): Promise<Server & { readonly url: string }> {
  const server = createServer((inbound, outbound) => {
    const path = inbound.url ?? '/';
    const to = /^\/(v\d+(\/|$|\?)|api\/hello)/.test(path) ? gateway : portal;
    const { method, headers } = inbound;
    const sent = request(to + path, { method, headers }, (answer) => {
      outbound.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
      answer.pipe(outbound);
    });
    sent.on('error', () => outbound.destroy());
    inbound.pipe(sent);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return Object.assign(server, { url: `http://127.0.0.1:${port}` });
}
