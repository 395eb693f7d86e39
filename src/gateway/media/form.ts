import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Busboy, type BusboyInstance } from '@fastify/busboy';
import { Fault, fault } from '../../kernel';
import { formTypeOf } from '../../platform';
import type { FormFile } from '../../routing';

/** A form as it was sent, every part once, in the order it came in. */
export interface Form {
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly files: readonly FormFile[];
}

const MOST_PARTS = 64;
const MOST_HEAD_BYTES = 4 * 1024;
const MOST_FIELD_BYTES = 64 * 1024;
/** The parser reads so much before other requests get their turn. */
const SLICE_BYTES = 1024 * 1024;

export const isForm = (contentType: string | undefined): contentType is string =>
  contentType !== undefined && /^multipart\/form-data\s*(;|$)/i.test(contentType);

/** Reads `multipart/form-data`, fields and files in any order. */
export async function parseForm(bytes: Buffer, contentType: string): Promise<Form> {
  const type = formTypeOf(contentType);
  if (type === null) throw malformed('It has no boundary.');
  const parts = partsIn(bytes, type.boundary);
  // The parser would read the rest of its slice before it stops.
  if (parts > MOST_PARTS) throw malformed(`It may have at most ${MOST_PARTS} parts.`);
  try {
    const parser = new Busboy({
      headers: { 'content-type': type.contentType },
      preservePath: true,
      isPartAFile: (_field, _type, fileName) => fileName !== undefined,
      limits: { headerSize: MOST_HEAD_BYTES, fieldSize: MOST_FIELD_BYTES },
    });
    const form = collect(parser);
    await pipeline(Readable.from(slicesOf(bytes)), parser);
    const { fields, files } = form();
    if (fields.length + files.length === parts) return { fields, files };
    throw malformed('A part of it has no header of a usable kind and length.');
  } catch (error) {
    throw error instanceof Fault ? error : malformed('It ends in the middle of a part.');
  }
}

/** The fields by name; one whose name ends in `[]` may stand there several times and is a list. */
export function fieldsOf({ fields }: Form): Readonly<Record<string, string | readonly string[]>> {
  const named = new Map<string, string | string[]>();
  for (const [name, value] of fields) {
    const before = named.get(name);
    if (Array.isArray(before)) before.push(value);
    else if (before === undefined) named.set(name, name.endsWith('[]') ? [value] : value);
    else throw fault('invalid_request', { param: name, message: `${name} stands in the form twice.` });
  }
  return Object.fromEntries(named);
}

/** The same bytes for the same form: clients that repeat a request draw another boundary. */
export function withoutBoundary({ fields, files }: Form): Buffer {
  const heads = files.map(({ field, name, type, bytes }) => [field, name, type, bytes.length]);
  return Buffer.concat([Buffer.from(JSON.stringify([fields, heads])), ...files.map(({ bytes }) => bytes)]);
}

/**
 * Parts are counted apart, no further than needed: the parser passes over parts that it cannot read, and none may be
 * lost.
 */
function partsIn(bytes: Buffer, boundary: string): number {
  const line = Buffer.from(`\r\n--${boundary}`);
  const bare = line.subarray(2);
  let count = bytes.subarray(0, bare.length).equals(bare) ? 1 : 0;
  for (let at = bytes.indexOf(line); at !== -1 && count <= MOST_PARTS + 1; count += 1)
    at = bytes.indexOf(line, at + line.length);
  // The last one ends the form.
  return count - 1;
}

async function* slicesOf(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
    yield bytes.subarray(at, at + SLICE_BYTES);
    await new Promise(setImmediate);
  }
}

/** The parser collects the fields and files; the form is asked for once it is done. */
function collect(parser: BusboyInstance): () => Form {
  const fields: [string, string][] = [];
  const files: (Omit<FormFile, 'bytes'> & { readonly pieces: Buffer[] })[] = [];
  parser.on('field', (field, value, _nameCut, isCut) => {
    const problem = problemOf(field) ?? (isCut ? tooLong(field) : null);
    if (problem === null) fields.push([field, value]);
    else parser.destroy(problem);
  });
  parser.on('file', (field, stream, name, _encoding, type) => {
    const pieces: Buffer[] = [];
    stream.on('data', (piece: Buffer) => pieces.push(piece));
    // The parser reports the same itself.
    stream.on('error', () => undefined);
    const problem = problemOf(field);
    if (problem === null) files.push({ field, name: unescaped(name), type: fileType(type), pieces });
    else parser.destroy(problem);
  });
  return () => ({
    fields,
    files: files.map(({ pieces, ...file }) => ({ ...file, bytes: Buffer.concat(pieces) })),
  });
}

/** Names are flat: neither paths into objects nor what every object has already. */
function problemOf(name: string | undefined): Fault | null {
  if (name === undefined) return malformed('A part of it has no name.');
  if (/^[a-z][a-z0-9_-]{0,63}(\[\])?$/i.test(name) && !(name.replace('[]', '') in {})) return null;
  const param = name.slice(0, 64);
  return fault('invalid_request', { param, message: 'This is not a name that a field of a form can have.' });
}

function tooLong(field: string): Fault {
  const most = MOST_FIELD_BYTES.toLocaleString('en');
  return fault('request_too_large', { param: field, message: `${field} may have at most ${most} bytes.` });
}

/** The parser reports `text/plain` where the caller named no type. */
const fileType = (type: string): string => (type === 'text/plain' ? 'application/octet-stream' : type);

/** Browsers write these as `%22`, `%0D` and `%0A`. */
const unescaped = (name: string): string =>
  name.replaceAll('%22', '"').replaceAll('%0D', '\r').replaceAll('%0A', '\n');

const malformed = (reason: string): Fault =>
  fault('invalid_request', { message: `The body is not a well-formed multipart form. ${reason}` });
