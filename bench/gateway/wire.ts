const HEAD_END = Buffer.from('\r\n\r\n');
/** Ends the last chunk or the trailers; no measured response contains it within the body. */
const BODY_END = HEAD_END;

/**
 * Follows one direction of a keep-alive connection just far enough to detect the end of each message. Neither side
 * pipelines, so bytes after an end belong to the next message.
 */
export class MessageReader {
  private head: Buffer | null = null;
  private bytesMissing = 0;
  private isChunked = false;
  private tail: Buffer = Buffer.alloc(0);

  constructor(
    private readonly on: {
      head?(text: string): void;
      /** Bytes after the head, framing included. */
      body?(bytes: Buffer): void;
      end(): void;
    },
  ) {}

  push(bytes: Buffer): void {
    if (this.bytesMissing > 0) return this.readCounted(bytes);
    if (this.isChunked) return this.readChunked(bytes);
    const all = this.head === null ? bytes : Buffer.concat([this.head, bytes]);
    const at = all.indexOf(HEAD_END);
    if (at === -1) {
      this.head = all;
      return;
    }
    this.head = null;
    const text = all.toString('latin1', 0, at);
    this.on.head?.(text);
    const bodyStart = all.subarray(at + HEAD_END.length);
    this.bytesMissing = Number(/\r\ncontent-length: *(\d+)/i.exec(text)?.[1] ?? 0);
    this.isChunked = /\r\ntransfer-encoding: *chunked/i.test(text);
    if (this.bytesMissing === 0 && !this.isChunked) this.on.end();
    else if (bodyStart.length > 0) this.push(bodyStart);
  }

  private readCounted(bytes: Buffer): void {
    this.bytesMissing -= bytes.length;
    this.on.body?.(bytes);
    if (this.bytesMissing <= 0) {
      this.bytesMissing = 0;
      this.on.end();
    }
  }

  private readChunked(bytes: Buffer): void {
    this.on.body?.(bytes);
    this.tail =
      bytes.length >= BODY_END.length
        ? bytes.subarray(-BODY_END.length)
        : Buffer.concat([this.tail, bytes]).subarray(-BODY_END.length);
    if (!this.tail.equals(BODY_END)) return;
    this.isChunked = false;
    this.tail = Buffer.alloc(0);
    this.on.end();
  }
}

/** Formats an event as a chunk. */
export const chunkOf = (text: string): Buffer =>
  Buffer.from(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`);

export const lastChunk = Buffer.from('0\r\n\r\n');
