const DEEPEST = 8;

/** A tree of a message, as X.690 writes it and RFC 4511 (section 5.1) narrows it. What is not so is refused. */
export class Node {
  constructor(
    readonly tag: number,
    private readonly content: Buffer,
    private readonly depth: number,
  ) {}

  /** What it is made of, where it has this tag and one of these numbers of parts. */
  children(tag: number, counts?: readonly number[]): Node[] {
    this.expect(tag);
    if ((tag & 0x20) === 0) throw new Error(`the tag ${tag} has no parts`);
    if (this.depth === DEEPEST) throw new Error('a message is too deep');
    const parts: Node[] = [];
    let at = 0;
    while (at < this.content.length) {
      const size = wholeSize(this.content.subarray(at));
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

  bytes(tag: number, most: number): Buffer {
    this.expect(tag);
    if (this.content.length < 1 || this.content.length > most) throw new Error('a value has another size');
    return this.content;
  }

  private expect(tag: number): void {
    if (this.tag !== tag) throw new Error(`the tag is ${this.tag}, and ${tag} was expected`);
  }
}

/** A number that is not negative, in as few bytes as it needs. */
export function numberIn(node: Node, tag: number): number {
  const bytes = node.bytes(tag, 4);
  const [first = 0, second = 0] = bytes;
  if (first >= 128) throw new Error('a number is negative');
  if (bytes.length > 1 && first === 0 && second < 128) throw new Error('a number is longer than it needs');
  return bytes.reduce((number, byte) => number * 256 + byte, 0);
}

/** The size of the first element; null while it is not all there. */
export function wholeSize(bytes: Buffer): number | null {
  const [tag, length] = bytes;
  if (tag === undefined || length === undefined) return null;
  if ((tag & 0x1f) === 0x1f) throw new Error('a tag has several bytes');
  if (length === 0x80 || length > 0x84) throw new Error('a length has another form');
  const more = length > 0x80 ? length - 0x80 : 0;
  if (bytes.length < 2 + more) return null;
  const size = 2 + more + (more === 0 ? length : parseInt(bytes.toString('hex', 2, 2 + more), 16));
  return bytes.length < size ? null : size;
}

export const parseMessage = (bytes: Buffer): Node => parse(bytes, 0);

function parse(bytes: Buffer, depth: number): Node {
  const length = bytes[1] ?? 0;
  return new Node(bytes[0] ?? 0, bytes.subarray(length > 0x80 ? 2 + length - 0x80 : 2), depth);
}

/** With so many bytes of length, or as few as it needs. */
export function write(tag: number, content: Buffer, lengthBytes: number): Buffer {
  const digits = content.length < 128 && lengthBytes === 0 ? 0 : Math.max(lengthBytes, 2);
  if (digits === 0) return Buffer.concat([Buffer.of(tag, content.length), content]);
  const hex = content.length.toString(16).padStart(2 * digits, '0');
  return Buffer.concat([Buffer.of(tag, 0x80 + digits), Buffer.from(hex, 'hex'), content]);
}
