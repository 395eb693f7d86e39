import { randomBytes } from 'node:crypto';
import { Pieces } from '../../../kernel';
import type { FormBody, FormFile } from './style';

export interface EncodedForm {
  readonly contentType: string;
  readonly bytes: Pieces;
}

/**
 * Writes a form anew from its parsed parts. Forwarding the caller's bytes would let two parsers read one form
 * differently.
 */
export function encodeForm({ fields, files }: Omit<FormBody, 'kind'>): EncodedForm {
  const boundary = `svc-${randomBytes(18).toString('hex')}`;
  const parts: Buffer[] = [];
  for (const [name, value] of fields)
    parts.push(Buffer.from(`${opening(boundary, name)}\r\n\r\n${value}\r\n`));
  for (const file of files)
    parts.push(Buffer.from(fileHead(boundary, file)), file.bytes, Buffer.from('\r\n'));
  parts.push(Buffer.from(`--${boundary}--\r\n`));
  return { contentType: `multipart/form-data; boundary=${boundary}`, bytes: new Pieces(parts) };
}

const opening = (boundary: string, name: string): string =>
  `--${boundary}\r\nContent-Disposition: form-data; name="${quoted(name)}"`;

const fileHead = (boundary: string, { field, name, type }: FormFile): string =>
  `${opening(boundary, field)}; filename="${quoted(name)}"\r\nContent-Type: ${plainType(type)}\r\n\r\n`;

/** It is written as browsers write it: what would end the value or the line is escaped. */
const quoted = (text: string): string =>
  text.replaceAll('\r', '%0D').replaceAll('\n', '%0A').replaceAll('"', '%22');

const plainType = (type: string): string =>
  /^[\w.+-]+\/[\w.+-]+(?:; ?[\w-]+=[\w-]+)*$/.test(type) ? type : 'application/octet-stream';
