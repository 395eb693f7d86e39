import { findMembers } from '../../kernel';

/** Replaces the bytes of a stream from `start` to `end` by `text`. Positions count from the stream's beginning. */
export interface Edit {
  start: number;
  end: number;
  text: Buffer;
}

const nothing = Buffer.alloc(0);

const BLANK = 0x20;
const CLOSING_BRACE = 0x7d;

/** The object at a path of a JSON text, with these members as they are given here. */
export function memberEdits(json: Buffer, path: readonly (string | number)[], wanted: object): Edit[] {
  const added: string[] = [];
  const edits = Object.entries(wanted).flatMap(([name, value]) => {
    const text = JSON.stringify(value);
    const places = findMembers(json, ...path, name);
    if (places.length === 0) added.push(`${JSON.stringify(name)}:${text}`);
    return places.map((place) => ({ ...place, text: Buffer.from(text) }));
  });
  if (added.length === 0) return edits;
  const inserted = findMembers(json, ...path).map(({ start }) => {
    const comma = json[firstFrom(json, start + 1)] === CLOSING_BRACE ? '' : ',';
    return { start: start + 1, end: start + 1, text: Buffer.from(added.join(',') + comma) };
  });
  return [...inserted, ...edits];
}

function firstFrom(json: Buffer, from: number): number {
  let at = from;
  while (json[at]! <= BLANK) at += 1;
  return at;
}

const COMMA = 0x2c;
const COLON = 0x3a;

/** The cut that takes a member at the top of a JSON object away; null where its name is spelt in another way. */
export function memberCut(json: Buffer, name: string): Edit | null {
  const [place, ...others] = findMembers(json, name);
  if (place === undefined || others.length > 0) return null;
  const quoted = JSON.stringify(name);
  const colon = json.lastIndexOf(COLON, place.start);
  const start = lastBefore(json, colon) + 1 - quoted.length;
  if (json.toString('latin1', start, start + quoted.length) !== quoted) return null;
  const before = lastBefore(json, start);
  if (json[before] === COMMA) return { start: before, end: place.end, text: nothing };
  const end = firstFrom(json, place.end);
  return { start, end: json[end] === COMMA ? end + 1 : place.end, text: nothing };
}

function lastBefore(json: Buffer, from: number): number {
  let at = from - 1;
  while (at > 0 && json[at]! <= BLANK) at -= 1;
  return at;
}

/**
 * The bytes, which begin at `from` in the stream, with the edits that lie in them; those are taken from the
 * list. A text inserted where they end belongs to the bytes that follow.
 */
export function applyEdits(bytes: Buffer, from: number, edits: Edit[]): Buffer {
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
  let read = 0;
  let written = 0;
  for (const { start, end, text } of edits.splice(0, count)) {
    written += bytes.copy(edited, written, read, start - from);
    written += text.copy(edited, written);
    read = end - from;
  }
  bytes.copy(edited, written, read);
  return edited;
}
