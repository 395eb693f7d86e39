import { crc32 } from 'node:zlib';

/** A frame is its payload's length and checksum, four bytes each, and the payload. */
const HEADER_BYTES = 8;
/** Longer than the records of any tick: a greater length means damage, not data. */
const MAX_FRAME_BYTES = 1 << 28;
const INITIAL_BUFFER_BYTES = 1 << 16;
const MAX_KEPT_BUFFER_BYTES = 1 << 20;

export class FrameBuffer {
  private bytes = Buffer.allocUnsafe(INITIAL_BUFFER_BYTES);
  private length = 0;

  add(payload: string): void {
    const maxEnd = this.length + HEADER_BYTES + payload.length * 3;
    if (maxEnd > this.bytes.length) this.grow(maxEnd);
    const start = this.length + HEADER_BYTES;
    const written = this.bytes.write(payload, start, 'utf8');
    this.bytes.writeUInt32LE(written, this.length);
    this.bytes.writeUInt32LE(crc32(this.bytes.subarray(start, start + written)), this.length + 4);
    this.length = start + written;
  }

  get content(): Buffer {
    return this.bytes.subarray(0, this.length);
  }

  clear(): void {
    if (this.bytes.length > MAX_KEPT_BUFFER_BYTES) this.bytes = Buffer.allocUnsafe(INITIAL_BUFFER_BYTES);
    this.length = 0;
  }

  private grow(minBytes: number): void {
    const larger = Buffer.allocUnsafe(Math.max(minBytes, this.bytes.length * 2));
    this.bytes.copy(larger, 0, 0, this.length);
    this.bytes = larger;
  }
}

export interface FrameReading {
  readonly payloads: readonly string[];
  /** Offset of the first damaged frame; null if the file ends with a complete one. */
  readonly tornAt: number | null;
}

/** Reads everything before the first frame that is cut off or fails its checksum. */
export function readFrames(bytes: Buffer): FrameReading {
  const payloads: string[] = [];
  let at = 0;
  while (at < bytes.length) {
    const start = at + HEADER_BYTES;
    if (start > bytes.length) return { payloads, tornAt: at };
    const length = bytes.readUInt32LE(at);
    const payload = bytes.subarray(start, start + length);
    const isComplete = length > 0 && length <= MAX_FRAME_BYTES && payload.length === length;
    if (!isComplete || crc32(payload) !== bytes.readUInt32LE(at + 4)) return { payloads, tornAt: at };
    payloads.push(payload.toString('utf8'));
    at = start + length;
  }
  return { payloads, tornAt: null };
}

export function completeFrames(bytes: Buffer): Buffer {
  const { tornAt } = readFrames(bytes);
  return tornAt === null ? bytes : bytes.subarray(0, tornAt);
}
