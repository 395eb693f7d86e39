const rates = [
  0, 88_200, 176_400, 192_000, 8_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000,
] as const;

/**
 * The blocks in the heads tell the length of all frames of a FLAC file: no decoder makes more of them. A
 * pattern that looks like the head of a frame by chance is counted too, which its checksum makes rare. `told`
 * is the rate by the head of the file.
 */
export function secondsOfFlacFrames(file: Buffer, told: number): number {
  let seconds = 0;
  for (let at = file.indexOf(0xff); at !== -1; at = file.indexOf(0xff, at + 1)) {
    seconds += flacFrameSeconds(file, at, told);
  }
  return seconds;
}

/** It is zero where no frame begins there. */
function flacFrameSeconds(file: Buffer, at: number, told: number): number {
  if (file[at] !== 0xff || (file[at + 1] ?? 0) >> 1 !== 0x7c) return 0;
  const frame = frameAt(file, at);
  const rate = frame === null ? 0 : Math.min(frame.rate || Infinity, told || Infinity);
  return frame === null || rate === 0 || rate === Infinity ? 0 : frame.samples / rate;
}

function frameAt(file: Buffer, start: number): { readonly samples: number; readonly rate: number } | null {
  const third = file[start + 2] ?? 0;
  const [blockCode, rateCode] = [third >> 4, third & 15];
  const lead = file[start + 4] ?? 0;
  // A number in as many bytes as its first one has leading ones.
  const numberBytes = lead < 0x80 ? 1 : Math.clz32(~(lead << 24));
  let at = start + 4 + numberBytes;
  const next = (bytes: 0 | 1 | 2): number => {
    if (bytes === 0 || at + bytes > file.length) return 0;
    at += bytes;
    return file.readUIntBE(at - bytes, bytes);
  };
  const told = next(blockCode === 6 ? 1 : blockCode === 7 ? 2 : 0) + 1;
  const rateTold = next(rateCode === 12 ? 1 : rateCode === 13 || rateCode === 14 ? 2 : 0);
  if (blockCode === 0 || rateCode === 15 || at >= file.length || checksum(file, start, at) !== file[at])
    return null;
  return { samples: samplesOf(blockCode, told), rate: rateOf(rateCode, rateTold) };
}

function samplesOf(code: number, told: number): number {
  if (code === 6 || code === 7) return told;
  if (code === 1) return 192;
  return code < 6 ? 576 << (code - 2) : 256 << (code - 8);
}

/** It is zero where the head of the file tells it. */
function rateOf(code: number, told: number): number {
  if (code === 12) return told * 1_000;
  if (code === 13) return told;
  return code === 14 ? told * 10 : (rates[code] ?? 0);
}

const CHECKSUMS = Uint8Array.from({ length: 256 }, (_, byte) => {
  let sum = byte;
  for (let bit = 0; bit < 8; bit += 1) sum = sum & 0x80 ? (sum << 1) ^ 0x07 : sum << 1;
  return sum;
});

function checksum(file: Buffer, from: number, to: number): number {
  let sum = 0;
  for (let at = from; at < to; at += 1) sum = CHECKSUMS[sum ^ (file[at] ?? 0)] ?? 0;
  return sum;
}
