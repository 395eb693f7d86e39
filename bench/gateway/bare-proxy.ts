import { createServer } from 'node:http';
import { pipeline } from 'node:stream';
import { Pool } from 'undici';

/**
 * Simplest possible proxy, with `node:http` and undici's `request`: no keys, limits, money, records or parsing.
 * Non-streaming responses are buffered, streams are piped; the report gives the gateway's cost as a multiple.
 */
const supplier = new Pool(process.env.SUPPLIER_ORIGIN ?? '', { connections: 256, pipelining: 1 });

createServer((request, response) => {
  if (request.method === 'GET') {
    response.end();
    return;
  }
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const completeBody = Buffer.concat(chunks);
    const headers = {
      'content-type': 'application/json',
      'content-length': String(completeBody.length),
      authorization: request.headers.authorization ?? '',
    };
    supplier
      .request({ path: request.url ?? '/', method: 'POST', headers, body: completeBody })
      .then(async ({ statusCode, headers: received, body }) => {
        const type = String(received['content-type']);
        if (type.includes('event-stream')) {
          response.writeHead(statusCode, { 'content-type': type });
          pipeline(body, response, () => undefined);
          return;
        }
        const answer = Buffer.from(await body.arrayBuffer());
        response.writeHead(statusCode, { 'content-type': type, 'content-length': answer.length });
        response.end(answer);
      })
      .catch(() => response.destroy());
  });
}).listen(Number(process.env.PORT), '127.0.0.1');
