import { mpegSeconds } from './mpeg-frames';
import { FASTEST_SAMPLES, LEAST_RATE } from './sound-codecs';

/** Whole bytes of a sample: PCM, numbers with a point, and the two laws of telephones. */
const PLAIN = new Set([1, 3, 6, 7]);
/** Bits of a packed sample, by the code of its format: two kinds of ADPCM, and GSM as Microsoft packs it. */
const packedBits: Readonly<Record<number, number>> = { 0x02: 4, 0x11: 4, 0x31: (65 * 8) / 320 };
const MPEG = new Set([0x50, 0x55]);
/** Other streams that decoders recognise in plain samples: bursts of IEC 61937, and DTS. */
const DISGUISES = ['72f81f4e', 'f8724e1f', '7ffe8001', 'fe7f0180', '1fffe800', 'ff1f00e8'].map((mark) =>
  Buffer.from(mark, 'hex'),
);
const SEARCHED = 64 * 1024;
const MOST_CHUNKS = 64;

interface SampleFormat {
  readonly code: number;
  /** It is in bytes a second; zero where the format does not fix them. */
  readonly rate: number;
}

/** Samples take a fixed number of bytes a second, and decoders go on behind those that the head tells of. */
export function wavSeconds(file: Buffer): number {
  let format: SampleFormat | null = null;
  for (let at = 12, chunks = 0; at + 8 <= file.length && chunks < MOST_CHUNKS; chunks += 1) {
    const id = file.toString('latin1', at, at + 4);
    const size = file.readUInt32LE(at + 4);
    if (id === 'fmt ' && at + 24 <= file.length) {
      // Decoders take the first or the last of them.
      if (format !== null) return Infinity;
      format = formatAt(file, at + 8, size);
    } else if (id === 'data' && format !== null) return secondsOf(file.subarray(at + 8), format);
    at += 8 + size + (size % 2);
  }
  return file.length / LEAST_RATE;
}

function formatAt(file: Buffer, at: number, size: number): SampleFormat {
  const isExtended = file.readUInt16LE(at) === 0xfffe && size >= 26 && at + 26 <= file.length;
  const code = file.readUInt16LE(isExtended ? at + 24 : at);
  const [channels, samples, bits] = [
    file.readUInt16LE(at + 2),
    file.readUInt32LE(at + 4),
    file.readUInt16LE(at + 14),
  ];
  const plain = PLAIN.has(code) ? Math.ceil((channels * bits) / 8) : undefined;
  const bytes = plain ?? (channels * (packedBits[code] ?? 0)) / 8;
  return { code, rate: Math.min(FASTEST_SAMPLES, samples * bytes) };
}

function secondsOf(sound: Buffer, { code, rate }: SampleFormat): number {
  if (MPEG.has(code)) return mpegSeconds(sound);
  const start = sound.subarray(0, SEARCHED);
  const isDisguised = code === 1 && DISGUISES.some((mark) => start.includes(mark));
  return sound.length / (rate > 0 && !isDisguised ? rate : LEAST_RATE);
}
