import { Pieces } from '../pieces';
import { printJson } from './json-text';
import { printJsonInSlices } from './print-in-slices';
import {
  isLong,
  type JsonFields,
  type JsonObjectText,
  objectText,
  objectTextInSlices,
} from './read-json-object';
import type { JsonMember } from './structure-scan';

export interface JsonEdits {
  /** These fields of the top level get new values. */
  readonly set?: Readonly<Record<string, unknown>>;
  /** These fields of the top level go. */
  readonly remove?: Iterable<string>;
}

interface Change {
  readonly start: number;
  readonly end: number;
  readonly text: string | Buffer;
}

type Print = (value: unknown) => string | Buffer;

const nothing: ReadonlySet<string> = new Set();
const COMMA = 0x2c;
const OPEN_OBJECT = 0x7b;
/** Below this, one text is cheaper than several views of the bytes. */
const SHORT_BYTES = 4 * 1024;
const plainText = /^[ !#-[\]-~]*$/;
const ascii = /^[\x20-\x7e]*$/;

/**
 * Splices top-level fields of a JSON object: replaces, adds or removes them. The other bytes stay unchanged, which is
 * faster than printing and keeps numbers that a double would round. Returns the same buffer when there is nothing to
 * do.
 */
export const editJson = (source: JsonObjectText, edits: JsonEdits): Buffer =>
  editJsonInPieces(source, edits).whole;

/** The same as if it had been read; a promise where the text is long. */
export function editedJsonObject(
  source: JsonObjectText,
  edits: JsonEdits,
): JsonObjectText | Promise<JsonObjectText> {
  const body = editedBody(source, edits);
  if (isLong(source)) return editedInSlices(source, edits, body);
  return objectText(editJson(source, edits), body);
}

async function editedInSlices(
  source: JsonObjectText,
  edits: JsonEdits,
  body: JsonFields,
): Promise<JsonObjectText> {
  const long = new Map<unknown, Buffer>();
  for (const value of Object.values(edits.set ?? {}))
    if (typeof value === 'object' && value !== null) long.set(value, await printJsonInSlices(value));
  const { whole } = editJsonInPieces(source, edits, (value) => long.get(value) ?? printed(value));
  return objectTextInSlices(whole, body);
}

function editedBody(source: JsonObjectText, edits: JsonEdits): JsonFields {
  const body: Record<string, unknown> = { ...source.body };
  for (const name of edits.remove ?? nothing) delete body[name];
  for (const name in edits.set) if (edits.set[name] !== undefined) body[name] = edits.set[name];
  return body;
}

/** The same without a copy of a long body. */
export function editJsonInPieces(
  source: JsonObjectText,
  { set = {}, remove = nothing }: JsonEdits,
  print: Print = printed,
): Pieces {
  const removed: ReadonlySet<string> = remove instanceof Set ? remove : new Set(remove);
  const changes = changesOf(source, set, removed, print);
  return changes.length === 0 ? new Pieces([source.bytes]) : changed(source.bytes, changes);
}

/** Changes come in the order of their places. */
function changesOf(
  { bytes, body, members }: JsonObjectText,
  set: Readonly<Record<string, unknown>>,
  removed: ReadonlySet<string>,
  print: Print,
): Change[] {
  const changes: Change[] = [];
  const setNames = Object.keys(set).filter((name) => set[name] !== undefined);
  let isFirst = true;
  for (let index = 0; index < members.length; index += 1) {
    const { name, value, end } = members[index]!;
    if (setNames.includes(name)) {
      const wanted = set[name];
      if (body[name] !== wanted) changes.push({ start: value, end, text: print(wanted) });
      isFirst = false;
    } else if (removed.has(name)) changes.push(cut(bytes, members, index, isFirst));
    else isFirst = false;
  }
  const fresh = setNames.filter((name) => !Object.hasOwn(body, name));
  if (fresh.length === 0) return changes;
  const start = bytes.indexOf(OPEN_OBJECT) + 1;
  const front = fresh.flatMap((name, place): Change[] => [
    { start, end: start, text: `${place === 0 ? '' : ','}${printed(name)}:` },
    { start, end: start, text: print(set[name]) },
  ]);
  if (!isFirst) front.push({ start, end: start, text: ',' });
  return [...front, ...changes];
}

const latin1Of = (text: string | Buffer): string =>
  typeof text === 'string' && ascii.test(text) ? text : Buffer.from(text).toString('latin1');

/** Most names are short and need no escaping. */
const printed = (value: unknown): string =>
  typeof value === 'string' && plainText.test(value) ? `"${value}"` : printJson(value);

/** A field with the comma that goes with it: the one before it, unless it is the first that is left. */
function cut(bytes: Buffer, members: readonly JsonMember[], index: number, isFirst: boolean): Change {
  const { start, end } = members[index]!;
  if (!isFirst) return { start: members[index - 1]!.end, end, text: '' };
  if (index === members.length - 1) return { start, end, text: '' };
  return { start, end: bytes.indexOf(COMMA, end) + 1, text: '' };
}

function changed(bytes: Buffer, changes: readonly Change[]): Pieces {
  let from = 0;
  if (bytes.length <= SHORT_BYTES) {
    const latin1 = bytes.toString('latin1');
    let result = '';
    for (const { start, end, text } of changes) {
      result += latin1.slice(from, start) + latin1Of(text);
      from = end;
    }
    return new Pieces([result + latin1.slice(from)]);
  }
  const parts: Buffer[] = [];
  for (const { start, end, text } of changes) {
    if (start > from) parts.push(bytes.subarray(from, start));
    if (text.length > 0) parts.push(typeof text === 'string' ? Buffer.from(text) : text);
    from = end;
  }
  parts.push(bytes.subarray(from));
  return new Pieces(parts);
}
