import type { Pieces as Bytes } from '#extension';

/** In a text every character is one byte, as in latin1. */
type Piece = Buffer | string;

/** Bytes that lie in several places and are one text to their reader: long ones need not be copied to be joined. */
export class Pieces implements Bytes {
  readonly length: number;

  constructor(readonly parts: readonly Piece[]) {
    let length = 0;
    for (const part of parts) length += part.length;
    this.length = length;
  }

  /** The bytes are in one place; it is a copy where they were in several, or a text. */
  get whole(): Buffer {
    const [only] = this.parts;
    return only !== undefined && this.parts.length === 1
      ? bytesOf(only)
      : Buffer.concat(this.parts.map(bytesOf), this.length);
  }

  toString(): string {
    return this.whole.toString();
  }
}

const bytesOf = (piece: Piece): Buffer => (typeof piece === 'string' ? Buffer.from(piece, 'latin1') : piece);
