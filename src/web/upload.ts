import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Busboy } from '@fastify/busboy';
import { Fault } from '../kernel';
import { formTypeOf } from '../platform';
import { unreadable } from './unreadable';

const MOST_PARTS = 64;
const MOST_FIELD_BYTES = 8 * 1024 * 1024;

/**
 * A form with files, each of them as the text it holds, a picture as its `data:` address. An empty file field is one that was left open. A field stands
 * there once: lists are for forms without files.
 */
export async function readUpload(bytes: Buffer, contentType: string): Promise<Record<string, string>> {
  const form = Object.create(null) as Record<string, string>;
  const type = formTypeOf(contentType);
  if (type === null) throw unreadable('The form cannot be read: it has no boundary.');
  try {
    const parser = new Busboy({
      headers: { 'content-type': type.contentType },
      limits: { parts: MOST_PARTS, fieldSize: MOST_FIELD_BYTES, headerSize: 4_096 },
    });
    const keep = (name: string, value: string): void => {
      if (name in form) parser.destroy(unreadable(`${name} stands in the form twice.`));
      else form[name] = value;
    };
    parser.on('field', keep);
    parser.on('file', (name, stream, _fileName, _encoding, fileType) => {
      const pieces: Buffer[] = [];
      stream.on('data', (piece: Buffer) => pieces.push(piece));
      // The parser reports the same itself.
      stream.on('error', () => undefined);
      stream.on('end', () => {
        const bytes = Buffer.concat(pieces);
        const isImage = fileType.startsWith('image/');
        keep(name, isImage ? `data:${fileType};base64,${bytes.toString('base64')}` : bytes.toString('utf8'));
      });
    });
    parser.on('partsLimit', () => {
      parser.destroy(unreadable(`A form has at most ${MOST_PARTS} parts.`));
    });
    await pipeline(Readable.from([bytes]), parser);
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw unreadable('The form cannot be read: it ends in the middle of a part.');
  }
  return form;
}
