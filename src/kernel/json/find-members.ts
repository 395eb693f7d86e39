import { parseJsonText } from './parse-json-text';

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const SPACE = 0x20;

export interface ValueRange {
  readonly start: number;
  readonly end: number;
}

/**
 * Byte ranges of the values at this path from the outermost object; several if a name is repeated. Numbers are array
 * indexes, and `bytes` must be valid JSON.
 */
export function findMembers(bytes: Buffer, ...names: readonly (string | number)[]): ValueRange[] {
  let ranges: ValueRange[] = [{ start: skipSpace(bytes, 0), end: bytes.length }];
  for (const name of names) {
    const matches: ValueRange[] = [];
    for (const { start } of ranges) {
      if (typeof name === 'string') collectMembers(bytes, start, name, matches);
      else matches.push(...itemAt(bytes, start, name));
    }
    ranges = matches;
  }
  return ranges;
}

/**
 * Finds an existing member by text search; null if the search is inconclusive. Without escaped letters, a single
 * occurrence of the name is the member.
 */
export function findSoleMember(text: string, name: string): ValueRange | null {
  const quoted = `"${name}"`;
  const at = text.indexOf(quoted);
  if (at === -1 || text.includes('\\u') || text.includes(quoted, at + quoted.length)) return null;
  const colon = skipSpaceIn(text, at + quoted.length);
  if (text.charCodeAt(colon) !== COLON) return null;
  const start = skipSpaceIn(text, colon + 1);
  if (text.charCodeAt(start) !== QUOTE) return null;
  const close = text.indexOf('"', start + 1);
  const value = text.slice(start, close + 1);
  return value.includes('\\') ? null : { start, end: close + 1 };
}

function skipSpaceIn(text: string, from: number): number {
  let at = from;
  while (text.charCodeAt(at) <= SPACE) at += 1;
  return at;
}

function collectMembers(bytes: Buffer, from: number, name: string, matches: ValueRange[]): void {
  if (bytes[from] !== OPEN_OBJECT) return;
  let at = skipSpace(bytes, from + 1);
  while (bytes[at] === QUOTE) {
    const nameEnd = endOfString(bytes, at);
    const isMatch = isName(bytes, at + 1, nameEnd - 1, name);
    at = skipSpace(bytes, nameEnd);
    if (bytes[at] !== COLON) return;
    const start = skipSpace(bytes, at + 1);
    const end = endOfValue(bytes, start);
    if (isMatch) matches.push({ start, end });
    at = skipSpace(bytes, end);
    if (bytes[at] !== COMMA) return;
    at = skipSpace(bytes, at + 1);
  }
}

function itemAt(bytes: Buffer, from: number, index: number): ValueRange[] {
  if (bytes[from] !== OPEN_ARRAY) return [];
  let start = skipSpace(bytes, from + 1);
  for (let remaining = index; bytes[start] !== CLOSE_ARRAY; remaining -= 1) {
    const end = endOfValue(bytes, start);
    if (remaining === 0) return [{ start, end }];
    const comma = skipSpace(bytes, end);
    if (bytes[comma] !== COMMA) return [];
    start = skipSpace(bytes, comma + 1);
  }
  return [];
}

/** Compares a name that might contain escapes. */
function isName(bytes: Buffer, start: number, end: number, name: string): boolean {
  let isSame = end - start === name.length;
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at];
    if (byte === BACKSLASH) return parseJsonText(bytes.toString('utf8', start - 1, end + 1)) === name;
    isSame &&= byte === name.charCodeAt(at - start);
  }
  return isSame;
}

export function skipSpace(bytes: Buffer, from: number): number {
  let at = from;
  while (bytes[at]! <= SPACE) at += 1;
  return at;
}

/** Returns the position after the closing quotation mark. */
export function endOfString(bytes: Buffer, from: number): number {
  let at = from + 1;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at + 1;
}

export function endOfValue(bytes: Buffer, from: number): number {
  const first = bytes[from];
  if (first === QUOTE) return endOfString(bytes, from);
  if (first !== OPEN_OBJECT && first !== OPEN_ARRAY) return endOfLiteral(bytes, from);
  let depth = 0;
  let at = from;
  while (at < bytes.length) {
    const byte = bytes[at];
    if (byte === QUOTE) {
      at = endOfString(bytes, at);
      continue;
    }
    at += 1;
    if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) depth += 1;
    else if ((byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) && --depth === 0) return at;
  }
  return at;
}

function endOfLiteral(bytes: Buffer, from: number): number {
  let at = from;
  while (at < bytes.length) {
    const byte = bytes[at]!;
    if (byte === COMMA || byte === CLOSE_OBJECT || byte === CLOSE_ARRAY || byte <= SPACE) break;
    at += 1;
  }
  return at;
}
