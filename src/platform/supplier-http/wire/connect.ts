import { connect as connectPlain, isIP, type LookupFunction, type Socket } from 'node:net';
import { connect as connectEncrypted, type SecureContext, type TLSSocket } from 'node:tls';
import { MINUTE_MS } from '../../../kernel';
import { SupplierDeadline } from '../errors';

/** Size of one read, and the maximum that a socket buffers before back-pressure. */
const READ_BYTES = 16 * 1024;
const PROBE_AFTER_MS = MINUTE_MS;

export interface ConnectDestination {
  readonly origin: URL;
  readonly timeoutMs: number;
  /** If undefined, names are the operator's own, and resolved by the system. */
  readonly lookup?: LookupFunction | undefined;
  /** Trusted certificates and the client certificate, if they differ from the defaults. */
  readonly secureContext?: SecureContext | undefined;
}

/** Returns false to pause the socket. */
export type ReadCallback = (memory: Buffer, count: number) => boolean;

/** Buffer shared by all connections, since each read is consumed before the next. */
const memory = Buffer.allocUnsafeSlow(READ_BYTES);

const socketDefaults = {
  noDelay: true,
  keepAlive: true,
  keepAliveInitialDelay: PROBE_AFTER_MS,
  highWaterMark: READ_BYTES,
};

/** Opens connections to one origin; encrypted ones resume the previous session. */
export function connectorTo(destination: ConnectDestination): (onRead: ReadCallback) => Socket {
  const isEncrypted = destination.origin.protocol === 'https:';
  const secure = secureConnectorTo(destination);
  return (onRead) => {
    const socket = isEncrypted ? attachReader(secure(), onRead) : openPlain(destination, onRead);
    return withConnectTimeout(socket, isEncrypted ? 'secureConnect' : 'connect', destination.timeoutMs);
  };
}

/** Opens encrypted connections to an origin, over an existing socket if one is passed. */
export function secureConnectorTo({
  origin,
  lookup,
  secureContext,
}: ConnectDestination): (over?: Socket) => TLSSocket {
  const { host, port } = addressOf(origin);
  // Many suppliers share an address and are distinguished by the server name.
  const servername = isIP(host) === 0 ? host : '';
  let session: Buffer | undefined;
  return (over) => {
    const endpoint = over === undefined ? { ...socketDefaults, host, port, lookup } : { host, socket: over };
    const socket = connectEncrypted({
      ...endpoint,
      servername,
      ALPNProtocols: ['http/1.1'],
      session,
      ...(secureContext === undefined ? {} : { secureContext }),
    });
    return socket.on('session', (next) => (session = next));
  };
}

/** Opens a connection for a caller that reads and writes itself. */
export function openTo(
  destination: ConnectDestination,
  callback: (error: Error | null, socket: Socket | null) => void,
): void {
  const isEncrypted = destination.origin.protocol === 'https:';
  const socket = isEncrypted
    ? secureConnectorTo(destination)()
    : connectPlain({ ...socketDefaults, ...addressOf(destination.origin), lookup: destination.lookup });
  const fail = (error: Error): void => callback(error, null);
  withConnectTimeout(socket, isEncrypted ? 'secureConnect' : 'connect', destination.timeoutMs)
    .once('error', fail)
    .once(isEncrypted ? 'secureConnect' : 'connect', () => callback(null, socket.off('error', fail)));
}

export function attachReader(socket: TLSSocket, onRead: ReadCallback): TLSSocket {
  return socket.on('data', (bytes: Buffer) => {
    if (!onRead(bytes, bytes.length)) socket.pause();
  });
}

function openPlain({ origin, lookup }: ConnectDestination, onRead: ReadCallback): Socket {
  // By default a socket allocates 64 KB for every read, and as much again for a slow reader.
  const callback = (count: number): boolean => onRead(memory, count);
  return connectPlain({
    ...socketDefaults,
    ...addressOf(origin),
    lookup,
    onread: { buffer: memory, callback },
  });
}

function withConnectTimeout(socket: Socket, event: 'connect' | 'secureConnect', timeoutMs: number): Socket {
  const timer = setTimeout(
    () => socket.destroy(new SupplierDeadline('took no connection within', timeoutMs)),
    timeoutMs,
  );
  const clearTimer = (): void => clearTimeout(timer);
  return socket.once(event, clearTimer).once('close', clearTimer);
}

function addressOf({ hostname, port, protocol }: URL): { readonly host: string; readonly port: number } {
  const host = hostname.replace(/^\[|\]$/g, '');
  return { host, port: Number(port) || (protocol === 'https:' ? 443 : 80) };
}
