/** Bytes that lie in several places and are one text to whoever gets them: long ones need not be copied to be joined. */
export class Pieces {
  readonly length: number;

  constructor(readonly parts: readonly Buffer[]) {
    let length = 0;
    for (const part of parts) length += part.length;
    this.length = length;
  }

  /** In one place; a copy where they were in several. */
  get whole(): Buffer {
    const [only] = this.parts;
    return only !== undefined && this.parts.length === 1 ? only : Buffer.concat(this.parts, this.length);
  }

  toString(): string {
    return this.whole.toString();
  }
}
