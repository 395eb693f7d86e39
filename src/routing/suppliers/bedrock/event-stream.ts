import { crc32 } from 'node:zlib';
import { fault, type Fault } from '../../../kernel';

export interface Frame {
  readonly headers: Readonly<Record<string, string>>;
  readonly payload: Buffer;
}

/** It has two lengths and the checksum of both. */
const PRELUDE = 12;
const CHECKSUM = 4;
const LARGEST_FRAME = 16 * 1024 * 1024;
/** A header's value has so many bytes by its type; -1 means that the next two bytes say. */
const valueLengths: readonly number[] = [0, 0, 1, 2, 4, 8, -1, -1, 8, 16];
const TEXT = 7;

/** Cuts the binary frames of an AWS event stream out of bytes that come in any pieces, and checks both checksums. */
export class FrameReader {
  private held: Buffer = Buffer.alloc(0);
  /** Pieces behind `held`, joined only once a whole frame is there: small pieces must not be copied over and over. */
  private pieces: Buffer[] = [];
  private size = 0;

  /** The frames that are complete now, or a fault, after which nothing more is read. */
  push(chunk: Buffer): Frame[] | Fault {
    this.pieces.push(chunk);
    this.size += chunk.length;
    const frames: Frame[] = [];
    for (;;) {
      if (this.size < PRELUDE) return frames;
      if (this.held.length < PRELUDE) this.join();
      const length = this.held.readUInt32BE(0);
      if (this.held.readUInt32BE(8) !== crc32(this.held.subarray(0, 8)))
        return broken('its prelude is damaged');
      if (length < PRELUDE + CHECKSUM || length > LARGEST_FRAME) return broken(`a frame of ${length} bytes`);
      if (this.size < length) return frames;
      if (this.held.length < length) this.join();
      const frame = readFrame(this.held.subarray(0, length));
      if (!('payload' in frame)) return frame;
      frames.push(frame);
      this.held = this.held.subarray(length);
      this.size -= length;
    }
  }

  /** The stream stopped within a frame. */
  get unfinished(): boolean {
    return this.size > 0;
  }

  private join(): void {
    this.held = Buffer.concat([this.held, ...this.pieces], this.size);
    this.pieces = [];
  }
}

function readFrame(bytes: Buffer): Frame | Fault {
  const end = bytes.length - CHECKSUM;
  if (bytes.readUInt32BE(end) !== crc32(bytes.subarray(0, end))) return broken('its checksum does not fit');
  const payload = PRELUDE + bytes.readUInt32BE(4);
  if (payload > end) return broken('its headers are longer than the frame');
  const headers = readHeaders(bytes.subarray(PRELUDE, payload));
  return headers === undefined
    ? broken('its headers cannot be read')
    : { headers, payload: bytes.subarray(payload, end) };
}

/** Only texts are kept; the rest says nothing that anybody asks for. */
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
    if (type === TEXT) headers[bytes.toString('utf8', at + 1, nameEnd)] = bytes.toString('utf8', start, end);
    at = end;
  }
  return headers;
}

const broken = (what: string): Fault =>
  fault('agentcli_incomplete_stream', { message: `The stream of the supplier cannot be read: ${what}.` });
