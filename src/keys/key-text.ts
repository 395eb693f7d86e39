import { createHmac, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

/**
 * Format of a key: `svc_` + public id (8) + secret (43) + checksum (6), all base 62. The public id finds the row, the
 * secret is 32 random bytes, and the checksum rejects typing errors and scanners without a lookup.
 */
const PREFIX = 'svc_';
const PUBLIC_ID_LENGTH = 8;
const SECRET_LENGTH = 43;
const CHECKSUM_LENGTH = 6;
export const KEY_LENGTH = PREFIX.length + PUBLIC_ID_LENGTH + SECRET_LENGTH + CHECKSUM_LENGTH;
const pattern = /^svc_[0-9A-Za-z]{57}$/;
const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

export interface GeneratedKey {
  readonly publicId: string;
  readonly text: string;
}

export function generateKey(publicId = newPublicId()): GeneratedKey {
  const body = publicId + randomText(SECRET_LENGTH);
  return { publicId, text: PREFIX + body + checksumOf(body) };
}

export function publicIdOf(text: string): string | null {
  if (!pattern.test(text)) return null;
  const body = text.slice(PREFIX.length, -CHECKSUM_LENGTH);
  return text.endsWith(checksumOf(body)) ? body.slice(0, PUBLIC_ID_LENGTH) : null;
}

export const hashKey = (pepper: string, text: string): Buffer =>
  createHmac('sha256', pepper).update(text).digest();

export const maskKey = (publicId: string): string => `${PREFIX}${publicId}…`;

/** Contains at least one letter, because older portal links identify keys by number or by this id. */
function newPublicId(): string {
  const id = randomText(PUBLIC_ID_LENGTH);
  return /\D/.test(id) ? id : newPublicId();
}

function randomText(length: number): string {
  let text = '';
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      // 248 is the largest multiple of 62 in a byte: greater values would favour the first digits.
      if (byte < 248 && text.length < length) text += digits[byte % 62];
    }
  }
  return text;
}

export function checksumOf(body: string): string {
  let rest = crc32(body);
  let text = '';
  for (let position = 0; position < CHECKSUM_LENGTH; position += 1) {
    text = digits.charAt(rest % 62) + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}
