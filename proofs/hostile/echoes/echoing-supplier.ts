import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Echo } from './echo-kinds';

/** Sends scripted responses and records whether a request contained the secret. */
export class EchoingSupplier {
  echo: Echo = { body: '' };
  /** Number of requests with the secret. */
  requestsWithSecret = 0;
  resume: () => void = () => undefined;

  private constructor(
    private readonly server: Server,
    readonly port: number,
    private readonly secret: string,
  ) {
    server.on('request', (request, response) => {
      request.resume();
      request.on('end', () => {
        const { authorization, 'x-api-key': key } = request.headers;
        if (`${authorization} ${String(key)}`.includes(this.secret)) this.requestsWithSecret += 1;
        this.answer(response);
      });
    });
  }

  static async start(secret: string): Promise<EchoingSupplier> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new EchoingSupplier(server, (server.address() as AddressInfo).port, secret);
  }

  stop(): void {
    this.server.closeAllConnections();
    this.server.close();
  }

  private answer(response: ServerResponse): void {
    const { status = 200, headers, body, rest, trailers } = this.echo;
    response.writeHead(status, {
      'content-type': 'application/json',
      ...(trailers === undefined ? {} : { trailer: Object.keys(trailers).join(', ') }),
      ...headers,
    });
    response.write(body);
    const end = (): void => {
      if (trailers !== undefined) response.addTrailers(trailers);
      response.end(rest);
    };
    if (rest === undefined) end();
    else this.resume = end;
  }
}
