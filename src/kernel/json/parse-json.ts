import { fault, type Fault } from '../errors';

const MAX_DEPTH = 64;
const MAX_KEYS = 200_000;
/** Below this a body cannot hold enough keys to matter, and its parsed form is cheaper to check than its bytes. */
const SMALL_BYTES = 256 * 1024;
/** How much of a large body is looked at before other requests get their turn. */
const SLICE_BYTES = 1024 * 1024;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * Parses JSON from outside. Deep nesting, a flood of keys, invalid UTF-8 and broken text all end in `invalid_json`,
 * and none of them holds up the event loop: large bodies are measured in slices before they are parsed.
 */
export function parseJson(bytes: Buffer): unknown {
  const value = decode(bytes);
  if (depthOf(value) > MAX_DEPTH) throw tooDeep();
  return value;
}

export function parseJsonPolitely(bytes: Buffer): unknown {
  return bytes.length <= SMALL_BYTES ? parseJson(bytes) : measureThenParse(bytes);
}

async function measureThenParse(bytes: Buffer): Promise<unknown> {
  const measure = new StructureScan(bytes);
  while (!measure.advance(SLICE_BYTES)) await new Promise(setImmediate);
  return decode(bytes);
}

const decoder = new TextDecoder('utf-8', { fatal: true });

function decode(bytes: Buffer): unknown {
  try {
    return JSON.parse(decoder.decode(bytes)) as unknown;
  } catch (error) {
    throw fault('invalid_json', { cause: error });
  }
}

const tooDeep = (): Fault =>
  fault('invalid_json', { message: `The JSON is nested more than ${MAX_DEPTH} levels deep.` });

const tooManyKeys = (): Fault =>
  fault('invalid_json', { message: `The JSON has more than ${MAX_KEYS.toLocaleString('en')} keys.` });

/** The depth of a parsed value, looked at no further than one level past the limit. */
function depthOf(value: unknown, depth = 0): number {
  if (typeof value !== 'object' || value === null) return depth;
  let deepest = depth + 1;
  if (deepest > MAX_DEPTH) return deepest;
  for (const child of Array.isArray(value) ? value : Object.values(value)) {
    if (typeof child !== 'object' || child === null) continue;
    const below = depthOf(child, depth + 1);
    if (below > deepest) deepest = below;
    if (deepest > MAX_DEPTH) break;
  }
  return deepest;
}

/** Counts levels and keys in the bytes; strings, the bulk of any prompt, are skipped by a native search. */
class StructureScan {
  private at = 0;
  private depth = 0;
  private keys = 0;

  constructor(private readonly bytes: Buffer) {}

  /** True once the end is reached. */
  advance(limit: number): boolean {
    const { bytes } = this;
    const stop = Math.min(bytes.length, this.at + limit);
    while (this.at < stop) {
      const byte = bytes[this.at];
      if (byte === QUOTE) {
        this.at = this.afterString();
        continue;
      }
      if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
        this.depth += 1;
        if (this.depth > MAX_DEPTH) throw tooDeep();
      } else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) {
        this.depth -= 1;
      } else if (byte === COLON) {
        this.keys += 1;
        if (this.keys > MAX_KEYS) throw tooManyKeys();
      }
      this.at += 1;
    }
    return this.at >= bytes.length;
  }

  private afterString(): number {
    let end = this.at;
    for (;;) {
      end = this.bytes.indexOf(QUOTE, end + 1);
      if (end === -1) return this.bytes.length;
      let backslashes = 0;
      while (this.bytes[end - 1 - backslashes] === BACKSLASH) backslashes += 1;
      if (backslashes % 2 === 0) return end + 1;
    }
  }
}
