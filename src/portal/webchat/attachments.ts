import type { Attachment } from '../../chat';
import { fault } from '../../kernel';
import type { AttachmentForm } from './webchat.forms';

/** How the bytes of a picture begin; a name and a declared type prove nothing. */
const beginnings: Readonly<Record<AttachmentForm['type'], (bytes: Buffer) => boolean>> = {
  'image/png': (bytes) => bytes.subarray(0, 8).toString('latin1') === '\x89PNG\r\n\x1a\n',
  'image/jpeg': (bytes) => bytes[0] === 0xff && bytes[1] === 0xd8 && bytes[2] === 0xff,
  'image/gif': (bytes) => /^GIF8[79]a$/.test(bytes.toString('latin1', 0, 6)),
  'image/webp': (bytes) =>
    bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP',
};

export const readAttachments = (forms: readonly AttachmentForm[]): Attachment[] =>
  forms.map(({ name, type, data }, at) => {
    const content = Buffer.from(data, 'base64');
    if (beginnings[type](content)) return { name, mediaType: type, content };
    throw fault('invalid_request', {
      param: `attachments[${at}]`,
      message: `${name} is not the ${type} that it says it is.`,
    });
  });
