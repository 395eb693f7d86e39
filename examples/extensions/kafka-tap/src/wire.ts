/** Writes the data types of Kafka's protocol; all numbers are big-endian. */
export class Writer {
  private readonly pieces: Buffer[] = [];

  get bytes(): Buffer {
    return Buffer.concat(this.pieces);
  }

  int8 = (value: number) => this.raw(Buffer.of(value));
  int16 = (value: number) => this.add(2, (buffer) => buffer.writeInt16BE(value));
  int32 = (value: number) => this.add(4, (buffer) => buffer.writeInt32BE(value));
  int64 = (value: number) => this.add(8, (buffer) => buffer.writeBigInt64BE(BigInt(value)));
  buffer = (bytes: Buffer) => this.int32(bytes.length).raw(bytes);
  text = (text: string) => this.int16(Buffer.byteLength(text)).raw(Buffer.from(text));

  raw(bytes: Buffer): this {
    this.pieces.push(bytes);
    return this;
  }

  /** Seven bits per byte, with the sign in the lowest bit. */
  varint(value: number): this {
    let remaining = value < 0 ? -2 * value - 1 : 2 * value;
    for (; remaining > 127; remaining = Math.floor(remaining / 128))
      this.raw(Buffer.of((remaining % 128) + 128));
    return this.raw(Buffer.of(remaining));
  }

  private add(size: number, write: (buffer: Buffer) => unknown): this {
    const buffer = Buffer.alloc(size);
    write(buffer);
    return this.raw(buffer);
  }
}

export class Reader {
  private at = 0;

  constructor(private readonly bytes: Buffer) {}

  int16 = (): number => this.bytes.readInt16BE(this.skip(2));
  int32 = (): number => this.bytes.readInt32BE(this.skip(4));
  text = (): string => this.bytes.toString('utf8', this.skip(Math.max(0, this.int16())), this.at);
  array = <Item>(read: () => Item): Item[] => Array.from({ length: Math.max(0, this.int32()) }, read);

  skip(size: number): number {
    this.at += size;
    return this.at - size;
  }
}

export interface Message {
  readonly key: string;
  readonly value: string;
  /** In ms since 1970. */
  readonly at: number;
}

/** Encodes messages as a record batch of version 2. */
export function recordBatch(messages: readonly Message[]): Buffer {
  const times = messages.map(({ at }) => at);
  const first = times[0] ?? 0;
  const content = new Writer().int16(0).int32(messages.length - 1);
  content.int64(first).int64(Math.max(...times));
  // Without a producer id, a message that is sent twice is stored twice.
  content.int64(-1).int16(-1).int32(-1).int32(messages.length);
  for (const [index, { key, value, at }] of messages.entries()) {
    const record = new Writer()
      .int8(0)
      .varint(at - first)
      .varint(index);
    for (const text of [key, value]) record.varint(Buffer.byteLength(text)).raw(Buffer.from(text));
    record.varint(0);
    content.varint(record.bytes.length).raw(record.bytes);
  }
  const batch = new Writer().int32(-1).int8(2).int32(crc32c(content.bytes)).raw(content.bytes);
  return new Writer().int64(0).buffer(batch.bytes).bytes;
}

const table = Int32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit += 1) value = (value >>> 1) ^ (value & 1 ? 0x82f63b78 : 0);
  return value;
});

const crc32c = (bytes: Buffer): number =>
  ~bytes.reduce((crc, byte) => (table[(crc ^ byte) & 255] ?? 0) ^ (crc >>> 8), -1);
