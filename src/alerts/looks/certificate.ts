import { once } from 'node:events';
import { connect } from 'node:tls';

const DEADLINE_MS = 5_000;

/** Returns the expiry of a server's certificate. Untrusted certificates are read as well, because nothing is sent. */
export async function certificateEnd({ hostname, port }: URL): Promise<Date> {
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  const isName = /[a-z]/i.test(host) && !host.includes(':');
  const socket = connect({
    host,
    port: Number(port) || 443,
    rejectUnauthorized: false,
    ...(isName && { servername: host }),
  });
  try {
    await once(socket, 'secureConnect', { signal: AbortSignal.timeout(DEADLINE_MS) });
    const { valid_to: end } = socket.getPeerCertificate();
    const at = new Date(end);
    if (Number.isNaN(at.getTime())) throw new Error(`${host} shows no certificate with an end`);
    return at;
  } finally {
    socket.on('error', () => undefined).destroy();
  }
}
