import { randomFillSync } from 'node:crypto';

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export const isUuid = (value: unknown): value is string =>
  typeof value === 'string' && uuidPattern.test(value);

// One system call buys the randomness of 512 identifiers.
const bytesPerId = 10;
const pool = Buffer.alloc(bytesPerId * 512);
let poolOffset = pool.length;

const pairs = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));
let lastMs = -1;
/** The time as it is written, for all identifiers of a millisecond. */
let time = '';
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
    // The top bit stays clear, so that at least 2,048 identifiers fit before a borrow.
    begin(now, pool.readUInt16BE(poolOffset) & 0x7ff);
  } else if (++sequence > 0xfff) begin(lastMs + 1, 0);
  const at = poolOffset;
  poolOffset += bytesPerId;
  const variant = pairs[(pool[at + 2]! & 0x3f) | 0x80]! + pairs[pool[at + 3]!]!;
  return `${time}-${(0x7000 | sequence).toString(16)}-${variant}-${sixPairs(at + 4)}`;
}

function begin(ms: number, first: number): void {
  lastMs = ms;
  sequence = first;
  const hex = ms.toString(16).padStart(12, '0');
  time = `${hex.slice(0, 8)}-${hex.slice(8)}`;
}

function sixPairs(at: number): string {
  let text = '';
  for (let place = at; place < at + 6; place += 1) text += pairs[pool[place]!]!;
  return text;
}
