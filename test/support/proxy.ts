import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface DatabaseProxy {
  /** The target's URL through the proxy. */
  url: string;
  cut(): Promise<void>;
  /** Keeps connections open but passes nothing on. */
  freeze(): void;
  /** Closes new connections in the same packet as "ready for query", as a server that drops the database may do. */
  endNewConnections(): void;
  /** Number of connections closed this way. */
  ended(): number;
  /** Closes the next connection that runs LISTEN, in the same packet as the confirmation. */
  endNextListener(): void;
  restore(): Promise<void>;
  close(): Promise<void>;
}

/** Server messages: ready for query, LISTEN confirmed, and an error that ends the connection. */
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

/** Starts a proxy between the service and its database, so that a test can cut only its own connections. */
export async function startDatabaseProxy(url: string): Promise<DatabaseProxy> {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  let isFrozen = false;
  let shouldEndNewConnections = false;
  let shouldEndNextListener = false;
  let endedCount = 0;
  const isLastChunk = (chunk: Buffer): boolean => {
    if (!chunk.subarray(-ready.length).equals(ready)) return false;
    if (shouldEndNewConnections) return true;
    if (!shouldEndNextListener || !chunk.includes(listening)) return false;
    shouldEndNextListener = false;
    return true;
  };
  const server = createServer((inward) => {
    const upstreamSocket = connect(Number(target.port || 5432), target.hostname);
    for (const [from, to] of [
      [inward, upstreamSocket],
      [upstreamSocket, inward],
    ] as const) {
      sockets.add(from);
      from.on('data', (chunk: Buffer) => {
        if (isFrozen) return;
        if (from === upstreamSocket && isLastChunk(chunk)) {
          endedCount += 1;
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
    isFrozen = false;
    shouldEndNewConnections = false;
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
  const proxyUrl = new URL(url);
  proxyUrl.hostname = '127.0.0.1';
  proxyUrl.port = String(port);
  return {
    url: proxyUrl.href,
    cut,
    freeze: () => void (isFrozen = true),
    endNewConnections: () => void (shouldEndNewConnections = true),
    ended: () => endedCount,
    endNextListener: () => void (shouldEndNextListener = true),
    restore: () => open(port),
    close: cut,
  };
}
