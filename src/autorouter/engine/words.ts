import { createCipheriv, createHash } from 'node:crypto';

export const HASH_COUNT = 1 << 15;

/** Maximum number of distinct words and word pairs of a request that are examined and stored. */
export const MAX_TERMS = 600;

/**
 * The secret order of one organisation's hashes. Hashes of two organisations cannot be compared, nor looked up in a
 * dictionary without the salt.
 */
export interface WordSalt {
  readonly order: Uint16Array;
}

/**
 * A shuffle of all hashes by a stream cipher keyed with the salt. Takes about a millisecond, so callers should cache
 * the result.
 */
export function wordSalt(salt: string): WordSalt {
  const key = createHash('sha256').update(salt, 'utf8').digest();
  const noise = createCipheriv('aes-256-ctr', key, Buffer.alloc(16)).update(Buffer.alloc(HASH_COUNT * 4));
  const order = Uint16Array.from({ length: HASH_COUNT }, (_, index) => index);
  for (let last = HASH_COUNT - 1; last > 0; last -= 1) {
    const other = noise.readUInt32LE(last * 4) % (last + 1);
    const moved = order[last] ?? 0;
    order[last] = order[other] ?? 0;
    order[other] = moved;
  }
  return { order };
}

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/** 32-bit FNV-1a, continued from `from` so that a word pair extends the hash of its first word. */
export function fnv(text: string, from = FNV_OFFSET): number {
  let hash = from;
  for (let index = 0; index < text.length; index += 1)
    hash = Math.imul(hash ^ text.charCodeAt(index), FNV_PRIME);
  return hash >>> 0;
}

export const fold = (hash: number): number => ((hash >>> 15) ^ hash) & (HASH_COUNT - 1);
