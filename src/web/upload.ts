import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Busboy } from '@fastify/busboy';
import { Fault } from '../kernel';
import { formTypeOf } from '../platform';
import { unreadable } from './unreadable';

const MAX_PARTS = 64;
const MAX_FIELD_BYTES = 8 * 1024 * 1024;

/**
 * Reads a form with files: text files as text, images as `data:` addresses, and an empty file field as an empty text. A
 * repeated field is rejected.
 */
export async function readUpload(bytes: Buffer, contentType: string): Promise<Record<string, string>> {
  const form = Object.create(null) as Record<string, string>;
  const type = formTypeOf(contentType);
  if (type === null) throw unreadable('The form cannot be read: it has no boundary.');
  try {
    const parser = new Busboy({
      headers: { 'content-type': type.contentType },
      limits: { parts: MAX_PARTS, fieldSize: MAX_FIELD_BYTES, headerSize: 4_096 },
    });
    const addField = (name: string, value: string): void => {
      if (name in form) parser.destroy(unreadable(`${name} stands in the form twice.`));
      else form[name] = value;
    };
    parser.on('field', addField);
    parser.on('file', (name, stream, _fileName, _encoding, fileType) => {
      const pieces: Buffer[] = [];
      stream.on('data', (piece: Buffer) => pieces.push(piece));
      // Errors of a file stream are reported by the parser.
      stream.on('error', () => undefined);
      stream.on('end', () => {
        const bytes = Buffer.concat(pieces);
        const isImage = fileType.startsWith('image/');
        addField(
          name,
          isImage ? `data:${fileType};base64,${bytes.toString('base64')}` : bytes.toString('utf8'),
        );
      });
    });
    parser.on('partsLimit', () => {
      parser.destroy(unreadable(`A form has at most ${MAX_PARTS} parts.`));
    });
    await pipeline(Readable.from([bytes]), parser);
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw unreadable('The form cannot be read: it ends in the middle of a part.');
  }
  return form;
}
