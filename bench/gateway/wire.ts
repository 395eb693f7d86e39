const HEAD_END = Buffer.from('\r\n\r\n');
/** Ends the last chunk, or the trailers behind it; no answer that is measured has it inside. */
const BODY_END = HEAD_END;

/**
 * Follows one direction of a keep-alive connection just far enough to know where each message ends. Neither side
 * sends a second message before the first one is answered, so what follows an end is the next message's.
 */
export class MessageReader {
  private head: Buffer | null = null;
  private missing = 0;
  private chunked = false;
  private tail: Buffer = Buffer.alloc(0);

  constructor(
    private readonly on: {
      head?(text: string): void;
      /** Everything behind the head, framing included. */
      body?(bytes: Buffer): void;
      end(): void;
    },
  ) {}

  push(bytes: Buffer): void {
    if (this.missing > 0) return this.counted(bytes);
    if (this.chunked) return this.untilLastChunk(bytes);
    const all = this.head === null ? bytes : Buffer.concat([this.head, bytes]);
    const at = all.indexOf(HEAD_END);
    if (at === -1) {
      this.head = all;
      return;
    }
    this.head = null;
    const text = all.toString('latin1', 0, at);
    this.on.head?.(text);
    const rest = all.subarray(at + HEAD_END.length);
    this.missing = Number(/\r\ncontent-length: *(\d+)/i.exec(text)?.[1] ?? 0);
    this.chunked = /\r\ntransfer-encoding: *chunked/i.test(text);
    if (this.missing === 0 && !this.chunked) this.on.end();
    else if (rest.length > 0) this.push(rest);
  }

  private counted(bytes: Buffer): void {
    this.missing -= bytes.length;
    this.on.body?.(bytes);
    if (this.missing <= 0) {
      this.missing = 0;
      this.on.end();
    }
  }

  private untilLastChunk(bytes: Buffer): void {
    this.on.body?.(bytes);
    this.tail =
      bytes.length >= BODY_END.length
        ? bytes.subarray(-BODY_END.length)
        : Buffer.concat([this.tail, bytes]).subarray(-BODY_END.length);
    if (!this.tail.equals(BODY_END)) return;
    this.chunked = false;
    this.tail = Buffer.alloc(0);
    this.on.end();
  }
}

/** One event as a chunk of its own. */
export const chunkOf = (text: string): Buffer =>
  Buffer.from(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`);

export const lastChunk = Buffer.from('0\r\n\r\n');
