const rates = [
  0, 88_200, 176_400, 192_000, 8_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000,
] as const;

/**
 * Sums the block sizes in the frame headers of a FLAC file, which no decoder exceeds. A random pattern that looks like
 * a header counts too, but its checksum makes this rare.
 */
export function flacSeconds(file: Buffer, headerRate: number): number {
  let seconds = 0;
  for (let at = file.indexOf(0xff); at !== -1; at = file.indexOf(0xff, at + 1)) {
    seconds += flacFrameSeconds(file, at, headerRate);
  }
  return seconds;
}

/** Zero if no frame starts at this offset. */
function flacFrameSeconds(file: Buffer, at: number, headerRate: number): number {
  if (file[at] !== 0xff || (file[at + 1] ?? 0) >> 1 !== 0x7c) return 0;
  const frame = frameAt(file, at);
  const rate = frame === null ? 0 : Math.min(frame.rate || Infinity, headerRate || Infinity);
  return frame === null || rate === 0 || rate === Infinity ? 0 : frame.samples / rate;
}

function frameAt(file: Buffer, start: number): { readonly samples: number; readonly rate: number } | null {
  const third = file[start + 2] ?? 0;
  const [blockCode, rateCode] = [third >> 4, third & 15];
  const lead = file[start + 4] ?? 0;
  // UTF-8-like coding: the leading ones of the first byte give the number of bytes.
  const numberBytes = lead < 0x80 ? 1 : Math.clz32(~(lead << 24));
  let at = start + 4 + numberBytes;
  const next = (bytes: 0 | 1 | 2): number => {
    if (bytes === 0 || at + bytes > file.length) return 0;
    at += bytes;
    return file.readUIntBE(at - bytes, bytes);
  };
  const blockSize = next(blockCode === 6 ? 1 : blockCode === 7 ? 2 : 0) + 1;
  const rateValue = next(rateCode === 12 ? 1 : rateCode === 13 || rateCode === 14 ? 2 : 0);
  if (blockCode === 0 || rateCode === 15 || at >= file.length || checksum(file, start, at) !== file[at])
    return null;
  return { samples: samplesOf(blockCode, blockSize), rate: rateOf(rateCode, rateValue) };
}

function samplesOf(code: number, blockSize: number): number {
  if (code === 6 || code === 7) return blockSize;
  if (code === 1) return 192;
  return code < 6 ? 576 << (code - 2) : 256 << (code - 8);
}

/** Zero if the file header holds the rate. */
function rateOf(code: number, rateValue: number): number {
  if (code === 12) return rateValue * 1_000;
  if (code === 13) return rateValue;
  return code === 14 ? rateValue * 10 : (rates[code] ?? 0);
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
