/** Longer texts are written by Node. */
const SHORT = 64;
const TWO_32 = 2 ** 32;

/**
 * Writes protobuf from its end to its beginning, as the length of a part stands before it. So nothing is measured
 * first, or moved afterwards.
 */
export class BackwardBytes {
  private bytes: Buffer;
  private at: number;

  constructor(size: number) {
    this.bytes = Buffer.allocUnsafeSlow(size);
    this.at = size;
  }

  /** So much has been written. */
  get size(): number {
    return this.bytes.length - this.at;
  }

  get all(): Buffer {
    return this.bytes.subarray(this.at);
  }

  /** A field whose content has been written since there were so many bytes. */
  part(field: number, since: number): void {
    this.varint(this.size - since);
    this.varint((field << 3) | 2);
  }

  tag(field: number, wireType: number): void {
    this.varint((field << 3) | wireType);
  }

  /** Whole numbers from 0 on. */
  varint(value: number): void {
    let size = 1;
    for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) size += 1;
    this.makeRoom(size);
    this.at -= size;
    let rest = value;
    for (let place = this.at; place < this.at + size - 1; place += 1) {
      this.bytes[place] = (rest % 0x80) | 0x80;
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
    if (length <= SHORT && this.ascii(value)) return;
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

  /** Milliseconds since the epoch as nanoseconds, of which a double does not hold all digits. */
  nanoseconds(milliseconds: number): void {
    const whole = Math.floor(milliseconds);
    const rest = Math.round((milliseconds - whole) * 1e6);
    const high = Math.floor(whole / TWO_32);
    const low = (whole - high * TWO_32) * 1e6 + rest;
    this.makeRoom(8);
    this.at -= 8;
    this.bytes.writeUInt32LE(low % TWO_32, this.at);
    this.bytes.writeUInt32LE(high * 1e6 + Math.floor(low / TWO_32), this.at + 4);
  }

  /** False: it has other characters, and nothing was written. */
  private ascii(value: string): boolean {
    const { length } = value;
    this.makeRoom(length);
    const from = this.at - length;
    for (let place = 0; place < length; place += 1) {
      const code = value.charCodeAt(place);
      if (code >= 0x80) return false;
      this.bytes[from + place] = code;
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
