import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { shapes } from '../failover/dialects';
import type { Endpoint, Shot } from './load';

const READ_INTERVAL_MS = 1_000;

/** Caller that reads one byte per second. */
export class DripReader {
  private timer: NodeJS.Timeout | undefined;

  private constructor(private readonly socket: Socket) {}

  static async open(endpoint: Endpoint, shot: Shot): Promise<DripReader> {
    const { hostname, port } = new URL(endpoint.url);
    const socket = connect({
      host: hostname,
      port: Number(port),
      onread: {
        buffer: Buffer.alloc(1),
        callback: () => false,
      },
    });
    const reader = new DripReader(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => clearInterval(reader.timer));
    await once(socket, 'connect');
    socket.write(requestText(endpoint, shot));
    reader.timer = setInterval(() => reader.socket.resume(), READ_INTERVAL_MS);
    return reader;
  }

  disconnect(): void {
    this.socket.destroy();
  }
}

function requestText({ key }: Endpoint, { dialect, ...question }: Shot): string {
  const { path, body } = shapes[dialect];
  const text = JSON.stringify(body(question));
  return (
    `POST ${path} HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer ${key}\r\n` +
    `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
  );
}
