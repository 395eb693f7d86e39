import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ScriptedResponse {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string | Buffer | object;
  /** Remainder of the body, sent once `resume` is called. */
  readonly rest?: string;
}

export interface ReceivedRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Supplier that responds to every request with the response set last. */
export class ScriptedSupplier {
  answer: ScriptedResponse | ((request: ReceivedRequest) => ScriptedResponse) = { body: {} };
  readonly requests: ReceivedRequest[] = [];
  resume: () => void = () => undefined;

  private constructor(
    readonly url: string,
    readonly stop: () => Promise<void>,
  ) {}

  static async start(): Promise<ScriptedSupplier> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const supplier = new ScriptedSupplier(
      `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      () => {
        server.closeAllConnections();
        return new Promise((resolve) => server.close(() => resolve()));
      },
    );
    server.on('request', (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { url: path = '', headers } = request;
        const received = { path, headers, body: Buffer.concat(chunks).toString() };
        supplier.requests.push(received);
        const { answer } = supplier;
        const {
          status = 200,
          headers: responseHeaders,
          body,
          rest,
        } = typeof answer === 'function' ? answer(received) : answer;
        const isText = typeof body === 'string' || Buffer.isBuffer(body);
        response.writeHead(status, { 'content-type': 'application/json', ...responseHeaders });
        const text = isText ? body : JSON.stringify(body);
        if (rest === undefined) return void response.end(text);
        supplier.resume = () => response.end(rest);
        response.write(text);
      });
    });
    return supplier;
  }
}
