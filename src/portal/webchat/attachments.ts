import { isUtf8 } from 'node:buffer';
import type { Attachment } from '../../chat';
import { fault } from '../../kernel';
import type { AttachmentForm } from './webchat.dto';

/** Checks the content of a file, because its name and declared type prove nothing. */
const contentChecks: Readonly<Record<AttachmentForm['type'], (bytes: Buffer) => boolean>> = {
  'image/png': (bytes) => bytes.subarray(0, 8).toString('latin1') === '\x89PNG\r\n\x1a\n',
  'image/jpeg': (bytes) => bytes[0] === 0xff && bytes[1] === 0xd8 && bytes[2] === 0xff,
  'image/gif': (bytes) => /^GIF8[79]a$/.test(bytes.toString('latin1', 0, 6)),
  'image/webp': (bytes) =>
    bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP',
  'text/plain': (bytes) => isUtf8(bytes) && !bytes.includes(0),
};

/** Larger than most models can process at once. */
const MAX_TEXT_BYTES = 500_000;

export const readAttachments = (forms: readonly AttachmentForm[]): Attachment[] =>
  forms.map(({ name, type, data }, index) => {
    const content = Buffer.from(data, 'base64');
    const param = `attachments[${index}]`;
    if (!contentChecks[type](content)) {
      throw fault('invalid_request', {
        param,
        message: `${name} is damaged or of another kind than its name says. Remove it and send the message again.`,
        details: { reason: 'not-this-file', name },
      });
    }
    if (type === 'text/plain' && content.length > MAX_TEXT_BYTES) {
      throw fault('request_too_large', {
        param,
        message: `${name} was not added: a text file may have up to 500 kB.`,
        details: { reason: 'text-too-large', name },
      });
    }
    return { name, mediaType: type, content };
  });
