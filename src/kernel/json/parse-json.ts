import { isAscii } from 'node:buffer';
import { fault, type Fault } from '../errors';
import { parseJsonText } from './parse-json-text';

const MAX_DEPTH = 64;
const MAX_KEYS = 100_000;
/** Numbers and empty objects come without keys, and a flood of them takes as long to parse. */
const MAX_VALUES = 500_000;
/** Below this a body cannot hold enough to matter, and its parsed form is cheaper to check than its bytes. */
const SMALL_BYTES = 256 * 1024;
/** How much of a large body is looked at before other requests get their turn. */
const SLICE_BYTES = 512 * 1024;

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * Parses JSON from outside. Deep nesting, a flood of keys or values, invalid UTF-8 and broken text all end in
 * `invalid_json`, and none of them holds up the event loop: large bodies are measured in slices before they are
 * parsed.
 */
export function parseJson(bytes: Buffer): unknown {
  const value = decode(bytes);
  if (depthOf(value) > MAX_DEPTH) throw tooDeep();
  return value;
}

export function parseJsonPolitely(bytes: Buffer): unknown {
  return bytes.length <= SMALL_BYTES ? parseJson(bytes) : measureThenParse(bytes);
}

/** Others get their turn before and after the parsing, which is the longest part that cannot be broken up. */
async function measureThenParse(bytes: Buffer): Promise<unknown> {
  const measure = new StructureScan(bytes);
  while (!measure.advance(SLICE_BYTES)) await new Promise(setImmediate);
  await new Promise(setImmediate);
  const value = decode(bytes);
  await new Promise(setImmediate);
  return value;
}

const decoder = new TextDecoder('utf-8', { fatal: true });

function decode(bytes: Buffer): unknown {
  try {
    const text = isAscii(bytes) ? bytes.toString('latin1') : decoder.decode(bytes);
    return parseJsonText(text);
  } catch (error) {
    throw fault('invalid_json', { cause: error });
  }
}

const tooDeep = (): Fault =>
  fault('invalid_json', { message: `The JSON is nested more than ${MAX_DEPTH} levels deep.` });

const tooMany = (what: string, limit: number): Fault =>
  fault('invalid_json', { message: `The JSON has more than ${limit.toLocaleString('en')} ${what}.` });

/** The depth of a parsed value, looked at no further than one level past the limit. */
function depthOf(value: unknown, depth = 0): number {
  if (typeof value !== 'object' || value === null) return depth;
  let deepest = depth + 1;
  if (deepest > MAX_DEPTH) return deepest;
  if (Array.isArray(value)) {
    for (const child of value) deepest = Math.max(deepest, depthOf(child, depth + 1));
    return deepest;
  }
  const fields = value as Readonly<Record<string, unknown>>;
  for (const name in fields) deepest = Math.max(deepest, depthOf(fields[name], depth + 1));
  return deepest;
}

/** Counts levels, keys and values in the bytes; strings, the bulk of any prompt, are skipped by a native search. */
class StructureScan {
  private at = 0;
  private inString = false;
  private depth = 0;
  private keys = 0;
  private commas = 0;

  constructor(private readonly bytes: Buffer) {}

  /** True once the end is reached. */
  advance(limit: number): boolean {
    const stop = Math.min(this.bytes.length, this.at + limit);
    while (this.at < stop) {
      if (this.inString) this.toNextQuote();
      else this.take(this.bytes[this.at]);
    }
    return this.at >= this.bytes.length;
  }

  private take(byte: number | undefined): void {
    this.at += 1;
    if (byte === QUOTE) {
      this.inString = true;
    } else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
      this.depth += 1;
      if (this.depth > MAX_DEPTH) throw tooDeep();
    } else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) {
      this.depth -= 1;
    } else if (byte === COLON) {
      this.keys += 1;
      if (this.keys > MAX_KEYS) throw tooMany('keys', MAX_KEYS);
    } else if (byte === COMMA) {
      this.commas += 1;
      if (this.commas >= MAX_VALUES) throw tooMany('values', MAX_VALUES);
    }
  }

  /** One quote at a time: a string made of escaped quotes must not outlast its slice. */
  private toNextQuote(): void {
    const quote = this.bytes.indexOf(QUOTE, this.at);
    this.at = quote === -1 ? this.bytes.length : quote + 1;
    let backslashes = 0;
    while (this.bytes[quote - 1 - backslashes] === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) this.inString = false;
  }
}
