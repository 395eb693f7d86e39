import { once } from 'node:events';
import { type AddressInfo, connect, type Server, type Socket } from 'node:net';
import { createServer } from 'node:tls';
import { certificates } from './certificates';

/** TLS front of a local plain server that requires our client certificate. */
export interface TlsFront {
  readonly port: number;
  stop(): void;
}

/** Signed by a private authority; accepts a single client. */
const tlsOptions = {
  cert: certificates.supplier,
  key: certificates.supplierKey,
  ca: certificates.client,
  requestCert: true,
  rejectUnauthorized: true,
};

/** Forwards bytes unchanged. */
export const secureFront = (port: number, onConnection: () => void): Promise<TlsFront> =>
  startFront(
    createServer({ ...tlsOptions, allowHalfOpen: true, noDelay: true }, (socket) => {
      onConnection();
      const target = connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
      target.on('error', () => socket.destroy()).on('close', () => socket.end());
      socket.on('error', () => target.destroy()).on('close', () => target.destroy());
      socket.pipe(target).pipe(socket);
    }),
  );

/** Listens on every address of the machine, IPv4 and IPv6. */
async function startFront(server: Server): Promise<TlsFront> {
  const sockets = new Set<Socket>();
  server.on('secureConnection', (socket: Socket) => sockets.add(socket.on('error', () => undefined)));
  server.on('tlsClientError', () => undefined);
  await once(server.listen(0, '::'), 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    stop() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
