import { connect as connectPlain, isIP, type LookupFunction, type Socket } from 'node:net';
import { connect as connectEncrypted, type SecureContext, type TLSSocket } from 'node:tls';
import { MINUTE_MS } from '../../../kernel';
import { SupplierDeadline } from '../errors';

/** The size of one read, and the most that a socket buffers before back-pressure. */
const READ_BYTES = 16 * 1024;
const PROBE_AFTER_MS = MINUTE_MS;

/** It says where connections go, and how. */
export interface Destination {
  readonly origin: URL;
  readonly timeoutMs: number;
  /** Left out, the names are the operator's own, and resolved as usual. */
  readonly lookup?: LookupFunction | undefined;
  /** Other certificates than the usual ones are trusted, or one is shown. */
  readonly secureContext?: SecureContext | undefined;
}

/** Answers false to have the socket read no further for now. */
export type Reading = (memory: Buffer, count: number) => boolean;

/** One buffer for all connections: each read is consumed before the next. */
const memory = Buffer.allocUnsafeSlow(READ_BYTES);

const usual = {
  noDelay: true,
  keepAlive: true,
  keepAliveInitialDelay: PROBE_AFTER_MS,
  highWaterMark: READ_BYTES,
};

/** Opens connections to one origin; encrypted ones resume the session of the one before. */
export function connectorTo(destination: Destination): (reading: Reading) => Socket {
  const isEncrypted = destination.origin.protocol === 'https:';
  const secure = secureConnectorTo(destination);
  return (reading) => {
    const socket = isEncrypted ? readingFrom(secure(), reading) : openPlain(destination, reading);
    return expected(socket, isEncrypted ? 'secureConnect' : 'connect', destination.timeoutMs);
  };
}

/** The same where the origin is encrypted, and over a connection that is there already where one is given. */
export function secureConnectorTo({
  origin,
  lookup,
  secureContext,
}: Destination): (over?: Socket) => TLSSocket {
  const { host, port } = addressOf(origin);
  // Many suppliers share an address and tell by the name which of them is meant.
  const servername = isIP(host) === 0 ? host : '';
  let session: Buffer | undefined;
  return (over) => {
    const ends = over === undefined ? { ...usual, host, port, lookup } : { host, socket: over };
    const socket = connectEncrypted({
      ...ends,
      servername,
      ALPNProtocols: ['http/1.1'],
      session,
      ...(secureContext === undefined ? {} : { secureContext }),
    });
    return socket.on('session', (next) => (session = next));
  };
}

/** Opens a connection that somebody else reads from and writes to. */
export function openTo(
  destination: Destination,
  give: (error: Error | null, socket: Socket | null) => void,
): void {
  const isEncrypted = destination.origin.protocol === 'https:';
  const socket = isEncrypted
    ? secureConnectorTo(destination)()
    : connectPlain({ ...usual, ...addressOf(destination.origin), lookup: destination.lookup });
  const fail = (error: Error): void => give(error, null);
  expected(socket, isEncrypted ? 'secureConnect' : 'connect', destination.timeoutMs)
    .once('error', fail)
    .once(isEncrypted ? 'secureConnect' : 'connect', () => give(null, socket.off('error', fail)));
}

/** Has what comes over an encrypted connection read. */
export function readingFrom(socket: TLSSocket, reading: Reading): TLSSocket {
  return socket.on('data', (bytes: Buffer) => {
    if (!reading(bytes, bytes.length)) socket.pause();
  });
}

function openPlain({ origin, lookup }: Destination, reading: Reading): Socket {
  // By default a socket allocates 64 KB for every read, and as much again for a slow reader.
  const callback = (count: number): boolean => reading(memory, count);
  return connectPlain({ ...usual, ...addressOf(origin), lookup, onread: { buffer: memory, callback } });
}

function expected(socket: Socket, event: 'connect' | 'secureConnect', timeoutMs: number): Socket {
  const late = setTimeout(
    () => socket.destroy(new SupplierDeadline('took no connection within', timeoutMs)),
    timeoutMs,
  );
  const isThere = (): void => clearTimeout(late);
  return socket.once(event, isThere).once('close', isThere);
}

function addressOf({ hostname, port, protocol }: URL): { readonly host: string; readonly port: number } {
  const host = hostname.replace(/^\[|\]$/g, '');
  return { host, port: Number(port) || (protocol === 'https:' ? 443 : 80) };
}
