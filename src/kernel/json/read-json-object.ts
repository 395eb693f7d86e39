import type { MaybePromise } from '../maybe-promise';
import { isAscii } from 'node:buffer';
import type { JsonObjectText as WrittenObject } from '#extension';
import { Fault, fault } from '../errors';
import { DuplicateNameError } from './duplicate-name-error';
import { JsonReader, readJsonText, type VerbatimFields } from './json-reader';
import { printJson } from './json-text';
import { printJsonInSlices } from './print-in-slices';
import { type JsonMember, StructureScan } from './structure-scan';

export type JsonFields = Readonly<Record<string, unknown>>;

/** A JSON object as it was written: its bytes, its value, and the positions of its fields. */
export interface ParsedJsonObject extends WrittenObject {
  readonly bytes: Buffer;
  readonly members: readonly JsonMember[];
  readonly isRounded: boolean;
}

/** Texts up to these sizes take a few milliseconds and are read in one step. */
const MAX_UNSLICED_BYTES = 256 * 1024;
const MAX_UNSLICED_NAMES = 2_000;
/** Maximum read of a longer text before other requests get their turn. */
const SLICE_BYTES = 512 * 1024;
const SLICE_VALUES = 2_000;

/**
 * Reads a JSON object from outside; long bodies are parsed in slices and return a promise. Throws `invalid_json`, or
 * `invalid_request` for a repeated name, as readers differ on which one counts.
 */
export function readJsonObject(source: Buffer): MaybePromise<ParsedJsonObject> {
  const bytes = withoutByteOrderMark(source);
  if (bytes.length > MAX_UNSLICED_BYTES) return readInSlices(bytes);
  const latin1 = bytes.toString('latin1');
  const scan = new StructureScan(latin1);
  scan.advance(Infinity);
  const text = isAscii(bytes) ? latin1 : decodeUtf8(bytes);
  if (scan.names > MAX_UNSLICED_NAMES) return parseInSlices(bytes, text, scan);
  return readText(bytes, valueOf(text, scan), scan);
}

/** Prints an object and describes the text as if it had been read. */
export const printedJsonObject = (body: JsonFields): ParsedJsonObject =>
  objectText(Buffer.from(printJson(body)), body);

export async function printJsonObjectInSlices(body: JsonFields): Promise<ParsedJsonObject> {
  return objectTextInSlices(await printJsonInSlices(body), body);
}

/** True if reading or printing the text takes more than a few milliseconds. */
export const isLong = ({ bytes }: Pick<ParsedJsonObject, 'bytes'>): boolean =>
  bytes.length > MAX_UNSLICED_BYTES;

/** Combines a body with its bytes, which are known to match. */
export function objectText(bytes: Buffer, body: JsonFields): ParsedJsonObject {
  const scan = new StructureScan(bytes.toString('latin1'));
  scan.advance(Infinity);
  return { bytes, body, members: scan.members, isRounded: scan.hasRoundedNumber };
}

export async function objectTextInSlices(bytes: Buffer, body: JsonFields): Promise<ParsedJsonObject> {
  const scan = await scanInSlices(bytes.toString('latin1'));
  return { bytes, body, members: scan.members, isRounded: scan.hasRoundedNumber };
}

/** Returns the body with these fields as they were written; a promise if the text is long. */
export function readVerbatim(
  { bytes, body, isRounded }: ParsedJsonObject,
  fields: VerbatimFields,
): MaybePromise<JsonFields> {
  if (!isRounded) return body;
  const text = bytes.toString('utf8');
  const result =
    bytes.length > MAX_UNSLICED_BYTES ? readToEnd(new JsonReader(text, fields)) : readJsonText(text, fields);
  return result as MaybePromise<JsonFields>;
}

function valueOf(text: string, scan: StructureScan): unknown {
  try {
    if (scan.hasEscapedName) return readJsonText(text, { uniqueNames: true });
    const value: unknown = JSON.parse(text);
    // Fewer fields than names: one was repeated, and our own parser names it.
    return countNames(value) === scan.names ? value : readJsonText(text, { uniqueNames: true });
  } catch (error) {
    throw toFault(error);
  }
}

async function readInSlices(bytes: Buffer): Promise<ParsedJsonObject> {
  const latin1 = bytes.toString('latin1');
  const scan = await scanInSlices(latin1);
  return parseInSlices(bytes, isAscii(bytes) ? latin1 : decodeUtf8(bytes), scan);
}

async function scanInSlices(latin1: string): Promise<StructureScan> {
  const scan = new StructureScan(latin1);
  do await yieldToEventLoop();
  while (!scan.advance(SLICE_BYTES));
  await yieldToEventLoop();
  return scan;
}

async function parseInSlices(bytes: Buffer, text: string, scan: StructureScan): Promise<ParsedJsonObject> {
  return readText(bytes, await readToEnd(new JsonReader(text, { uniqueNames: true })), scan);
}

export const parseJsonInSlices = (bytes: Buffer): Promise<unknown> =>
  readToEnd(new JsonReader(bytes.toString('utf8')));

async function readToEnd(reader: JsonReader): Promise<unknown> {
  for (;;) {
    await yieldToEventLoop();
    const result = nextSlice(reader);
    if (result !== undefined) return result.value;
  }
}

function nextSlice(reader: JsonReader): ReturnType<JsonReader['advance']> {
  try {
    return reader.advance(SLICE_VALUES, SLICE_BYTES);
  } catch (error) {
    throw toFault(error);
  }
}

const yieldToEventLoop = (): Promise<void> => new Promise(setImmediate);

function readText(
  bytes: Buffer,
  value: unknown,
  { members, hasRoundedNumber }: StructureScan,
): ParsedJsonObject {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return { bytes, body: value as JsonFields, members, isRounded: hasRoundedNumber };
  throw fault('invalid_json', { message: 'The request body is not a JSON object.' });
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decodeUtf8(bytes: Buffer): string {
  try {
    return decoder.decode(bytes);
  } catch (error) {
    throw toFault(error);
  }
}

/** Readers differ on a byte order mark, so it is removed. */
const withoutByteOrderMark = (bytes: Buffer): Buffer =>
  bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;

function toFault(error: unknown): Fault {
  if (error instanceof Fault) return error;
  if (!(error instanceof DuplicateNameError)) return fault('invalid_json', { cause: error });
  const { path } = error;
  return fault('invalid_request', { param: path, message: `${path} stands in the JSON twice.` });
}

/** Counts the names at all levels; the depth was bounded before. */
function countNames(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === 'object') count += countNames(item);
    return count;
  }
  const fields = value as Readonly<Record<string, unknown>>;
  for (const name in fields) {
    count += 1;
    const field = fields[name];
    if (typeof field === 'object') count += countNames(field);
  }
  return count;
}
