import { randomFillSync } from 'node:crypto';
import { MINUTE_MS } from './time';

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export const isUuid = (value: unknown): value is string =>
  typeof value === 'string' && uuidPattern.test(value);

/** Characters without a meaning in logs, pages, headers and URLs. */
const safeToken = /^[\w.~:+/=@-]{1,128}$/;

/** Returns a foreign identifier if it is safe to store and repeat; null otherwise. */
export const safeTokenIn = (value: unknown): string | null =>
  typeof value === 'string' && safeToken.test(value) ? value : null;

// A single system call supplies the randomness of 512 identifiers.
const bytesPerId = 10;
const pool = Buffer.alloc(bytesPerId * 512);
let poolOffset = pool.length;

/** Preallocated bytes of an identifier, converted to a string in one call. */
const shape = Buffer.from('00000000-0000-7000-8000-000000000000', 'latin1');
/** The two hex digits of every byte. */
const digits = Buffer.from(Array.from({ length: 256 }, (_, byte) => hexOf(byte, 2)).join(''), 'latin1');

/** Maximum lead of identifiers over the clock. */
const maxBorrowMs = MINUTE_MS;

let lastMs = -1;
let sequence = 0;

/**
 * A version 7 UUID that sorts by creation time, strictly so within this process. A full counter or a small step back of
 * the clock borrows the next millisecond; larger steps are followed.
 */
export function uuidv7(now: number = Date.now()): string {
  if (poolOffset === pool.length) {
    randomFillSync(pool);
    poolOffset = 0;
  }
  if (now > lastMs || now < lastMs - maxBorrowMs) {
    // The top bit stays clear, so that at least 2,048 identifiers fit before a borrow.
    startMillisecond(now, pool.readUInt16BE(poolOffset) & 0x7ff);
  } else if (++sequence > 0xfff) startMillisecond(lastMs + 1, 0);
  const at = poolOffset;
  poolOffset += bytesPerId;
  put(14, 0x70 | (sequence >> 8));
  put(16, sequence & 0xff);
  put(19, 0x80 | (pool[at + 2]! & 0x3f));
  for (let index = 0; index < 7; index += 1) put(randomOffsets[index]!, pool[at + 3 + index]!);
  return shape.toString('latin1');
}

/** Offsets of the last seven bytes. */
const randomOffsets = [21, 24, 26, 28, 30, 32, 34];

function startMillisecond(ms: number, first: number): void {
  lastMs = ms;
  sequence = first;
  const high = Math.floor(ms / 0x1_0000);
  put(0, high >>> 24);
  put(2, (high >>> 16) & 0xff);
  put(4, (high >>> 8) & 0xff);
  put(6, high & 0xff);
  put(9, (ms >>> 8) & 0xff);
  put(11, ms & 0xff);
}

function put(at: number, byte: number): void {
  shape[at] = digits[2 * byte]!;
  shape[at + 1] = digits[2 * byte + 1]!;
}

function hexOf(value: number, length: number): string {
  return value.toString(16).padStart(length, '0');
}
