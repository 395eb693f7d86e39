import { randomFillSync } from 'node:crypto';

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export const isUuid = (value: unknown): value is string =>
  typeof value === 'string' && uuidPattern.test(value);

// One system call buys the randomness of 512 identifiers.
const bytesPerId = 10;
const pool = Buffer.alloc(bytesPerId * 512);
let poolOffset = pool.length;

const scratch = Buffer.alloc(16);
let lastMs = -1;
let sequence = 0;

/**
 * A version 7 UUID: sorts by creation time, and strictly so within this process. Within one millisecond the
 * 12 bits after the time count upwards from a random start; when they run out, or the wall clock steps back,
 * the identifier borrows the next millisecond instead of breaking the order.
 */
export function uuidv7(now: number = Date.now()): string {
  if (poolOffset === pool.length) {
    randomFillSync(pool);
    poolOffset = 0;
  }
  if (now > lastMs) {
    lastMs = now;
    // The top bit stays clear, so that at least 2,048 identifiers fit before a borrow.
    sequence = pool.readUInt16BE(poolOffset) & 0x7ff;
  } else if (++sequence > 0xfff) {
    lastMs += 1;
    sequence = 0;
  }
  scratch.writeUIntBE(lastMs, 0, 6);
  scratch.writeUInt16BE(0x7000 | sequence, 6);
  pool.copy(scratch, 8, poolOffset + 2, poolOffset + bytesPerId);
  scratch[8] = (scratch[8]! & 0x3f) | 0x80;
  poolOffset += bytesPerId;
  const hex = scratch.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
