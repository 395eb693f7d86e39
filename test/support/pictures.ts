/** Images with valid format headers and no visible content. */

interface Size {
  readonly width: number;
  readonly height: number;
}

export function pngOf({ width, height }: Size, bytes = 200): Buffer {
  const file = Buffer.alloc(bytes);
  file.write('\x89PNG\r\n\x1a\n', 0, 'latin1');
  file.writeUInt32BE(13, 8);
  file.write('IHDR', 12, 'latin1');
  file.writeUInt32BE(width, 16);
  file.writeUInt32BE(height, 20);
  return file;
}

export function gifOf({ width, height }: Size): Buffer {
  const file = Buffer.alloc(60);
  file.write('GIF89a', 0, 'latin1');
  file.writeUInt16LE(width, 6);
  file.writeUInt16LE(height, 8);
  return file;
}

function frameHeader({ width, height }: Size): Buffer {
  const segment = Buffer.alloc(19);
  segment.writeUInt16BE(0xffc0, 0);
  segment.writeUInt16BE(17, 2);
  segment.writeUInt8(8, 4);
  segment.writeUInt16BE(height, 5);
  segment.writeUInt16BE(width, 7);
  return segment;
}

/** Adds `profileBytes` of segments before the frame header, and a thumbnail if requested. */
export function jpegOf({
  profileBytes = 0,
  thumbnail = false,
  smallerFirst = false,
  ...size
}: Size & {
  readonly profileBytes?: number;
  readonly thumbnail?: boolean;
  readonly smallerFirst?: boolean;
}): Buffer {
  const small = frameHeader({ width: 8, height: 8 });
  const segments: Buffer[] = [];
  for (let remaining = profileBytes; remaining > 0; remaining -= 65_000) {
    const segment = Buffer.alloc(Math.min(remaining, 65_000) + 4);
    segment.writeUInt16BE(0xffe1, 0);
    segment.writeUInt16BE(segment.length - 2, 2);
    if (thumbnail) small.copy(segment, 100);
    segments.push(segment);
  }
  const scan = Buffer.from([0xff, 0xda, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0]);
  const frames = smallerFirst ? [small, frameHeader(size)] : [frameHeader(size)];
  return Buffer.concat([Buffer.from([0xff, 0xd8]), ...segments, ...frames, scan, Buffer.alloc(100)]);
}

export function webpOf({ width, height, kind }: Size & { readonly kind: 'VP8 ' | 'VP8L' | 'VP8X' }): Buffer {
  const file = Buffer.alloc(80);
  file.write('RIFF\0\0\0\0WEBP', 0, 'latin1');
  file.write(kind, 12, 'latin1');
  if (kind === 'VP8X') {
    file.writeUIntLE(width - 1, 24, 3);
    file.writeUIntLE(height - 1, 27, 3);
  } else if (kind === 'VP8L') {
    file.writeUInt8(0x2f, 20);
    file.writeUInt32LE(((height - 1) << 14) | (width - 1), 21);
  } else {
    file.writeUInt16LE(width, 26);
    file.writeUInt16LE(height, 28);
  }
  return file;
}
