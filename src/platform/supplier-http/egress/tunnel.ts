import type { Duplex } from 'node:stream';
import type { Socket } from 'node:net';
import type { SecureContext } from 'node:tls';
import { errorCode } from '../../config';
import { ProxyFailed } from '../errors';
import { openTo } from '../wire';
import type { Proxy } from './proxy';
import { undici } from './undici';

interface TunnelOptions {
  readonly proxy: Proxy;
  /** Host and port for the proxy to connect to. */
  readonly target: string;
  /** Used to verify the proxy's own certificate. */
  readonly secureContext: SecureContext | undefined;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

type SocketCallback = Parameters<typeof openTo>[1];

const MAX_HEAD_BYTES = 16 * 1024;

/** Has a proxy connect to an address (RFC 9110, section 9.3.6), and returns the socket for the two ends. */
export async function tunnelThrough({
  proxy,
  target,
  secureContext,
  timeoutMs,
  signal,
}: TunnelOptions): Promise<Socket> {
  const { Client } = await undici();
  signal.throwIfAborted();
  const { origin } = proxy;
  const client = new Client(origin, {
    connect: (_, callback) => openTo({ origin, timeoutMs, secureContext }, callback as SocketCallback),
    headersTimeout: 0,
    maxHeaderSize: MAX_HEAD_BYTES,
  });
  const giveUp = (): void => void client.destroy(signal.reason as Error);
  signal.addEventListener('abort', giveUp);
  try {
    const headers = { ...proxy.headers, host: target };
    const { statusCode, socket } = await client.connect({ path: target, headers });
    if (statusCode >= 200 && statusCode < 300) return asSocket(socket);
    socket.on('error', () => undefined).destroy();
    throw new ProxyFailed(proxy.host, refusalOf(statusCode, target));
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (error instanceof ProxyFailed) throw error;
    throw new ProxyFailed(proxy.host, problemOf(error), error);
  } finally {
    signal.removeEventListener('abort', giveUp);
    // The socket that was handed over no longer belongs to the client.
    void client.destroy();
  }
}

/** Errors of the tunnel are reported by the protocol on top of it. */
const asSocket = (tunnel: Duplex): Socket => tunnel.on('error', () => undefined) as Socket;

export function refusalOf(status: number, target: string): string {
  return status === 407
    ? 'wants other credentials (407)'
    : `does not connect to ${target} (it answered ${status})`;
}

export function problemOf(error: unknown): string {
  const code = errorCode(error);
  if (code === 'UND_ERR_SOCKET') return 'closed the connection';
  const message = error instanceof Error ? error.message : String(error);
  return `cannot be used (${code === 'unknown' || message.includes(code) ? message : `${code}: ${message}`})`;
}
