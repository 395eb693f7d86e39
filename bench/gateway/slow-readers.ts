import { readFileSync } from 'node:fs';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { numberedStream } from './scripts';
import type { SupplierBehaviour } from './supplier';

/** Slower readers would need more than a minute to drain the kernel buffers and would be disconnected. */
const BYTES_PER_READ = 16 * 1_024;
const TICK_MS = 250;

/** Payload bytes of a chunked response without framing, because a proxy may re-chunk the body. */
class PayloadCounter {
  bytes = 0;
  private line = '';
  private chunkBytesLeft = 0;
  private isHead = true;

  add(buffer: Uint8Array, count: number): void {
    for (let at = 0; at < count;) {
      if (this.chunkBytesLeft > 0) {
        const chunkBytes = Math.min(this.chunkBytesLeft, count - at);
        this.chunkBytesLeft -= chunkBytes;
        this.bytes += chunkBytes;
        at += chunkBytes;
        continue;
      }
      const character = String.fromCharCode(buffer[at++]!);
      if (character === '\n') this.endLine();
      else if (character !== '\r') this.line += character;
    }
  }

  private endLine(): void {
    const { line } = this;
    this.line = '';
    if (this.isHead) this.isHead = line !== '';
    // Empty after a chunk; otherwise the length of the next one.
    else if (line !== '') this.chunkBytesLeft = parseInt(line, 16);
  }
}

/** Caller that reads a few kilobytes at intervals, from whichever stream it was assigned. */
export class SlowReader {
  private readonly payload = new PayloadCounter();
  /** Stream number, which the supplier writes into every event. */
  stream: number | null = null;
  isClosed = false;

  private constructor(readonly socket: Socket) {}

  static async open(port: number, request: Buffer): Promise<SlowReader> {
    const read: { bytes: (count: number, buffer: Uint8Array) => boolean } = { bytes: () => false };
    const socket = connect({
      port,
      host: '127.0.0.1',
      onread: {
        buffer: Buffer.alloc(BYTES_PER_READ),
        callback: (count, buffer) => read.bytes(count, buffer),
      },
    });
    await once(socket, 'connect');
    const reader = new SlowReader(socket);
    read.bytes = (count, buffer) => {
      reader.payload.add(buffer, count);
      reader.stream ??= streamNumberIn(buffer, count);
      return false;
    };
    socket.on('error', () => undefined);
    socket.on('close', () => (reader.isClosed = true));
    socket.write(request);
    return reader;
  }

  /** Payload bytes received, without head and framing. */
  get receivedBytes(): number {
    return this.payload.bytes;
  }

  readMore(): void {
    this.socket.resume();
  }
}

function streamNumberIn(buffer: Uint8Array, count: number): number | null {
  const match = /stream (\d+) /.exec(Buffer.from(buffer.buffer, buffer.byteOffset, count).toString('latin1'));
  return match === null ? null : Number(match[1]);
}

/** Endless streams, sent as fast as they are read. */
export class EagerStreams {
  readonly sockets: Socket[] = [];
  /** Share of the sent bytes that is payload. */
  payloadShare = 1;

  readonly behaviour: SupplierBehaviour = (socket) => {
    const { opening, piece, payloadShare } = numberedStream(this.sockets.length);
    this.payloadShare = payloadShare;
    this.sockets.push(socket);
    socket.write(opening);
    const fill = (): void => {
      while (!socket.destroyed && socket.write(piece)) continue;
    };
    socket.on('drain', fill);
    fill();
  };
}

export async function readSlowly(
  readers: readonly SlowReader[],
  seconds: number,
  onTick: () => void = () => undefined,
): Promise<void> {
  const until = performance.now() + seconds * 1_000;
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      if (performance.now() >= until) {
        clearInterval(timer);
        return resolve();
      }
      for (const slowReader of readers) slowReader.readMore();
      onTick();
    }, TICK_MS);
  });
}

/**
 * Counts bytes inside the gateway per stream: sent by the supplier, but neither received by the reader nor in kernel
 * buffers. No reader may be active meanwhile.
 */
export function bufferedInside(streams: EagerStreams, readers: readonly SlowReader[]): number[] {
  const queues = kernelQueues();
  return readers.flatMap(({ stream, receivedBytes, socket, isClosed: closed }) => {
    const source = stream === null ? undefined : streams.sockets[stream];
    if (source === undefined || closed) return [];
    const bytesSent = source.bytesWritten - source.writableLength - inKernel(queues, source);
    return [bytesSent * streams.payloadShare - inKernel(queues, socket) - receivedBytes];
  });
}

const inKernel = (queues: Map<string, number>, { localPort = 0, remotePort = 0 }: Socket): number =>
  (queues.get(`${localPort} ${remotePort}`) ?? 0) + (queues.get(`${remotePort} ${localPort}`) ?? 0);

/** Bytes in kernel send and receive queues, by local and remote port. */
function kernelQueues(): Map<string, number> {
  const lines = readFileSync('/proc/net/tcp', 'utf8').trim().split('\n').slice(1);
  return new Map(
    lines.map((line) => {
      const [, local = '', remote = '', , queues = ''] = line.trim().split(/\s+/);
      const [sending = '0', receiving = '0'] = queues.split(':');
      return [`${portIn(local)} ${portIn(remote)}`, parseInt(sending, 16) + parseInt(receiving, 16)];
    }),
  );
}

const portIn = (address: string): number => parseInt(address.split(':')[1] ?? '0', 16);
