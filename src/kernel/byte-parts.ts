import type { Pieces as Bytes } from '#extension';

/** Strings are latin1: one byte per character. */
type BytePart = Buffer | string;

/** Consecutive parts read as one text, so that long parts need not be copied. */
export class ByteParts implements Bytes {
  readonly length: number;

  constructor(readonly parts: readonly BytePart[]) {
    let length = 0;
    for (const part of parts) length += part.length;
    this.length = length;
  }

  /** The bytes as one buffer; copied unless there is a single buffer. */
  get buffer(): Buffer {
    const [only] = this.parts;
    return only !== undefined && this.parts.length === 1
      ? bytesOf(only)
      : Buffer.concat(this.parts.map(bytesOf), this.length);
  }

  toString(): string {
    return this.buffer.toString();
  }
}

const bytesOf = (part: BytePart): Buffer => (typeof part === 'string' ? Buffer.from(part, 'latin1') : part);
