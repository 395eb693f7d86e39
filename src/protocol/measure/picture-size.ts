import type { PictureSize } from '#extension';

export type { PictureSize };

/** Enough for the header of most images; the long limit also covers one after a profile and a thumbnail. */
const SHORT_BYTES = 1_536;
const LONG_BYTES = 96 * 1024;

/** The dimensions of an image from the first bytes of its base64 text; null if they cannot be determined. */
export function pictureSizeIn(text: string, start: number): PictureSize | null {
  const head = decode(text, start, SHORT_BYTES);
  if (head === null) return null;
  const size = sizeOf(head);
  if (size !== 'further') return size;
  const longHead = decode(text, start, LONG_BYTES);
  const longSize = longHead === null ? null : sizeOf(longHead);
  return longSize === 'further' ? null : longSize;
}

/** Null if the text is not plain base64: another decoder might see other bytes. */
function decode(text: string, start: number, maxBytes: number): Buffer | null {
  const part = text.slice(start, start + (maxBytes / 3) * 4);
  const bytes = Buffer.from(part, 'base64');
  const padding = part.endsWith('==') ? 2 : part.endsWith('=') ? 1 : 0;
  return bytes.length === Math.floor(((part.length - padding) * 3) / 4) ? bytes : null;
}

type PictureSizeResult = PictureSize | 'further' | null;

function sizeOf(head: Buffer): PictureSizeResult {
  if (head.length < 30) return null;
  if (head.readUInt32BE(0) === 0x89504e47) return pngSize(head);
  if (head.readUInt16BE(0) === 0xffd8) return jpegSize(head);
  const magic = head.toString('latin1', 0, 12);
  if (magic.startsWith('GIF8')) return declaredSize(head.readUInt16LE(6), head.readUInt16LE(8), false);
  return magic.startsWith('RIFF') && magic.endsWith('WEBP') ? webpSize(head) : null;
}

const declaredSize = (width: number, height: number, isBinding: boolean): PictureSize | null =>
  width > 0 && height > 0 ? { width, height, isBinding } : null;

function pngSize(head: Buffer): PictureSize | null {
  const isHeader = head.readUInt32BE(4) === 0x0d0a1a0a && head.toString('latin1', 12, 16) === 'IHDR';
  return isHeader ? declaredSize(head.readUInt32BE(16), head.readUInt32BE(20), true) : null;
}

/** Decoders disagree about which of several frame headers applies, so the largest before the scan is used. */
function jpegSize(head: Buffer): PictureSizeResult {
  let width = 0;
  let height = 0;
  for (let at = 2; ;) {
    if (at + 9 > head.length) return 'further';
    if (head[at] !== 0xff) return null;
    const marker = head[at + 1]!;
    if (marker === 0xff) {
      at += 1;
      continue;
    }
    if (marker === 0xda) return declaredSize(width, height, true);
    if (isFrameHeader(marker)) {
      height = Math.max(height, head.readUInt16BE(at + 5));
      width = Math.max(width, head.readUInt16BE(at + 7));
    }
    at += 2 + head.readUInt16BE(at + 2);
  }
}

/** C0 to CF, except for the table markers among them. */
const isFrameHeader = (marker: number): boolean =>
  marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;

function webpSize(head: Buffer): PictureSize | null {
  switch (head.toString('latin1', 12, 16)) {
    case 'VP8X':
      return declaredSize(head.readUIntLE(24, 3) + 1, head.readUIntLE(27, 3) + 1, true);
    case 'VP8 ':
      return declaredSize(head.readUInt16LE(26) & 0x3fff, head.readUInt16LE(28) & 0x3fff, true);
    case 'VP8L': {
      const bits = head.readUInt32LE(21);
      return head[20] === 0x2f ? declaredSize((bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1, true) : null;
    }
    default:
      return null;
  }
}
