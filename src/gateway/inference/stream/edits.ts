import { findMembers } from '../../../kernel';

/** Replaces the bytes of a stream from `start` to `end` by `text`. Positions count from the stream's beginning. */
export interface Edit {
  start: number;
  end: number;
  text: Buffer;
}

/** The object at a path of a JSON text, with these members as they are given here. */
export function memberEdits(json: Buffer, path: readonly string[], held: object, wanted: object): Edit[] {
  return Object.entries(wanted).flatMap(([name, value]) => {
    const text = JSON.stringify(value);
    const places = findMembers(json, ...path, name);
    if (places.length > 0) return places.map((place) => ({ ...place, text: Buffer.from(text) }));
    const added = Buffer.from(`${JSON.stringify(name)}:${text}${Object.keys(held).length === 0 ? '' : ','}`);
    return findMembers(json, ...path).map(({ start }) => ({ start: start + 1, end: start + 1, text: added }));
  });
}

/** The bytes, which begin at `from` in the stream, with the edits that lie in them; those are taken from the list. */
export function applyEdits(bytes: Buffer, from: number, edits: Edit[]): Buffer {
  const to = from + bytes.length;
  let size = bytes.length;
  let count = 0;
  for (const { end, start, text } of edits) {
    if (end > to) break;
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
