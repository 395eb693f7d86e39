/** Recordings with valid format headers, containing silence or no audio. */

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

/** Frames of 128 kbit/s at 44.1 kHz; `claimedFrames` is the frame count in the Xing header. */
export function mp3Of({
  frames,
  claimedFrames,
}: {
  readonly frames: number;
  readonly claimedFrames?: number;
}): Buffer {
  const frame = Buffer.alloc(417);
  frame.writeUInt32BE(0xfffb9000);
  const first = Buffer.from(frame);
  if (claimedFrames !== undefined) {
    first.write('Xing', 36, 'latin1');
    first.writeUInt32BE(1, 40);
    first.writeUInt32BE(claimedFrames, 44);
  }
  return Buffer.concat([first, ...Array.from({ length: frames - 1 }, () => frame)]);
}
