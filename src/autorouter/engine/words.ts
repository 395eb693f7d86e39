import { createCipheriv, createHash } from 'node:crypto';

/** There are so many distinct hashes, of 15 bits. */
export const HASHES = 1 << 15;

/** At most so many distinct words and pairs of words of a request are looked at and stored. */
export const MOST_TERMS = 600;

/**
 * The secret order of one organisation's hashes. Hashes of two organisations cannot be compared, and without the
 * salt a list of hashes cannot be looked up in a dictionary.
 */
export interface WordSalt {
  readonly order: Uint16Array;
}

/**
 * A shuffle of all hashes by a stream cipher keyed with the salt. It takes about a millisecond: keep what it
 * returns.
 */
export function wordSalt(salt: string): WordSalt {
  const key = createHash('sha256').update(salt, 'utf8').digest();
  const noise = createCipheriv('aes-256-ctr', key, Buffer.alloc(16)).update(Buffer.alloc(HASHES * 4));
  const order = Uint16Array.from({ length: HASHES }, (_, index) => index);
  for (let last = HASHES - 1; last > 0; last -= 1) {
    const other = noise.readUInt32LE(last * 4) % (last + 1);
    const moved = order[last] ?? 0;
    order[last] = order[other] ?? 0;
    order[other] = moved;
  }
  return { order };
}

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/** It is FNV-1a with 32 bits, begun at `from` so that a pair of words continues where its first word ended. */
export function fnv(text: string, from = FNV_OFFSET): number {
  let hash = from;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), FNV_PRIME);
  return hash >>> 0;
}

/** It folds 32 bits to 15. */
export const fold = (hash: number): number => ((hash >>> 15) ^ hash) & (HASHES - 1);
