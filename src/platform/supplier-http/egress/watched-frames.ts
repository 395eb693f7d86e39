import { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';

const HEAD_BYTES = 9;
const DATA = 0x0;
const HEADERS = 0x1;
const END_STREAM = 0x1;
const PADDED = 0x8;

/** So much content came on a stream, and whether that is all of it. */
interface Told {
  bytes: number;
  isWhole: boolean;
}

/**
 * What comes over a connection of HTTP/2, with an eye on its frames (RFC 9113, section 4.1). Node takes an answer that
 * was given up (RST_STREAM with NO_ERROR or CANCEL) for a whole one, and undici may lose what comes just before
 * trailers.
 */
export class WatchedFrames extends Duplex {
  /** By it, undici knows what is spoken. */
  readonly alpnProtocol = 'h2';
  private readonly streams = new Map<number, Told>();
  private readonly head = Buffer.alloc(HEAD_BYTES);
  private known = 0;
  /** So much of a frame is still to come. */
  private left = 0;
  /** The next byte says how much of the frame is padding. */
  private padded: Told | null = null;

  constructor(private readonly socket: TLSSocket) {
    super({ highWaterMark: socket.readableHighWaterMark });
    socket
      .on('data', (bytes: Buffer) => {
        this.watch(bytes);
        if (!this.push(bytes)) socket.pause();
      })
      .on('end', () => this.push(null))
      .on('error', (error: Error) => this.destroy(error))
      .on('close', () => this.destroy());
  }

  /** So many bytes of content are the whole answer on a stream; undefined where the supplier has not ended it. */
  lengthOf(stream: number): number | undefined {
    const told = this.streams.get(stream);
    return told?.isWhole === true ? told.bytes : undefined;
  }

  expect(stream: number): void {
    this.streams.set(stream, { bytes: 0, isWhole: false });
  }

  forget(stream: number): void {
    this.streams.delete(stream);
  }

  override _read(): void {
    this.socket.resume();
  }

  override _write(bytes: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    this.socket.write(bytes, done);
  }

  override _writev(pieces: { readonly chunk: Buffer }[], done: (error?: Error | null) => void): void {
    this.socket.write(Buffer.concat(pieces.map(({ chunk }) => chunk)), done);
  }

  override _final(done: () => void): void {
    this.socket.end(done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.socket.destroy();
    done(error);
  }

  private watch(bytes: Buffer): void {
    for (let at = 0; at < bytes.length;) {
      if (this.left > 0) {
        if (this.padded !== null) this.padded.bytes -= bytes[at]! + 1;
        this.padded = null;
        const passed = Math.min(this.left, bytes.length - at);
        this.left -= passed;
        at += passed;
        continue;
      }
      this.head[this.known++] = bytes[at++]!;
      if (this.known < HEAD_BYTES) continue;
      this.known = 0;
      this.left = this.head.readUIntBE(0, 3);
      this.begin(this.head[3]!, this.head[4]!, this.head.readUInt32BE(5) & 0x7fff_ffff);
    }
  }

  private begin(type: number, flags: number, stream: number): void {
    const told = this.streams.get(stream);
    if (told === undefined || (type !== DATA && type !== HEADERS)) return;
    if ((flags & END_STREAM) !== 0) told.isWhole = true;
    if (type !== DATA) return;
    told.bytes += this.left;
    if ((flags & PADDED) !== 0) this.padded = told;
  }
}
