import { createServer } from 'node:http';
import { pipeline } from 'node:stream';
import { Pool } from 'undici';

/** A bare proxy as one would write it first, with streams on both sides instead of undici's own handlers. */
const supplier = new Pool(process.env.SUPPLIER_ORIGIN ?? '', { connections: 256, pipelining: 1 });

createServer((request, response) => {
  if (request.method === 'GET') {
    response.end();
    return;
  }
  const headers = {
    'content-type': 'application/json',
    'content-length': request.headers['content-length'],
    authorization: request.headers.authorization,
  };
  supplier
    .request({ path: request.url ?? '/', method: 'POST', headers, body: request })
    .then(({ statusCode, headers: { connection: _c, 'transfer-encoding': _t, ...passed }, body }) => {
      response.writeHead(statusCode, passed);
      pipeline(body, response, () => undefined);
    })
    .catch(() => response.destroy());
}).listen(Number(process.env.PORT), '127.0.0.1');
