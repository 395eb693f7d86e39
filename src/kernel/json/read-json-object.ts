import { isAscii } from 'node:buffer';
import type { JsonObjectText as WrittenObject } from '#extension';
import { Fault, fault } from '../errors';
import { DuplicateName } from './duplicate-name';
import { JsonReader, readJsonText, type WrittenFields } from './json-reader';
import { printJson } from './json-text';
import { printJsonInSlices } from './print-in-slices';
import { type JsonMember, StructureScan } from './structure-scan';

/** A JSON object that is only read. */
export type JsonFields = Readonly<Record<string, unknown>>;

/** A JSON object as it was written: its bytes, what they say, and where its fields stand in them. */
export interface JsonObjectText extends WrittenObject {
  readonly bytes: Buffer;
  readonly members: readonly JsonMember[];
  /** The `body` holds a number that a double changed. */
  readonly isRounded: boolean;
}

/** Texts up to these sizes are read at once: they take a few milliseconds. */
const SHORT_BYTES = 256 * 1024;
const FEW_NAMES = 2_000;
/** The reader takes so much of a longer one before other requests get their turn. */
const SLICE_BYTES = 512 * 1024;
const SLICE_VALUES = 2_000;

/**
 * Reads a JSON object from outside. Excessive depth, names or values, invalid UTF-8 and malformed text end in
 * `invalid_json`. A repeated name ends in `invalid_request`, as readers differ on which one counts. Long
 * bodies are parsed in slices and return a promise.
 */
export function readJsonObject(given: Buffer): JsonObjectText | Promise<JsonObjectText> {
  const bytes = withoutMark(given);
  if (bytes.length > SHORT_BYTES) return readInSlices(bytes);
  const latin1 = bytes.toString('latin1');
  const scan = new StructureScan(latin1);
  scan.advance(Infinity);
  const text = isAscii(bytes) ? latin1 : decoded(bytes);
  if (scan.names > FEW_NAMES) return parsedInSlices(bytes, text, scan);
  return readText(bytes, valueOf(text, scan), scan);
}

/** The object is printed here, and then looks as if it had been read. */
export const printedJsonObject = (body: JsonFields): JsonObjectText =>
  objectText(Buffer.from(printJson(body)), body);

/** The same of a body that may be long. */
export async function printedInSlices(body: JsonFields): Promise<JsonObjectText> {
  return objectTextInSlices(await printJsonInSlices(body), body);
}

/** Reading or printing such a text takes more than a few milliseconds. */
export const isLong = ({ bytes }: Pick<JsonObjectText, 'bytes'>): boolean => bytes.length > SHORT_BYTES;

/** A body with its bytes, which are known to say the same. */
export function objectText(bytes: Buffer, body: JsonFields): JsonObjectText {
  const scan = new StructureScan(bytes.toString('latin1'));
  scan.advance(Infinity);
  return { bytes, body, members: scan.members, isRounded: scan.hasRoundedNumber };
}

/** The same of a body that may be long. */
export async function objectTextInSlices(bytes: Buffer, body: JsonFields): Promise<JsonObjectText> {
  const scan = await scanInSlices(bytes.toString('latin1'));
  return { bytes, body, members: scan.members, isRounded: scan.hasRoundedNumber };
}

/** The body with these fields as they were written; a promise where that takes long. */
export function readWritten(
  { bytes, body, isRounded }: JsonObjectText,
  fields: WrittenFields,
): JsonFields | Promise<JsonFields> {
  if (!isRounded) return body;
  const text = bytes.toString('utf8');
  const whole =
    bytes.length > SHORT_BYTES ? readToEnd(new JsonReader(text, fields)) : readJsonText(text, fields);
  return whole as JsonFields | Promise<JsonFields>;
}

function valueOf(text: string, scan: StructureScan): unknown {
  try {
    if (scan.hasEscapedName) return readJsonText(text, { uniqueNames: true });
    const value: unknown = JSON.parse(text);
    // Fewer fields than names: one was repeated, and the reader names it.
    return namesIn(value) === scan.names ? value : readJsonText(text, { uniqueNames: true });
  } catch (error) {
    throw refusalOf(error);
  }
}

async function readInSlices(bytes: Buffer): Promise<JsonObjectText> {
  const latin1 = bytes.toString('latin1');
  const scan = await scanInSlices(latin1);
  return parsedInSlices(bytes, isAscii(bytes) ? latin1 : decoded(bytes), scan);
}

async function scanInSlices(latin1: string): Promise<StructureScan> {
  const scan = new StructureScan(latin1);
  do await turn();
  while (!scan.advance(SLICE_BYTES));
  await turn();
  return scan;
}

async function parsedInSlices(bytes: Buffer, text: string, scan: StructureScan): Promise<JsonObjectText> {
  return readText(bytes, await readToEnd(new JsonReader(text, { uniqueNames: true })), scan);
}

/** A text of our own, which may be long. */
export const parseJsonInSlices = (bytes: Buffer): Promise<unknown> =>
  readToEnd(new JsonReader(bytes.toString('utf8')));

async function readToEnd(reader: JsonReader): Promise<unknown> {
  for (;;) {
    await turn();
    const whole = nextSlice(reader);
    if (whole !== undefined) return whole.value;
  }
}

function nextSlice(reader: JsonReader): ReturnType<JsonReader['advance']> {
  try {
    return reader.advance(SLICE_VALUES, SLICE_BYTES);
  } catch (error) {
    throw refusalOf(error);
  }
}

const turn = (): Promise<void> => new Promise(setImmediate);

function readText(
  bytes: Buffer,
  value: unknown,
  { members, hasRoundedNumber }: StructureScan,
): JsonObjectText {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return { bytes, body: value as JsonFields, members, isRounded: hasRoundedNumber };
  throw fault('invalid_json', { message: 'The request body is not a JSON object.' });
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decoded(bytes: Buffer): string {
  try {
    return decoder.decode(bytes);
  } catch (error) {
    throw refusalOf(error);
  }
}

/** Readers differ on a byte order mark, so it goes no further. */
const withoutMark = (bytes: Buffer): Buffer =>
  bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;

function refusalOf(error: unknown): Fault {
  if (error instanceof Fault) return error;
  if (!(error instanceof DuplicateName)) return fault('invalid_json', { cause: error });
  const { path } = error;
  return fault('invalid_request', { param: path, message: `${path} stands in the JSON twice.` });
}

/** The count is of the names that a value has at all its levels. The depth was bounded before. */
function namesIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === 'object') count += namesIn(item);
    return count;
  }
  const fields = value as Readonly<Record<string, unknown>>;
  for (const name in fields) {
    count += 1;
    const field = fields[name];
    if (typeof field === 'object') count += namesIn(field);
  }
  return count;
}
