// LDAP messages are trees of elements, each with a tag, a length and a content: BER, as restricted by section 5.1 of
// RFC 4511. A level of the tree is read on demand, so no message causes deep recursion.

export const [BOOLEAN, INTEGER, OCTETS, ENUMERATED, SEQUENCE, SET] = [0x01, 0x02, 0x04, 0x0a, 0x30, 0x31];
const MAX_BYTES = 64 * 1024;

export interface Element {
  readonly tag: number;
  readonly content: Buffer;
}

export function element(tag: number, ...content: readonly Buffer[]): Buffer {
  const size = content.reduce((sum, { length }) => sum + length, 0);
  if (size > MAX_BYTES) throw new Error('a message to the directory would be too large');
  const length = size < 128 ? [size] : [0x83, size >> 16, (size >> 8) & 255, size & 255];
  return Buffer.concat([Buffer.of(tag, ...length), ...content]);
}

/** All our numbers are small. */
export const number = (value: number, tag = INTEGER) => element(tag, Buffer.of(value));
export const octets = (value: string | Buffer, tag = OCTETS) => element(tag, Buffer.from(value));

/** Returns the first element of the bytes and the rest; null if the element is incomplete. */
export function readFirst(bytes: Buffer): { readonly element: Element; readonly rest: Buffer } | null {
  const [tag = 0, first = 0] = bytes;
  // Some directories, such as Active Directory, write four bytes of length for the shortest content.
  const start = 2 + Math.max(0, first - 128);
  if ((tag & 31) === 31 || first === 128 || start > 6) throw new Error('the directory sent no LDAP');
  if (bytes.length < start) return null;
  const end = start + (start === 2 ? first : bytes.readUIntBE(2, start - 2));
  if (end > MAX_BYTES) throw new Error('the directory sent a message that is too large');
  if (bytes.length < end) return null;
  return { element: { tag, content: bytes.subarray(start, end) }, rest: bytes.subarray(end) };
}

export function readElements(content: Buffer): readonly Element[] {
  const elements: Element[] = [];
  for (let rest = content; rest.length > 0;) {
    const next = readFirst(rest);
    if (next === null) throw new Error('the directory sent an element with no end');
    elements.push(next.element);
    rest = next.rest;
  }
  return elements;
}

export function contentOf(candidate: Element | undefined, tag: number): Buffer {
  if (candidate?.tag === tag) return candidate.content;
  throw new Error(`the directory sent ${candidate?.tag ?? 'the end'} in place of the tag ${tag}`);
}

export function numberOf(candidate: Element | undefined, tag = INTEGER): number {
  const content = contentOf(candidate, tag);
  if (content.length < 1 || content.length > 4) throw new Error('the directory sent a number of no size');
  return content.readIntBE(0, content.length);
}
