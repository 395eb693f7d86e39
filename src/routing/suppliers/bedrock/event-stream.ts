import { crc32 } from 'node:zlib';
import { fault, type Fault } from '../../../kernel';

export interface EventStreamFrame {
  readonly headers: Readonly<Record<string, string>>;
  readonly payload: Buffer;
}

const PRELUDE_BYTES = 12;
const CHECKSUM_BYTES = 4;
const MAX_FRAME_BYTES = 16 * 1024 * 1024;
/** Length of a header value by its type; -1 means that the next two bytes give the length. */
const valueLengths: readonly number[] = [0, 0, 1, 2, 4, 8, -1, -1, 8, 16];
const STRING_TYPE = 7;

export class FrameReader {
  private buffer: Buffer = Buffer.alloc(0);
  /** Chunks after `buffer`, joined only once a frame is complete, so that small chunks are not copied repeatedly. */
  private pieces: Buffer[] = [];
  private size = 0;

  /** Returns the frames completed by the chunk, or a fault, after which nothing more is read. */
  push(chunk: Buffer): EventStreamFrame[] | Fault {
    this.pieces.push(chunk);
    this.size += chunk.length;
    const frames: EventStreamFrame[] = [];
    for (;;) {
      if (this.size < PRELUDE_BYTES) return frames;
      if (this.buffer.length < PRELUDE_BYTES) this.join();
      const length = this.buffer.readUInt32BE(0);
      if (this.buffer.readUInt32BE(8) !== crc32(this.buffer.subarray(0, 8)))
        return unreadableStream('its prelude is damaged');
      if (length < PRELUDE_BYTES + CHECKSUM_BYTES || length > MAX_FRAME_BYTES)
        return unreadableStream(`a frame of ${length} bytes`);
      if (this.size < length) return frames;
      if (this.buffer.length < length) this.join();
      const frame = readFrame(this.buffer.subarray(0, length));
      if (!('payload' in frame)) return frame;
      frames.push(frame);
      this.buffer = this.buffer.subarray(length);
      this.size -= length;
    }
  }

  get isUnfinished(): boolean {
    return this.size > 0;
  }

  private join(): void {
    this.buffer = Buffer.concat([this.buffer, ...this.pieces], this.size);
    this.pieces = [];
  }
}

function readFrame(bytes: Buffer): EventStreamFrame | Fault {
  const end = bytes.length - CHECKSUM_BYTES;
  if (bytes.readUInt32BE(end) !== crc32(bytes.subarray(0, end)))
    return unreadableStream('its checksum does not fit');
  const payload = PRELUDE_BYTES + bytes.readUInt32BE(4);
  if (payload > end) return unreadableStream('its headers are longer than the frame');
  const headers = readHeaders(bytes.subarray(PRELUDE_BYTES, payload));
  return headers === undefined
    ? unreadableStream('its headers cannot be read')
    : { headers, payload: bytes.subarray(payload, end) };
}

/** Reads text headers only; no others are needed. */
function readHeaders(bytes: Buffer): Record<string, string> | undefined {
  const headers: Record<string, string> = {};
  let at = 0;
  while (at < bytes.length) {
    const nameEnd = at + 1 + bytes[at]!;
    const type = bytes[nameEnd];
    const fixed = type === undefined ? undefined : valueLengths[type];
    if (fixed === undefined) return undefined;
    const start = nameEnd + (fixed === -1 ? 3 : 1);
    if (start > bytes.length) return undefined;
    const end = start + (fixed === -1 ? bytes.readUInt16BE(nameEnd + 1) : fixed);
    if (end > bytes.length) return undefined;
    if (type === STRING_TYPE)
      headers[bytes.toString('utf8', at + 1, nameEnd)] = bytes.toString('utf8', start, end);
    at = end;
  }
  return headers;
}

const unreadableStream = (what: string): Fault =>
  fault('agentcli_incomplete_stream', { message: `The stream of the supplier cannot be read: ${what}.` });
