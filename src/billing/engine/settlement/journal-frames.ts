import { crc32 } from 'node:zlib';

/** A frame is its payload's length and checksum, four bytes each, and the payload. */
const headBytes = 8;
/** Longer than the records of any tick: a length beyond it is damage, not data. */
const mostBytes = 1 << 28;
const roomAtFirst = 1 << 16;
/** A larger buffer is not kept for later frames. */
const mostKept = 1 << 20;

/** The frames here are on their way into a file, in memory that is used again and again. */
export class FrameBuffer {
  private bytes = Buffer.allocUnsafe(roomAtFirst);
  private length = 0;

  add(payload: string): void {
    const most = this.length + headBytes + payload.length * 3;
    if (most > this.bytes.length) this.grow(most);
    const start = this.length + headBytes;
    const written = this.bytes.write(payload, start, 'utf8');
    this.bytes.writeUInt32LE(written, this.length);
    this.bytes.writeUInt32LE(crc32(this.bytes.subarray(start, start + written)), this.length + 4);
    this.length = start + written;
  }

  get content(): Buffer {
    return this.bytes.subarray(0, this.length);
  }

  clear(): void {
    if (this.bytes.length > mostKept) this.bytes = Buffer.allocUnsafe(roomAtFirst);
    this.length = 0;
  }

  private grow(least: number): void {
    const larger = Buffer.allocUnsafe(Math.max(least, this.bytes.length * 2));
    this.bytes.copy(larger, 0, 0, this.length);
    this.bytes = larger;
  }
}

export interface FrameReading {
  readonly payloads: readonly string[];
  /** The first damaged frame begins here, when the file does not end with a whole one. */
  readonly tornAt: number | null;
}

/** Everything before the first frame that is cut off or fails its checksum. */
export function readFrames(bytes: Buffer): FrameReading {
  const payloads: string[] = [];
  let at = 0;
  while (at < bytes.length) {
    const start = at + headBytes;
    if (start > bytes.length) return { payloads, tornAt: at };
    const length = bytes.readUInt32LE(at);
    const payload = bytes.subarray(start, start + length);
    const whole = length > 0 && length <= mostBytes && payload.length === length;
    if (!whole || crc32(payload) !== bytes.readUInt32LE(at + 4)) return { payloads, tornAt: at };
    payloads.push(payload.toString('utf8'));
    at = start + length;
  }
  return { payloads, tornAt: null };
}

/** The bytes without what is cut off at their end. */
export function wholeFrames(bytes: Buffer): Buffer {
  const { tornAt } = readFrames(bytes);
  return tornAt === null ? bytes : bytes.subarray(0, tornAt);
}
