/** Longer texts are written by Node. */
const MAX_MANUAL_LENGTH = 64;
const TWO_32 = 2 ** 32;

/**
 * Writes protobuf from its end to its beginning, since lengths precede their parts. Nothing has to be measured first or
 * moved afterwards.
 */
export class BackwardWriter {
  private bytes: Buffer;
  private at: number;

  constructor(size: number) {
    this.bytes = Buffer.allocUnsafeSlow(size);
    this.at = size;
  }

  get size(): number {
    return this.bytes.length - this.at;
  }

  get written(): Buffer {
    return this.bytes.subarray(this.at);
  }

  /** Writes the length and tag of a field whose content was written since the size was `since`. */
  endField(field: number, since: number): void {
    this.varint(this.size - since);
    this.varint((field << 3) | 2);
  }

  tag(field: number, wireType: number): void {
    this.varint((field << 3) | wireType);
  }

  /** Writes a non-negative integer. */
  varint(value: number): void {
    let size = 1;
    for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) size += 1;
    this.makeRoom(size);
    this.at -= size;
    let rest = value;
    for (let index = this.at; index < this.at + size - 1; index += 1) {
      this.bytes[index] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.bytes[this.at + size - 1] = rest;
  }

  copy(bytes: Buffer): void {
    this.makeRoom(bytes.length);
    this.at -= bytes.length;
    bytes.copy(this.bytes, this.at);
  }

  text(value: string): void {
    const { length } = value;
    if (length <= MAX_MANUAL_LENGTH && this.ascii(value)) return;
    const size = Buffer.byteLength(value);
    this.makeRoom(size);
    this.at -= size;
    this.bytes.write(value, this.at, 'utf8');
  }

  hex(value: string): void {
    const size = value.length / 2;
    this.makeRoom(size);
    this.at -= size;
    this.bytes.write(value, this.at, 'hex');
  }

  fixed32(value: number): void {
    this.makeRoom(4);
    this.at -= 4;
    this.bytes.writeUInt32LE(value, this.at);
  }

  double(value: number): void {
    this.makeRoom(8);
    this.at -= 8;
    this.bytes.writeDoubleLE(value, this.at);
  }

  /** Writes milliseconds since the epoch as nanoseconds, of which a double does not hold all digits. */
  nanoseconds(milliseconds: number): void {
    const wholeMs = Math.floor(milliseconds);
    const rest = Math.round((milliseconds - wholeMs) * 1e6);
    const high = Math.floor(wholeMs / TWO_32);
    const low = (wholeMs - high * TWO_32) * 1e6 + rest;
    this.makeRoom(8);
    this.at -= 8;
    this.bytes.writeUInt32LE(low % TWO_32, this.at);
    this.bytes.writeUInt32LE(high * 1e6 + Math.floor(low / TWO_32), this.at + 4);
  }

  /** Returns false, and writes nothing, if the text has other characters. */
  private ascii(value: string): boolean {
    const { length } = value;
    this.makeRoom(length);
    const from = this.at - length;
    for (let index = 0; index < length; index += 1) {
      const code = value.charCodeAt(index);
      if (code >= 0x80) return false;
      this.bytes[from + index] = code;
    }
    this.at = from;
    return true;
  }

  private makeRoom(size: number): void {
    if (this.at >= size) return;
    const written = this.size;
    const larger = Buffer.allocUnsafeSlow(2 * (this.bytes.length + size));
    this.bytes.copy(larger, larger.length - written, this.at);
    this.at = larger.length - written;
    this.bytes = larger;
  }
}
