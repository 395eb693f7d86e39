const MAX_DEPTH = 8;

/** Tree of a BER message (X.690, restricted by RFC 4511, section 5.1). Throws on anything else. */
export class BerNode {
  constructor(
    readonly tag: number,
    private readonly content: Buffer,
    private readonly depth: number,
  ) {}

  /** Returns the child elements; throws unless the element has this tag and one of these numbers of children. */
  children(tag: number, counts?: readonly number[]): BerNode[] {
    this.expect(tag);
    if ((tag & 0x20) === 0) throw new Error(`the tag ${tag} has no parts`);
    if (this.depth === MAX_DEPTH) throw new Error('a message is too deep');
    const parts: BerNode[] = [];
    let at = 0;
    while (at < this.content.length) {
      const size = elementSize(this.content.subarray(at));
      if (size === null) throw new Error('a part is longer than the whole');
      parts.push(parse(this.content.subarray(at, at + size), this.depth + 1));
      at += size;
    }
    if (counts !== undefined && !counts.includes(parts.length))
      throw new Error(`the tag ${tag} has ${parts.length} parts`);
    return parts;
  }

  text(tag: number): string {
    this.expect(tag);
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(this.content);
  }

  boolean(): boolean {
    const [value] = this.bytes(0x01, 1);
    if (value !== 0 && value !== 0xff) throw new Error('a boolean is neither 00 nor FF');
    return value === 0xff;
  }

  bytes(tag: number, maxBytes: number): Buffer {
    this.expect(tag);
    if (this.content.length < 1 || this.content.length > maxBytes)
      throw new Error('a value has another size');
    return this.content;
  }

  private expect(tag: number): void {
    if (this.tag !== tag) throw new Error(`the tag is ${this.tag}, and ${tag} was expected`);
  }
}

/** Reads a non-negative integer in its shortest form. */
export function readInteger(node: BerNode, tag: number): number {
  const bytes = node.bytes(tag, 4);
  const [first = 0, second = 0] = bytes;
  if (first >= 128) throw new Error('a number is negative');
  if (bytes.length > 1 && first === 0 && second < 128) throw new Error('a number is longer than it needs');
  return bytes.reduce((number, byte) => number * 256 + byte, 0);
}

/** Size of the first element in bytes; null while incomplete. */
export function elementSize(bytes: Buffer): number | null {
  const [tag, length] = bytes;
  if (tag === undefined || length === undefined) return null;
  if ((tag & 0x1f) === 0x1f) throw new Error('a tag has several bytes');
  if (length === 0x80 || length > 0x84) throw new Error('a length has another form');
  const extraLengthBytes = length > 0x80 ? length - 0x80 : 0;
  if (bytes.length < 2 + extraLengthBytes) return null;
  const size =
    2 +
    extraLengthBytes +
    (extraLengthBytes === 0 ? length : parseInt(bytes.toString('hex', 2, 2 + extraLengthBytes), 16));
  return bytes.length < size ? null : size;
}

export const parseMessage = (bytes: Buffer): BerNode => parse(bytes, 0);

function parse(bytes: Buffer, depth: number): BerNode {
  const length = bytes[1] ?? 0;
  return new BerNode(bytes[0] ?? 0, bytes.subarray(length > 0x80 ? 2 + length - 0x80 : 2), depth);
}

/** Encodes an element with this many length bytes; 0 chooses the shortest form. */
export function encodeElement(tag: number, content: Buffer, lengthBytes: number): Buffer {
  const digits = content.length < 128 && lengthBytes === 0 ? 0 : Math.max(lengthBytes, 2);
  if (digits === 0) return Buffer.concat([Buffer.of(tag, content.length), content]);
  const hex = content.length.toString(16).padStart(2 * digits, '0');
  return Buffer.concat([Buffer.of(tag, 0x80 + digits), Buffer.from(hex, 'hex'), content]);
}
