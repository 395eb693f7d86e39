import { Pieces } from '../pieces';
import { addChange, type Change, quotedName, sourceOf, type Source } from './edited-source';

export interface JsonEdits {
  /** Fields of the top level with their new values. */
  readonly set?: Readonly<Record<string, unknown>>;
  /** Fields of the top level that go. */
  readonly remove?: Iterable<string>;
}

const nothing: ReadonlySet<string> = new Set();

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const SPACE = 0x20;

/** One member of the top level: where its name begins, and where its value begins and ends. */
interface Member {
  readonly name: string;
  readonly start: number;
  readonly value: number;
  readonly end: number;
}

/** The members up to the last one that is edited, and where the rest begins, which nothing happens to. */
interface Beginning {
  readonly members: readonly Member[];
  readonly end: number;
}

/**
 * The bytes of a JSON object with fields of its top level replaced, added or taken out. What is not edited stays as
 * it came, to the byte: that is cheaper than printing it again, and keeps numbers that a double would round. Of a
 * field that stands there twice only the last counts, as for `JSON.parse`; the others go, so that nobody can show one
 * value to us and another to whoever reads the bytes. `parsed` is what the bytes say; it is printed when they cannot
 * be spliced. Answers the same buffer when there is nothing to do.
 */
export const editJson = (
  bytes: Buffer,
  parsed: Readonly<Record<string, unknown>>,
  edits: JsonEdits,
): Buffer => editJsonInPieces(bytes, parsed, edits).whole;

/** The same without a copy of a long body. */
export function editJsonInPieces(
  bytes: Buffer,
  parsed: Readonly<Record<string, unknown>>,
  edits: JsonEdits,
): Pieces {
  const { remove = nothing } = edits;
  const removed: ReadonlySet<string> = remove instanceof Set ? remove : new Set(remove);
  const simple = removed.size <= 1 ? replaced(bytes, parsed, edits.set ?? {}, removed) : undefined;
  if (simple !== undefined) return simple;
  const set = new Map<string, unknown>();
  for (const name in edits.set) if (edits.set[name] !== undefined) set.set(name, edits.set[name]);
  const names = [...set.keys(), ...removed].filter((name) => Object.hasOwn(parsed, name));
  const beginning = beginningOf(bytes, new Set(names));
  return new Pieces([
    beginning === undefined ? printed(parsed, set, removed) : splice(bytes, beginning, set, removed),
  ]);
}

/**
 * The usual case at a fraction of the cost: a field that is there, and whose name stands in the bytes only once, is
 * found by a search; one that is not there goes to the front. Undefined where that would be a guess.
 */
function replaced(
  bytes: Buffer,
  parsed: Readonly<Record<string, unknown>>,
  set: Readonly<Record<string, unknown>>,
  removed: ReadonlySet<string>,
): Pieces | undefined {
  if (bytes[0] !== OPEN_OBJECT || bytes[1] !== QUOTE || isCrowded(bytes)) return undefined;
  const source = sourceOf(bytes);
  if (source.hasEscapedLetters) return undefined;
  let front = '';
  const changes: Change[] = [];
  for (const name in set) {
    const value = set[name];
    if (value === undefined) continue;
    const quoted = quotedName(name);
    if (quoted === undefined) return undefined;
    if (!Object.hasOwn(parsed, name)) {
      front += `${quoted}:${JSON.stringify(value)},`;
      continue;
    }
    const found = soleValue(source, quoted);
    if (found === undefined) return undefined;
    if (parsed[name] !== value) addChange(changes, found.start, found.end, JSON.stringify(value));
  }
  for (const name of removed) {
    const isSet = Object.hasOwn(set, name) && set[name] !== undefined;
    if (isSet || !Object.hasOwn(parsed, name)) continue;
    const quoted = quotedName(name);
    const cut = quoted === undefined ? undefined : soleMember(source, quoted);
    if (cut === undefined) return undefined;
    addChange(changes, cut.start, cut.end, '');
  }
  if (front !== '') addChange(changes, 1, 1, front);
  return changes.length === 0 ? new Pieces([bytes]) : source.with(changes);
}

/** Of a body so large, so many places are looked at. */
const LARGE_BYTES = 256 * 1024;
const SAMPLES = 2_048;

/**
 * Whether a large body consists of quotation marks and backslashes for a good part. A search for something that begins
 * with one of them stops at each; reading byte by byte is then several times as quick. Nobody can know which places are
 * looked at.
 */
function isCrowded(bytes: Buffer): boolean {
  if (bytes.length < LARGE_BYTES) return false;
  const stride = bytes.length / SAMPLES;
  let found = 0;
  for (let place = 0; place < SAMPLES; place += 1) {
    const byte = bytes[Math.floor((place + Math.random()) * stride)];
    if (byte === QUOTE || byte === BACKSLASH) found += 1;
  }
  return found > SAMPLES / 8;
}

interface Part {
  readonly start: number;
  readonly end: number;
}

/** A field with the comma that goes with it; undefined also for one that stands alone. */
function soleMember(source: Source, quoted: string): Part | undefined {
  const value = soleValue(source, quoted);
  if (value === undefined) return undefined;
  const { bytes } = source;
  const start = source.find(quoted, 0);
  let before = start - 1;
  while (bytes[before]! <= SPACE) before -= 1;
  if (bytes[before] === COMMA) return { start: before, end: value.end };
  const next = skipSpace(bytes, value.end);
  return bytes[next] === COMMA ? { start, end: next + 1 } : undefined;
}

/** Where the value of a field stands whose quoted name is nowhere else, not even as a text. */
function soleValue(source: Source, quoted: string): Part | undefined {
  const { bytes } = source;
  const at = source.find(quoted, 0);
  if (at === -1 || source.find(quoted, at + quoted.length) !== -1) return undefined;
  const colon = skipSpace(bytes, at + quoted.length);
  if (bytes[colon] !== COLON) return undefined;
  const start = skipSpace(bytes, colon + 1);
  const end = endOfValue(bytes, start);
  return end === -1 ? undefined : { start, end };
}

function printed(
  parsed: Readonly<Record<string, unknown>>,
  set: ReadonlyMap<string, unknown>,
  removed: ReadonlySet<string>,
): Buffer {
  const kept = Object.entries(parsed).filter(([name]) => !removed.has(name) && !set.has(name));
  return Buffer.from(JSON.stringify(Object.fromEntries([...kept, ...set])));
}

function splice(
  bytes: Buffer,
  { members, end: rest }: Beginning,
  set: ReadonlyMap<string, unknown>,
  removed: ReadonlySet<string>,
): Buffer {
  const last = new Map<string, number>();
  members.forEach(({ name }, index) => {
    if (set.has(name)) last.set(name, index);
  });
  const added = [...set].filter(([name]) => !last.has(name));
  const pieces: Buffer[] = added.map(([name, value]) => memberText(name, value));
  let changed = added.length > 0;
  let run: { start: number; end: number } | undefined;
  const closeRun = (): void => {
    if (run) pieces.push(bytes.subarray(run.start, run.end));
    run = undefined;
  };
  members.forEach((member, index) => {
    const { name, start, end } = member;
    const isEdited = set.has(name);
    if ((removed.has(name) && !isEdited) || (isEdited && last.get(name) !== index)) {
      changed = true;
      closeRun();
      return;
    }
    const text = isEdited ? Buffer.from(JSON.stringify(set.get(name))) : undefined;
    if (text === undefined || bytes.compare(text, 0, text.length, member.value, end) === 0) {
      run = { start: run?.start ?? start, end };
      return;
    }
    changed = true;
    closeRun();
    pieces.push(Buffer.concat([bytes.subarray(start, member.value), text]));
  });
  closeRun();
  return changed ? joined(pieces, bytes, rest) : bytes;
}

const memberText = (name: string, value: unknown): Buffer =>
  Buffer.from(`${JSON.stringify(name)}:${JSON.stringify(value)}`);

const open = Buffer.from('{');
const comma = Buffer.from(',');

function joined(pieces: readonly Buffer[], bytes: Buffer, rest: number): Buffer {
  const parts: Buffer[] = [open];
  pieces.forEach((piece, index) => {
    if (index > 0) parts.push(comma);
    parts.push(piece);
  });
  const next = skipSpace(bytes, rest);
  parts.push(bytes.subarray(pieces.length === 0 && bytes[next] === COMMA ? next + 1 : rest));
  return Buffer.concat(parts);
}

/** Undefined when the bytes are no object after all, or cannot be followed. */
function beginningOf(bytes: Buffer, names: ReadonlySet<string>): Beginning | undefined {
  const members: Member[] = [];
  const missing = new Set(names);
  let at = skipSpace(bytes, 0);
  if (bytes[at] !== OPEN_OBJECT) return undefined;
  at = skipSpace(bytes, at + 1);
  if (bytes[at] === CLOSE_OBJECT) return { members, end: at };
  let isLooking = true;
  for (;;) {
    if (bytes[at] !== QUOTE) return undefined;
    const start = at;
    const nameEnd = endOfString(bytes, at);
    if (nameEnd === -1) return undefined;
    at = skipSpace(bytes, nameEnd);
    if (bytes[at] !== COLON) return undefined;
    const value = skipSpace(bytes, at + 1);
    const end = endOfValue(bytes, value);
    if (end === -1) return undefined;
    const name = nameOf(bytes, start, nameEnd);
    members.push({ name, start, value, end });
    missing.delete(name);
    if (isLooking && missing.size === 0) {
      if (!mayRecur(bytes, end, names)) return { members, end };
      isLooking = false;
    }
    at = skipSpace(bytes, end);
    if (bytes[at] === CLOSE_OBJECT) return { members, end };
    if (bytes[at] !== COMMA) return undefined;
    at = skipSpace(bytes, at + 1);
  }
}

const escapedLetter = Buffer.from('\\u00');

/** Whether any of the names could stand in the rest again, plainly or in escapes. Searching is cheaper than reading. */
function mayRecur(bytes: Buffer, from: number, names: ReadonlySet<string>): boolean {
  if (isCrowded(bytes)) return true;
  if (bytes.indexOf(escapedLetter, from) !== -1) return true;
  for (const name of names) {
    const quoted = quotedName(name);
    if (quoted === undefined || bytes.indexOf(quoted, from) !== -1) return true;
  }
  return false;
}

/** A name may be written with escapes, so that it only reads like another one. */
function nameOf(bytes: Buffer, start: number, end: number): string {
  const text = bytes.toString('utf8', start + 1, end - 1);
  return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text;
}

function skipSpace(bytes: Buffer, from: number): number {
  let at = from;
  while (at < bytes.length && bytes[at]! <= SPACE) at += 1;
  return at;
}

/** Behind the closing quote; -1 without one. */
function endOfString(bytes: Buffer, from: number): number {
  for (let at = from + 1; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) return at + 1;
    if (byte === BACKSLASH) at += 1;
  }
  return -1;
}

function endOfValue(bytes: Buffer, from: number): number {
  const first = bytes[from];
  if (first === QUOTE) return endOfString(bytes, from);
  if (first !== OPEN_OBJECT && first !== OPEN_ARRAY) return endOfWord(bytes, from);
  let depth = 0;
  let at = from;
  while (at < bytes.length) {
    const byte = bytes[at]!;
    if (byte === QUOTE) {
      at = endOfString(bytes, at);
      if (at === -1) return -1;
      continue;
    }
    at += 1;
    if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) depth += 1;
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      depth -= 1;
      if (depth === 0) return at;
    }
  }
  return -1;
}

function endOfWord(bytes: Buffer, from: number): number {
  let at = from;
  while (at < bytes.length) {
    const byte = bytes[at]!;
    if (byte === COMMA || byte === CLOSE_OBJECT || byte <= SPACE) break;
    at += 1;
  }
  return at === from ? -1 : at;
}
