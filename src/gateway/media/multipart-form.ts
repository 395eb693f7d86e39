import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Busboy, type BusboyInstance } from '@fastify/busboy';
import { Fault, fault } from '../../kernel';
import { formTypeOf } from '../../platform';
import type { CallFormFile } from '../../routing';

export interface MultipartForm {
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly files: readonly CallFormFile[];
}

const MAX_PARTS = 64;
const MAX_HEADER_BYTES = 4 * 1024;
const MAX_FIELD_BYTES = 64 * 1024;
/** Bytes parsed before other requests get their turn. */
const SLICE_BYTES = 1024 * 1024;

export const isForm = (contentType: string | undefined): contentType is string =>
  contentType !== undefined && /^multipart\/form-data\s*(;|$)/i.test(contentType);

export async function parseForm(bytes: Buffer, contentType: string): Promise<MultipartForm> {
  const formType = formTypeOf(contentType);
  if (formType === null) throw malformedFormError('It has no boundary.');
  const parts = countParts(bytes, formType.boundary);
  // Checked first, as the parser reads the rest of its slice before it stops.
  if (parts > MAX_PARTS) throw malformedFormError(`It may have at most ${MAX_PARTS} parts.`);
  try {
    const parser = new Busboy({
      headers: { 'content-type': formType.contentType },
      preservePath: true,
      isPartAFile: (_field, _type, fileName) => fileName !== undefined,
      limits: { headerSize: MAX_HEADER_BYTES, fieldSize: MAX_FIELD_BYTES },
    });
    const form = collect(parser);
    await pipeline(Readable.from(slicesOf(bytes)), parser);
    const { fields, files } = form();
    if (fields.length + files.length === parts) return { fields, files };
    throw malformedFormError('A part of it has no header of a usable kind and length.');
  } catch (error) {
    throw error instanceof Fault ? error : malformedFormError('It ends in the middle of a part.');
  }
}

/** Fields by name; a name that ends in `[]` can be repeated and becomes a list. */
export function fieldsOf({ fields }: MultipartForm): Readonly<Record<string, string | readonly string[]>> {
  const named = new Map<string, string | string[]>();
  for (const [name, value] of fields) {
    const existing = named.get(name);
    if (Array.isArray(existing)) existing.push(value);
    else if (existing === undefined) named.set(name, name.endsWith('[]') ? [value] : value);
    else throw fault('invalid_request', { param: name, message: `${name} stands in the form twice.` });
  }
  return Object.fromEntries(named);
}

/** Canonical bytes of a form, as clients choose a new boundary for every retry. */
export function withoutBoundary({ fields, files }: MultipartForm): Buffer {
  const heads = files.map(({ field, name, type, bytes }) => [field, name, type, bytes.length]);
  return Buffer.concat([Buffer.from(JSON.stringify([fields, heads])), ...files.map(({ bytes }) => bytes)]);
}

/** Counts parts independently, as the parser skips those it cannot read and none may be lost. */
function countParts(bytes: Buffer, boundary: string): number {
  const delimiter = Buffer.from(`\r\n--${boundary}`);
  const firstDelimiter = delimiter.subarray(2);
  let count = bytes.subarray(0, firstDelimiter.length).equals(firstDelimiter) ? 1 : 0;
  for (let at = bytes.indexOf(delimiter); at !== -1 && count <= MAX_PARTS + 1; count += 1)
    at = bytes.indexOf(delimiter, at + delimiter.length);
  return count - 1;
}

async function* slicesOf(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
    yield bytes.subarray(at, at + SLICE_BYTES);
    await new Promise(setImmediate);
  }
}

function collect(parser: BusboyInstance): () => MultipartForm {
  const fields: [string, string][] = [];
  const files: (Omit<CallFormFile, 'bytes'> & { readonly pieces: Buffer[] })[] = [];
  parser.on('field', (field, value, _nameCut, isCut) => {
    const problem = nameProblem(field) ?? (isCut ? fieldTooLargeError(field) : null);
    if (problem === null) fields.push([field, value]);
    else parser.destroy(problem);
  });
  parser.on('file', (field, stream, name, _encoding, type) => {
    const pieces: Buffer[] = [];
    stream.on('data', (piece: Buffer) => pieces.push(piece));
    // The parser reports the same error.
    stream.on('error', () => undefined);
    const problem = nameProblem(field);
    if (problem === null) files.push({ field, name: unescapeFileName(name), type: fileType(type), pieces });
    else parser.destroy(problem);
  });
  return () => ({
    fields,
    files: files.map(({ pieces, ...file }) => ({ ...file, bytes: Buffer.concat(pieces) })),
  });
}

/** Names must not be paths into objects, nor properties that every object has. */
function nameProblem(name: string | undefined): Fault | null {
  if (name === undefined) return malformedFormError('A part of it has no name.');
  if (/^[a-z][a-z0-9_-]{0,63}(\[\])?$/i.test(name) && !(name.replace('[]', '') in {})) return null;
  const param = name.slice(0, 64);
  return fault('invalid_request', { param, message: 'This is not a name that a field of a form can have.' });
}

function fieldTooLargeError(field: string): Fault {
  const maxBytes = MAX_FIELD_BYTES.toLocaleString('en');
  return fault('request_too_large', {
    param: field,
    message: `${field} may have at most ${maxBytes} bytes.`,
  });
}

/** The parser reports `text/plain` if the caller named no type. */
const fileType = (type: string): string => (type === 'text/plain' ? 'application/octet-stream' : type);

/** Browsers escape these characters as `%22`, `%0D` and `%0A`. */
const unescapeFileName = (name: string): string =>
  name.replaceAll('%22', '"').replaceAll('%0D', '\r').replaceAll('%0A', '\n');

const malformedFormError = (reason: string): Fault =>
  fault('invalid_request', { message: `The body is not a well-formed multipart form. ${reason}` });
