import type { Duplex } from 'node:stream';
import type { Socket } from 'node:net';
import type { SecureContext } from 'node:tls';
import { errorCode } from '../../config';
import { ProxyFailed } from '../errors';
import { openTo } from '../wire';
import type { Proxy } from './proxy';
import { undici } from './undici';

interface Tunnel {
  readonly proxy: Proxy;
  /** Host and port, as the proxy is to connect to them. */
  readonly target: string;
  /** The proxy's own certificate is judged by it. */
  readonly secureContext: SecureContext | undefined;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

type Giving = Parameters<typeof openTo>[1];

const MOST_HEAD_BYTES = 16 * 1024;

/** Has a proxy connect to an address (RFC 9110, section 9.3.6), and answers what the two ends speak over. */
export async function tunnelThrough({
  proxy,
  target,
  secureContext,
  timeoutMs,
  signal,
}: Tunnel): Promise<Socket> {
  const { Client } = await undici();
  signal.throwIfAborted();
  const { origin } = proxy;
  const client = new Client(origin, {
    connect: (_, give) => openTo({ origin, timeoutMs, secureContext }, give as Giving),
    headersTimeout: 0,
    maxHeaderSize: MOST_HEAD_BYTES,
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
    // What was handed over is no longer the client's.
    void client.destroy();
  }
}

/** Its errors are told by what is spoken over it. */
const asSocket = (tunnel: Duplex): Socket => tunnel.on('error', () => undefined) as Socket;

export function refusalOf(status: number, target: string): string {
  return status === 407
    ? 'wants other credentials (407)'
    : `does not connect to ${target} (it answered ${status})`;
}

export function problemOf(error: unknown): string {
  const code = errorCode(error);
  if (code === 'UND_ERR_SOCKET') return 'closed the connection';
  const words = error instanceof Error ? error.message : String(error);
  return `cannot be used (${code === 'unknown' || words.includes(code) ? words : `${code}: ${words}`})`;
}
