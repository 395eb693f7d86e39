import { readFileSync } from 'node:fs';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { numberedStream } from './scripts';
import type { Behaviour } from './supplier';

/** Slower ones would take longer than a minute to empty what the kernel holds for them, and are cut for that. */
const BYTES_A_READ = 16 * 1_024;
const TICK_MS = 250;

/** Of an answer in chunks, how much is no framing: who sends on may cut it into other chunks than it came in. */
class Payload {
  bytes = 0;
  private line = '';
  private left = 0;
  private isHead = true;

  add(buffer: Uint8Array, count: number): void {
    for (let at = 0; at < count;) {
      if (this.left > 0) {
        const taken = Math.min(this.left, count - at);
        this.left -= taken;
        this.bytes += taken;
        at += taken;
        continue;
      }
      const letter = String.fromCharCode(buffer[at++]!);
      if (letter === '\n') this.endLine();
      else if (letter !== '\r') this.line += letter;
    }
  }

  private endLine(): void {
    const { line } = this;
    this.line = '';
    if (this.isHead) this.isHead = line !== '';
    // Empty behind a chunk; else the length of the next one.
    else if (line !== '') this.left = parseInt(line, 16);
  }
}

/** A caller that takes a few kilobytes now and then, from whichever stream it was given. */
export class SlowReader {
  private readonly payload = new Payload();
  /** The number that the supplier writes into every event of a stream. */
  stream: number | null = null;
  closed = false;

  private constructor(readonly socket: Socket) {}

  static async open(port: number, request: Buffer): Promise<SlowReader> {
    const read: { bytes: (count: number, buffer: Uint8Array) => boolean } = { bytes: () => false };
    const socket = connect({
      port,
      host: '127.0.0.1',
      onread: { buffer: Buffer.alloc(BYTES_A_READ), callback: (count, buffer) => read.bytes(count, buffer) },
    });
    await once(socket, 'connect');
    const reader = new SlowReader(socket);
    read.bytes = (count, buffer) => {
      reader.payload.add(buffer, count);
      reader.stream ??= numberIn(buffer, count);
      return false;
    };
    socket.on('error', () => undefined);
    socket.on('close', () => (reader.closed = true));
    socket.write(request);
    return reader;
  }

  /** Without head and framing. */
  get taken(): number {
    return this.payload.bytes;
  }

  more(): void {
    this.socket.resume();
  }
}

function numberIn(buffer: Uint8Array, count: number): number | null {
  const found = /stream (\d+) /.exec(Buffer.from(buffer.buffer, buffer.byteOffset, count).toString('latin1'));
  return found === null ? null : Number(found[1]);
}

/** Streams without an end, as fast as they are taken. */
export class EagerStreams {
  readonly sockets: Socket[] = [];
  /** This share of what is sent is no framing. */
  payloadShare = 1;

  readonly behaviour: Behaviour = (socket) => {
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
  look: () => void = () => undefined,
): Promise<void> {
  const until = performance.now() + seconds * 1_000;
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      if (performance.now() >= until) {
        clearInterval(timer);
        return resolve();
      }
      for (const reader of readers) reader.more();
      look();
    }, TICK_MS);
  });
}

/**
 * The bytes inside the gateway are counted by stream. They are sent by the supplier, and not yet received by
 * the reader or buffered by the kernel between them. No reader may be active meanwhile.
 */
export function bufferedInside(streams: EagerStreams, readers: readonly SlowReader[]): number[] {
  const queues = kernelQueues();
  return readers.flatMap(({ stream, taken, socket, closed }) => {
    const source = stream === null ? undefined : streams.sockets[stream];
    if (source === undefined || closed) return [];
    const sent = source.bytesWritten - source.writableLength - inKernel(queues, source);
    return [sent * streams.payloadShare - inKernel(queues, socket) - taken];
  });
}

const inKernel = (queues: Map<string, number>, { localPort = 0, remotePort = 0 }: Socket): number =>
  (queues.get(`${localPort} ${remotePort}`) ?? 0) + (queues.get(`${remotePort} ${localPort}`) ?? 0);

/** Bytes that wait in the kernel to be sent or to be read, by local and remote port. */
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
