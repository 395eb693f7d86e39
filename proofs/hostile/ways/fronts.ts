import { once } from 'node:events';
import { type IncomingMessage, request as plainRequest } from 'node:http';
import { constants, createSecureServer, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { type AddressInfo, connect, type Server, type Socket } from 'node:net';
import { createServer } from 'node:tls';
import { certificates } from './certificates';

/** TLS before a plain server of this machine: it asks for our certificate, and takes no other. */
export interface Front {
  readonly port: number;
  stop(): void;
}

/** A private authority vouches for it, and it knows one client. */
export const asking = {
  cert: certificates.supplier,
  key: certificates.supplierKey,
  ca: certificates.client,
  requestCert: true,
  rejectUnauthorized: true,
};

/** Bytes go on as they are. */
export const secureFront = (port: number, onTaken: () => void): Promise<Front> =>
  frontOf(
    createServer({ ...asking, allowHalfOpen: true, noDelay: true }, (socket) => {
      onTaken();
      const target = connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
      target.on('error', () => socket.destroy()).on('close', () => socket.end());
      socket.on('error', () => target.destroy()).on('close', () => target.destroy());
      socket.pipe(target).pipe(socket);
    }),
  );

/** Each stream of HTTP/2 is a request of HTTP/1.1 to the server behind it. */
export function http2Front(port: number, onTaken: () => void): Promise<Front> {
  const server = createSecureServer(asking);
  server.on('stream', (stream: ServerHttp2Stream, fields: IncomingHttpHeaders) => {
    onTaken();
    stream.on('error', () => undefined);
    const further = plainRequest(
      {
        port,
        host: '127.0.0.1',
        agent: false,
        method: fields[':method'],
        path: fields[':path'],
        headers: { ...plainFields(fields), host: fields[':authority'] },
      },
      (answer) => passOn(answer, stream),
    );
    further.on('error', () => stream.close(constants.NGHTTP2_INTERNAL_ERROR));
    stream.pipe(further);
  });
  return frontOf(server);
}

function passOn(answer: IncomingMessage, stream: ServerHttp2Stream): void {
  if (stream.destroyed) return void answer.destroy();
  const headers = Object.fromEntries(Object.entries(answer.headers).filter(([name]) => !ofHop.has(name)));
  stream.respond({ ...headers, ':status': answer.statusCode }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers(answer.trailers));
  answer.on('error', () => stream.close(constants.NGHTTP2_INTERNAL_ERROR));
  answer.pipe(stream);
}

/** These speak of one connection, which HTTP/2 has no word for (RFC 9113, section 8.2.2). */
const ofHop = new Set(['connection', 'keep-alive', 'transfer-encoding', 'upgrade', 'proxy-connection']);

const plainFields = (fields: IncomingHttpHeaders): Record<string, string | string[] | undefined> =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !name.startsWith(':')));

/** On every address of the machine, of both families. */
export async function frontOf(server: Server): Promise<Front> {
  const sockets = new Set<Socket>();
  server.on('secureConnection', (socket: Socket) => sockets.add(socket.on('error', () => undefined)));
  server.on('tlsClientError', () => undefined).on('sessionError', () => undefined);
  await once(server.listen(0, '::'), 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    stop() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
