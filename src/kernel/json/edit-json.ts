import type { MaybePromise } from '../maybe-promise';
import { ByteParts } from '../byte-parts';
import { printJson } from './json-text';
import { printJsonInSlices } from './print-in-slices';
import {
  isLong,
  type JsonFields,
  type ParsedJsonObject,
  objectText,
  objectTextInSlices,
} from './read-json-object';
import type { JsonMember } from './structure-scan';

export interface JsonEdits {
  readonly set?: Readonly<Record<string, unknown>>;
  readonly remove?: Iterable<string>;
}

interface MemberEdit {
  readonly start: number;
  readonly end: number;
  readonly text: string | Buffer;
}

type Print = (value: unknown) => string | Buffer;

const noNames: ReadonlySet<string> = new Set();
const COMMA = 0x2c;
const OPEN_OBJECT = 0x7b;
/** Below this size, one string is cheaper than several views of the bytes. */
const SHORT_BYTES = 4 * 1024;
const plainText = /^[ !#-[\]-~]*$/;
const ascii = /^[\x20-\x7e]*$/;

/**
 * Sets and removes top-level fields of a JSON object; all other bytes stay unchanged, which is fast and preserves
 * numbers a double would round. Returns the same buffer if nothing changes.
 */
export const editJson = (source: ParsedJsonObject, edits: JsonEdits): Buffer =>
  editJsonInParts(source, edits).buffer;

/** Edits as if the result had been read again; returns a promise if the text is long. */
export function editedJsonObject(source: ParsedJsonObject, edits: JsonEdits): MaybePromise<ParsedJsonObject> {
  const body = editedBody(source, edits);
  if (isLong(source)) return editInSlices(source, edits, body);
  return objectText(editJson(source, edits), body);
}

async function editInSlices(
  source: ParsedJsonObject,
  edits: JsonEdits,
  body: JsonFields,
): Promise<ParsedJsonObject> {
  const long = new Map<unknown, Buffer>();
  for (const value of Object.values(edits.set ?? {}))
    if (typeof value === 'object' && value !== null) long.set(value, await printJsonInSlices(value));
  const { buffer } = editJsonInParts(source, edits, (value) => long.get(value) ?? printValue(value));
  return objectTextInSlices(buffer, body);
}

function editedBody(source: ParsedJsonObject, edits: JsonEdits): JsonFields {
  const body: Record<string, unknown> = { ...source.body };
  for (const name of edits.remove ?? noNames) delete body[name];
  for (const name in edits.set) if (edits.set[name] !== undefined) body[name] = edits.set[name];
  return body;
}

/** Edits without copying a long body. */
export function editJsonInParts(
  source: ParsedJsonObject,
  { set = {}, remove = noNames }: JsonEdits,
  print: Print = printValue,
): ByteParts {
  const removed: ReadonlySet<string> = remove instanceof Set ? remove : new Set(remove);
  const changes = changesOf(source, set, removed, print);
  return changes.length === 0 ? new ByteParts([source.bytes]) : applyChanges(source.bytes, changes);
}

function changesOf(
  { bytes, body, members }: ParsedJsonObject,
  set: Readonly<Record<string, unknown>>,
  removed: ReadonlySet<string>,
  print: Print,
): MemberEdit[] {
  const changes: MemberEdit[] = [];
  const setNames = Object.keys(set).filter((name) => set[name] !== undefined);
  let isFirst = true;
  for (let index = 0; index < members.length; index += 1) {
    const { name, value, end } = members[index]!;
    if (setNames.includes(name)) {
      const newValue = set[name];
      if (body[name] !== newValue) changes.push({ start: value, end, text: print(newValue) });
      isFirst = false;
    } else if (removed.has(name)) changes.push(removeField(bytes, members, index, isFirst));
    else isFirst = false;
  }
  const addedNames = setNames.filter((name) => !Object.hasOwn(body, name));
  if (addedNames.length === 0) return changes;
  const start = bytes.indexOf(OPEN_OBJECT) + 1;
  const front = addedNames.flatMap((name, position): MemberEdit[] => [
    { start, end: start, text: `${position === 0 ? '' : ','}${printValue(name)}:` },
    { start, end: start, text: print(set[name]) },
  ]);
  if (!isFirst) front.push({ start, end: start, text: ',' });
  return [...front, ...changes];
}

const latin1Of = (text: string | Buffer): string =>
  typeof text === 'string' && ascii.test(text) ? text : Buffer.from(text).toString('latin1');

/** Most names are short and need no escaping. */
const printValue = (value: unknown): string =>
  typeof value === 'string' && plainText.test(value) ? `"${value}"` : printJson(value);

/** Removes a field with its comma: the one before it, unless no earlier field remains. */
function removeField(
  bytes: Buffer,
  members: readonly JsonMember[],
  index: number,
  isFirst: boolean,
): MemberEdit {
  const { start, end } = members[index]!;
  if (!isFirst) return { start: members[index - 1]!.end, end, text: '' };
  if (index === members.length - 1) return { start, end, text: '' };
  return { start, end: bytes.indexOf(COMMA, end) + 1, text: '' };
}

function applyChanges(bytes: Buffer, changes: readonly MemberEdit[]): ByteParts {
  let from = 0;
  if (bytes.length <= SHORT_BYTES) {
    const latin1 = bytes.toString('latin1');
    let result = '';
    for (const { start, end, text } of changes) {
      result += latin1.slice(from, start) + latin1Of(text);
      from = end;
    }
    return new ByteParts([result + latin1.slice(from)]);
  }
  const parts: Buffer[] = [];
  for (const { start, end, text } of changes) {
    if (start > from) parts.push(bytes.subarray(from, start));
    if (text.length > 0) parts.push(typeof text === 'string' ? Buffer.from(text) : text);
    from = end;
  }
  parts.push(bytes.subarray(from));
  return new ByteParts(parts);
}
