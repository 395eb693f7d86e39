import { once } from 'node:events';
import { connect as connectPlain, type LookupFunction } from 'node:net';
import { connect as connectSecure, getCACertificates } from 'node:tls';

export interface ConnectOptions {
  readonly host: string;
  readonly port: number;
  readonly secure: boolean;
  readonly deadlineMs: number;
  /** Resolves and checks the host name if some addresses are not allowed. */
  readonly lookup?: LookupFunction;
  /** PEM certificates to trust in addition to the default ones. */
  readonly ca?: string | undefined;
}

/** Opens a connection (with the TLS handshake if secure) and closes it. Sends nothing. */
export async function tryConnection(options: ConnectOptions): Promise<void> {
  const { port, secure, deadlineMs, lookup, ca } = options;
  const host = options.host.replace(/^\[(.*)\]$/, '$1');
  const address = { host, port, ...(lookup && { lookup }) };
  const isName = /[a-z]/i.test(host) && !host.includes(':');
  const socket = secure
    ? connectSecure({
        ...address,
        ...(isName && { servername: host }),
        ...(ca !== undefined && { ca: [...getCACertificates('default'), ca] }),
      })
    : connectPlain(address);
  const signal = AbortSignal.timeout(deadlineMs);
  try {
    await once(socket, secure ? 'secureConnect' : 'connect', { signal });
  } catch (error) {
    if (signal.aborted) throw new Error(`no connection within ${deadlineMs} ms`, { cause: error });
    throw error;
  } finally {
    // Errors after the check are irrelevant.
    socket.on('error', () => undefined).destroy();
  }
}
