import { fault, type Fault } from '../../kernel';
import type { FormFile } from '../../routing';

/** A form as it was sent, every part once, in the order it came in. */
export interface Form {
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly files: readonly FormFile[];
}

const MOST_PARTS = 64;
const MOST_HEAD_BYTES = 4 * 1024;
const MOST_FIELD_BYTES = 64 * 1024;

const line = Buffer.from('\r\n');
const headEnd = Buffer.from('\r\n\r\n');

export const isForm = (contentType: string | undefined): contentType is string =>
  contentType !== undefined && /^multipart\/form-data\s*(;|$)/i.test(contentType);

/**
 * Reads `multipart/form-data`, fields and files in any order. A file is a view of the bytes that came, so that a large
 * one costs a search for the next boundary and no copy; the platform's own reader holds up everybody else for a tenth
 * of a second over 25 MB, and puts no bound on how many parts it makes.
 */
export function parseForm(bytes: Buffer, contentType: string): Form {
  const boundary = /;\s*boundary=(?:"([^"]{1,70})"|([^\s;,"]{1,70}))/i.exec(contentType);
  if (boundary === null) throw malformed('Its content type names no boundary.');
  const marker = Buffer.from(`\r\n--${boundary[1] ?? boundary[2]}`);
  const fields: [string, string][] = [];
  const files: FormFile[] = [];
  let at = behindFirst(bytes, marker);
  for (let parts = 0; !isLast(bytes, at); parts += 1) {
    if (parts === MOST_PARTS) throw malformed(`It may have at most ${MOST_PARTS} parts.`);
    const { head, start } = headAt(bytes, at);
    const next = bytes.indexOf(marker, start);
    if (next === -1) throw malformed('It ends in the middle of a part.');
    addPart(head, bytes.subarray(start, next), fields, files);
    at = next + marker.length;
  }
  return { fields, files };
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

/** The first boundary has no line end before it, unless something was written in front of the form. */
function behindFirst(bytes: Buffer, marker: Buffer): number {
  const bare = marker.subarray(line.length);
  if (bytes.subarray(0, bare.length).equals(bare)) return bare.length;
  const found = bytes.indexOf(marker);
  if (found === -1) throw malformed('Its boundary does not occur in it.');
  return found + marker.length;
}

const isLast = (bytes: Buffer, at: number): boolean => bytes.toString('latin1', at, at + 2) === '--';

function headAt(bytes: Buffer, at: number): { head: string; start: number } {
  const window = bytes.subarray(at, at + MOST_HEAD_BYTES);
  const end = window.indexOf(headEnd);
  const head = window.toString('utf8', 0, Math.max(0, end));
  if (!/^[ \t]*\r\n/.test(head)) throw malformed('A part of it has no header of a usable length.');
  if (/\r(?!\n)|(?<!\r)\n/.test(head)) throw malformed('A header of it has a line end of another kind.');
  return { head, start: at + end + headEnd.length };
}

function addPart(head: string, bytes: Buffer, fields: [string, string][], files: FormFile[]): void {
  const disposition = /^form-data[ \t]*(;.*)$/is.exec(header(head, 'content-disposition') ?? '')?.[1] ?? '';
  const field = nameOf(parameter(disposition, 'name'));
  const name = fileName(disposition);
  if (name !== undefined) {
    const type = header(head, 'content-type');
    files.push({ field, name, type: type || 'application/octet-stream', bytes });
    return;
  }
  if (bytes.length > MOST_FIELD_BYTES) {
    const most = MOST_FIELD_BYTES.toLocaleString('en');
    throw fault('request_too_large', { param: field, message: `${field} may have at most ${most} bytes.` });
  }
  fields.push([field, bytes.toString('utf8')]);
}

/** Only the form's own line ends divide it: to a pattern, U+2028 in a file's name would end the line as well. */
function header(head: string, name: string): string | undefined {
  const written = head.split('\r\n').find((text) => text.toLowerCase().startsWith(`${name}:`));
  return written?.slice(name.length + 1).trim();
}

/** Flat names only: neither paths into objects nor what every object has already. */
function nameOf(name: string | undefined): string {
  if (name === undefined) throw malformed('A part of it has no name.');
  if (/^[a-z][a-z0-9_-]{0,63}(\[\])?$/i.test(name) && !(name.replace('[]', '') in {})) return name;
  const param = name.slice(0, 64);
  throw fault('invalid_request', { param, message: 'This is not a name that a field of a form can have.' });
}

function fileName(disposition: string): string | undefined {
  const extended = parameter(disposition, 'filename*')?.match(/^utf-8'[^']*'(.*)$/is)?.[1];
  return (extended === undefined ? undefined : decoded(extended)) ?? parameter(disposition, 'filename');
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function parameter(disposition: string, wanted: string): string | undefined {
  for (const [, name, quoted, plain] of disposition.matchAll(
    /;[ \t]*([\w*-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))/gs,
  )) {
    if (name?.toLowerCase() === wanted) return quoted === undefined ? plain : unescaped(quoted);
  }
  return undefined;
}

/** Quotes come as `%22` from browsers and behind a backslash from older tools. */
const unescaped = (text: string): string =>
  text.replaceAll('\\"', '"').replaceAll('%22', '"').replaceAll('%0D', '\r').replaceAll('%0A', '\n');

const malformed = (reason: string): Fault =>
  fault('invalid_request', { message: `The body is not a well-formed multipart form. ${reason}` });
