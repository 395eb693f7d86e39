import { once } from 'node:events';
import { type AddressInfo, connect, type Server, type Socket } from 'node:net';
import { createServer } from 'node:tls';
import { certificates } from './certificates';

/** TLS before a plain server of this machine: it asks for our certificate, and takes no other. */
export interface Front {
  readonly port: number;
  stop(): void;
}

/** A private authority vouches for it, and it knows one client. */
const asking = {
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

/** On every address of the machine, of both families. */
async function frontOf(server: Server): Promise<Front> {
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
