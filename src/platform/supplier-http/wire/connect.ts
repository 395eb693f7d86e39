import { connect as connectPlain, isIP, type LookupFunction, type Socket } from 'node:net';
import { connect as connectEncrypted } from 'node:tls';
import { MINUTE_MS } from '../../../kernel';
import { SupplierDeadline } from '../errors';

/** The size of one read, and the most that a socket buffers before back-pressure. */
const READ_BYTES = 16 * 1024;
const PROBE_AFTER_MS = MINUTE_MS;

/** It says where connections go, and how. */
export interface Destination {
  readonly origin: URL;
  readonly timeoutMs: number;
  readonly lookup: LookupFunction;
}

/** Answers false to have the socket read no further for now. */
export type Reading = (memory: Buffer, count: number) => boolean;

/** One buffer for all connections: each read is consumed before the next. */
const memory = Buffer.allocUnsafeSlow(READ_BYTES);

/** Opens connections to one origin; encrypted ones resume the session of the one before. */
export function connectorTo({ origin, timeoutMs, lookup }: Destination): (reading: Reading) => Socket {
  const isEncrypted = origin.protocol === 'https:';
  const host = origin.hostname.replace(/^\[|\]$/g, '');
  const port = Number(origin.port) || (isEncrypted ? 443 : 80);
  const usual = {
    host,
    port,
    lookup,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: PROBE_AFTER_MS,
    highWaterMark: READ_BYTES,
  };
  let session: Buffer | undefined;
  const open = (reading: Reading): Socket => {
    if (!isEncrypted) {
      // By default a socket allocates 64 KB for every read, and as much again for a slow reader.
      const callback = (count: number): boolean => reading(memory, count);
      return connectPlain({ ...usual, onread: { buffer: memory, callback } });
    }
    // Many suppliers share an address and tell by the name which of them is meant.
    const servername = isIP(host) === 0 ? host : '';
    const socket = connectEncrypted({ ...usual, servername, ALPNProtocols: ['http/1.1'], session });
    socket.on('session', (next) => (session = next));
    socket.on('data', (bytes: Buffer) => {
      if (!reading(bytes, bytes.length)) socket.pause();
    });
    return socket;
  };
  return (reading) => {
    const socket = open(reading);
    const late = setTimeout(
      () => socket.destroy(new SupplierDeadline('took no connection within', timeoutMs)),
      timeoutMs,
    );
    const isThere = (): void => clearTimeout(late);
    socket.once(isEncrypted ? 'secureConnect' : 'connect', isThere).once('close', isThere);
    return socket;
  };
}
