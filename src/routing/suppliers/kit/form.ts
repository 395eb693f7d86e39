import { randomBytes } from 'node:crypto';
import { ByteParts } from '../../../kernel';
import type { FormCallBody, CallFormFile } from './style';

export interface EncodedForm {
  readonly contentType: string;
  readonly bytes: ByteParts;
}

/**
 * Writes a form from its parsed parts. If the caller's bytes were forwarded, two parsers could read the same form
 * differently.
 */
export function encodeForm({ fields, files }: Omit<FormCallBody, 'kind'>): EncodedForm {
  const boundary = `svc-${randomBytes(18).toString('hex')}`;
  const parts: Buffer[] = [];
  for (const [name, value] of fields)
    parts.push(Buffer.from(`${partHeader(boundary, name)}\r\n\r\n${value}\r\n`));
  for (const file of files)
    parts.push(Buffer.from(filePartHeader(boundary, file)), file.bytes, Buffer.from('\r\n'));
  parts.push(Buffer.from(`--${boundary}--\r\n`));
  return { contentType: `multipart/form-data; boundary=${boundary}`, bytes: new ByteParts(parts) };
}

const partHeader = (boundary: string, name: string): string =>
  `--${boundary}\r\nContent-Disposition: form-data; name="${quoted(name)}"`;

const filePartHeader = (boundary: string, { field, name, type }: CallFormFile): string =>
  `${partHeader(boundary, field)}; filename="${quoted(name)}"\r\nContent-Type: ${plainType(type)}\r\n\r\n`;

/** Escapes what would end the value or the line, as browsers do. */
const quoted = (text: string): string =>
  text.replaceAll('\r', '%0D').replaceAll('\n', '%0A').replaceAll('"', '%22');

const plainType = (type: string): string =>
  /^[\w.+-]+\/[\w.+-]+(?:; ?[\w-]+=[\w-]+)*$/.test(type) ? type : 'application/octet-stream';
