import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface Proxy {
  /** The given address, through the proxy. */
  url: string;
  /** Breaks every connection and refuses new ones. */
  cut(): Promise<void>;
  /** Keeps connections open, but lets nothing through any more. */
  freeze(): void;
  /** Ends new connections in the packet that tells them they are ready, as a server that drops their database may. */
  endNewcomers(): void;
  /** It has ended so many in this way. */
  ended(): number;
  /** Ends the next connection that begins to listen, in the packet that confirms it. */
  endNextListener(): void;
  restore(): Promise<void>;
  close(): Promise<void>;
}

/** Messages of the server: ready for a query, a subscription confirmed, and an error that ends the connection. */
const ready = Buffer.from('Z\0\0\0\x05I', 'latin1');
const listening = message('C', 'LISTEN\0');
const terminated = message(
  'E',
  'SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0',
);

function message(kind: string, fields: string): Buffer {
  const buffer = Buffer.alloc(5 + fields.length);
  buffer.write(kind, 'latin1');
  buffer.writeUInt32BE(4 + fields.length, 1);
  buffer.write(fields, 5, 'latin1');
  return buffer;
}

/** A proxy between the service and its database, so that a test can cut its own connections alone. */
export async function proxyTo(url: string): Promise<Proxy> {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  let frozen = false;
  let endsNewcomers = false;
  let endsNextListener = false;
  let ended = 0;
  const isLast = (chunk: Buffer): boolean => {
    if (!chunk.subarray(-ready.length).equals(ready)) return false;
    if (endsNewcomers) return true;
    if (!endsNextListener || !chunk.includes(listening)) return false;
    endsNextListener = false;
    return true;
  };
  const server = createServer((inward) => {
    const outward = connect(Number(target.port || 5432), target.hostname);
    for (const [from, to] of [
      [inward, outward],
      [outward, inward],
    ] as const) {
      sockets.add(from);
      from.on('data', (chunk: Buffer) => {
        if (frozen) return;
        if (from === outward && isLast(chunk)) {
          ended += 1;
          to.end(Buffer.concat([chunk, terminated]));
        } else to.write(chunk);
      });
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  });
  const open = async (port: number) => {
    frozen = false;
    endsNewcomers = false;
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  };
  const cut = async () => {
    if (!server.listening) return;
    server.close();
    for (const socket of sockets) socket.destroy();
    await once(server, 'close');
  };
  await open(0);
  const { port } = server.address() as AddressInfo;
  const through = new URL(url);
  through.hostname = '127.0.0.1';
  through.port = String(port);
  return {
    url: through.href,
    cut,
    freeze: () => void (frozen = true),
    endNewcomers: () => void (endsNewcomers = true),
    ended: () => ended,
    endNextListener: () => void (endsNextListener = true),
    restore: () => open(port),
    close: cut,
  };
}
