import { findMembers } from '../../kernel';

/** Replaces the bytes of a stream from `start` to `end` by `text`. Offsets count from the start of the stream. */
export interface StreamEdit {
  start: number;
  end: number;
  text: Buffer;
}

const nothing = Buffer.alloc(0);

const BLANK = 0x20;
const CLOSING_BRACE = 0x7d;

export function memberEdits(json: Buffer, path: readonly (string | number)[], members: object): StreamEdit[] {
  const added: string[] = [];
  const edits = Object.entries(members).flatMap(([name, value]) => {
    const text = JSON.stringify(value);
    const ranges = findMembers(json, ...path, name);
    if (ranges.length === 0) added.push(`${JSON.stringify(name)}:${text}`);
    return ranges.map((range) => ({ ...range, text: Buffer.from(text) }));
  });
  if (added.length === 0) return edits;
  const inserted = findMembers(json, ...path).map(({ start }) => {
    const comma = json[skipBlanks(json, start + 1)] === CLOSING_BRACE ? '' : ',';
    return { start: start + 1, end: start + 1, text: Buffer.from(added.join(',') + comma) };
  });
  return [...inserted, ...edits];
}

function skipBlanks(json: Buffer, from: number): number {
  let index = from;
  while (json[index]! <= BLANK) index += 1;
  return index;
}

const COMMA = 0x2c;
const COLON = 0x3a;

/** The edit that removes a top-level member of a JSON object; null if its name is escaped or appears more than once. */
export function memberCut(json: Buffer, name: string): StreamEdit | null {
  const [range, ...others] = findMembers(json, name);
  if (range === undefined || others.length > 0) return null;
  const quoted = JSON.stringify(name);
  const colon = json.lastIndexOf(COLON, range.start);
  const start = skipBlanksBackwards(json, colon) + 1 - quoted.length;
  if (json.toString('latin1', start, start + quoted.length) !== quoted) return null;
  const previous = skipBlanksBackwards(json, start);
  if (json[previous] === COMMA) return { start: previous, end: range.end, text: nothing };
  const end = skipBlanks(json, range.end);
  return { start, end: json[end] === COMMA ? end + 1 : range.end, text: nothing };
}

function skipBlanksBackwards(json: Buffer, from: number): number {
  let index = from - 1;
  while (index > 0 && json[index]! <= BLANK) index -= 1;
  return index;
}

/**
 * Applies the edits within these bytes, which start at `from` in the stream, and removes them from the list. A text
 * inserted at their end belongs to the bytes that follow.
 */
export function applyEdits(bytes: Buffer, from: number, edits: StreamEdit[]): Buffer {
  const to = from + bytes.length;
  let size = bytes.length;
  let count = 0;
  for (const { end, start, text } of edits) {
    if (end > to || start === to) break;
    size += text.length - (end - start);
    count += 1;
  }
  if (count === 0) return bytes;
  const edited = Buffer.allocUnsafe(size);
  let readOffset = 0;
  let writeOffset = 0;
  for (const { start, end, text } of edits.splice(0, count)) {
    writeOffset += bytes.copy(edited, writeOffset, readOffset, start - from);
    writeOffset += text.copy(edited, writeOffset);
    readOffset = end - from;
  }
  bytes.copy(edited, writeOffset, readOffset);
  return edited;
}
