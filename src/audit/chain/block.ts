import { hash } from 'node:crypto';

export const HASH_BYTES = 32;

/** Previous hash of the first block of a chain. */
export const NO_BLOCK = Buffer.alloc(HASH_BYTES);

/** Raised for every new column of the log, because the lines of its entries change. */
export const BLOCK_VERSION = 1;

/** Fields covered by a signature. Positions count the entries of a chain from 1. */
export interface BlockHead {
  readonly version: number;
  /** Organisation id; 0 for entries without an organisation. */
  readonly chain: number;
  readonly number: number;
  readonly first: number;
  readonly count: number;
  readonly root: Buffer;
  readonly previous: Buffer;
  /** ISO 8601, to the millisecond. */
  readonly sealedAt: string;
  /** An Ed25519 public key. */
  readonly signer: Buffer;
}

export interface SignedHead extends BlockHead {
  readonly signature: Buffer;
}

export interface BlockList {
  readonly entries: readonly number[];
  readonly digests: readonly Buffer[];
}

const sha256 = (...parts: readonly Uint8Array[]): Buffer =>
  hash('sha256', parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts), 'buffer');

/** Covers the bytes of an entry's line, without its line feed. */
export const digestOfLine = (line: Uint8Array): Buffer => sha256(line);

const LEAF = Buffer.of(0);
const NODE = Buffer.of(1);

/** The root of the Merkle tree over numbers and digests; a node without a sibling moves up as it is (RFC 6962). */
export function rootOf({ entries, digests }: BlockList): Buffer {
  let level = digests.map((digest, index) => sha256(LEAF, Buffer.from(`${entries[index]}:`), digest));
  while (level.length > 1) {
    const above: Buffer[] = [];
    for (let index = 0; index < level.length; index += 2) {
      const [left, right] = [level[index], level[index + 1]];
      if (left !== undefined) above.push(right === undefined ? left : sha256(NODE, left, right));
    }
    level = above;
  }
  return level[0] ?? NO_BLOCK;
}

export function digestOfHead(head: BlockHead): Buffer {
  const { version, chain, number, first, count, root, previous, sealedAt, signer } = head;
  const fields = [version, chain, number, first, count, text(root), text(previous), sealedAt, text(signer)];
  return sha256(Buffer.from(`switchboard audit block\n${JSON.stringify(fields)}`));
}

/** Returns the hash that the next block names; covers the signature as well. */
export const hashOfBlock = (head: SignedHead): Buffer => sha256(digestOfHead(head), head.signature);

const text = (bytes: Buffer): string => bytes.toString('base64url');

export const serialiseHead = (head: SignedHead): Readonly<Record<string, unknown>> => ({
  version: head.version,
  chain: head.chain,
  number: head.number,
  first: head.first,
  count: head.count,
  root: text(head.root),
  previous: text(head.previous),
  sealed_at: head.sealedAt,
  signer: text(head.signer),
  signature: text(head.signature),
});

/** Returns null if the value is not a head. */
export function readHead(value: unknown): SignedHead | null {
  if (typeof value !== 'object' || value === null) return null;
  const fields = new Map<string, unknown>(Object.entries(value));
  const number = (name: string): number => wholeNumber(fields.get(name));
  const head = {
    version: number('version'),
    chain: number('chain'),
    number: number('number'),
    first: number('first'),
    count: number('count'),
    root: bytesOf(fields.get('root'), HASH_BYTES),
    previous: bytesOf(fields.get('previous'), HASH_BYTES),
    sealedAt: String(fields.get('sealed_at')),
    signer: bytesOf(fields.get('signer'), HASH_BYTES),
    signature: bytesOf(fields.get('signature'), 64),
  };
  // Compared byte by byte: a different spelling was not written by this program.
  return JSON.stringify(serialiseHead(head)) === JSON.stringify(Object.fromEntries(fields)) ? head : null;
}

const wholeNumber = (value: unknown): number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : NaN;

/** Returns an empty buffer unless the text is the exact encoding of this number of bytes. */
export function bytesOf(value: unknown, length: number): Buffer {
  const bytes = typeof value === 'string' ? Buffer.from(value, 'base64url') : Buffer.alloc(0);
  const isExact = bytes.length === length && bytes.toString('base64url') === value;
  return isExact ? bytes : Buffer.alloc(0);
}

export const isSameHead = (one: SignedHead, other: SignedHead): boolean =>
  hashOfBlock(one).equals(hashOfBlock(other));
