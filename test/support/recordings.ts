/** Recordings with the heads of their formats and silence, or nothing to be heard at all, inside. */

export function wavOf({
  seconds,
  dataSize,
  claimedRate,
}: {
  readonly seconds: number;
  readonly dataSize?: number;
  readonly claimedRate?: number;
}): Buffer {
  const rate = 8_000;
  const samples = Buffer.alloc(Math.round(seconds * rate) * 2);
  const head = Buffer.alloc(44);
  head.write('RIFF', 0, 'latin1');
  head.writeUInt32LE(36 + samples.length, 4);
  head.write('WAVEfmt ', 8, 'latin1');
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(claimedRate ?? rate, 24);
  head.writeUInt32LE(rate * 2, 28);
  head.writeUInt16LE(2, 32);
  head.writeUInt16LE(16, 34);
  head.write('data', 36, 'latin1');
  head.writeUInt32LE(dataSize ?? samples.length, 40);
  return Buffer.concat([head, samples]);
}

/** Frames of 128 kbit/s at 44.1 kHz; `told` is how many a first frame claims there are. */
export function mp3Of({ frames, told }: { readonly frames: number; readonly told?: number }): Buffer {
  const one = Buffer.alloc(417);
  one.writeUInt32BE(0xfffb9000);
  const first = Buffer.from(one);
  if (told !== undefined) {
    first.write('Xing', 36, 'latin1');
    first.writeUInt32BE(1, 40);
    first.writeUInt32BE(told, 44);
  }
  return Buffer.concat([first, ...Array.from({ length: frames - 1 }, () => one)]);
}

interface Sized {
  readonly seconds: number;
  readonly bytes: number;
}

export function flacOf({ seconds, bytes }: Sized): Buffer {
  const file = Buffer.alloc(bytes);
  file.write('fLaC', 0, 'latin1');
  file.writeUIntBE((44_100 << 4) >>> 0, 18, 3);
  const samples = seconds * 44_100;
  file.writeUInt8(Math.floor(samples / 2 ** 32) & 0x0f, 21);
  file.writeUInt32BE(samples % 2 ** 32, 22);
  return file;
}

export function oggOf({ seconds, bytes }: Sized): Buffer {
  const file = Buffer.alloc(bytes);
  file.write('OggS', 0, 'latin1');
  file.write('OpusHead', 28, 'latin1');
  const last = bytes - 64;
  file.write('OggS', last, 'latin1');
  file.writeBigInt64LE(BigInt(seconds * 48_000), last + 6);
  return file;
}

/** With a table of `frames` samples where it is given, each of one byte. */
export function mp4Of({ seconds, bytes, frames }: Sized & { readonly frames?: number }): Buffer {
  const file = Buffer.alloc(bytes);
  file.writeUInt32BE(24, 0);
  file.write('ftypM4A ', 4, 'latin1');
  file.write('mvhd', 40, 'latin1');
  file.writeUInt32BE(1_000, 56);
  file.writeUInt32BE(Math.round(seconds * 1_000), 60);
  if (frames === undefined) return file;
  file.write('mp4a', 100, 'latin1');
  file.writeUInt16BE(48_000, 128);
  file.write('stsz', 150, 'latin1');
  file.writeUInt32BE(1, 158);
  file.writeUInt32BE(frames, 162);
  return file;
}
