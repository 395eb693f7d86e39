import { createServer, type ServerResponse } from 'node:http';
import { type Dispatcher, Pool } from 'undici';

/**
 * The minimal proxy in Node: it forwards the request and the answer. No keys, no limits, no money,
 * no records, nothing read. The report gives the gateway's cost as a multiple of this.
 */
const supplier = new Pool(process.env.SUPPLIER_ORIGIN ?? '', { connections: 256, pipelining: 1 });

class ResponseForwarder implements Dispatcher.DispatchHandler {
  constructor(private readonly response: ServerResponse) {}

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.response.on('drain', () => controller.resume());
    this.response.on('close', () => {
      if (!this.response.writableFinished) controller.abort(new Error('the caller left'));
    });
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    { connection: _connection, 'transfer-encoding': _coding, ...headers }: Record<string, string | string[]>,
  ): void {
    this.response.writeHead(status, headers);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.response.write(chunk)) controller.pause();
  }

  onResponseEnd(): void {
    this.response.end();
  }

  onResponseError(): void {
    this.response.destroy();
  }
}

createServer((request, response) => {
  if (request.method === 'GET') {
    response.end();
    return;
  }
  const body: Buffer[] = [];
  request.on('data', (chunk: Buffer) => body.push(chunk));
  request.on('end', () => {
    const headers = {
      'content-type': 'application/json',
      authorization: request.headers.authorization ?? '',
    };
    supplier.dispatch(
      { path: request.url ?? '/', method: 'POST', headers, body: Buffer.concat(body) },
      new ResponseForwarder(response),
    );
  });
}).listen(Number(process.env.PORT), '127.0.0.1');
