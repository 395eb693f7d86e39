import { mpegSeconds } from './mpeg-frames';
import { MAX_PLAIN_BYTES_PER_SECOND, MIN_BYTES_PER_SECOND } from './sound-codecs';

/** Formats with whole bytes per sample: PCM, floating point, A-law and µ-law. */
const PLAIN_FORMATS = new Set([1, 3, 6, 7]);
/** Bits per sample of packed formats: two kinds of ADPCM, and GSM as packed by Microsoft. */
const packedBits: Readonly<Record<number, number>> = { 0x02: 4, 0x11: 4, 0x31: (65 * 8) / 320 };
const MPEG_FORMATS = new Set([0x50, 0x55]);
/** Signatures of other streams that decoders recognise in plain samples: IEC 61937 bursts and DTS. */
const EMBEDDED_SIGNATURES = ['72f81f4e', 'f8724e1f', '7ffe8001', 'fe7f0180', '1fffe800', 'ff1f00e8'].map(
  (mark) => Buffer.from(mark, 'hex'),
);
const MAX_SEARCH_BYTES = 64 * 1024;
const MAX_CHUNKS = 64;

interface SampleFormat {
  readonly code: number;
  /** Bytes per second; zero if the format does not fix them. */
  readonly rate: number;
}

/** Length of a WAV file by its bytes, also those beyond the header's size, which decoders play. */
export function wavSeconds(file: Buffer): number {
  let format: SampleFormat | null = null;
  for (let at = 12, chunks = 0; at + 8 <= file.length && chunks < MAX_CHUNKS; chunks += 1) {
    const id = file.toString('latin1', at, at + 4);
    const size = file.readUInt32LE(at + 4);
    if (id === 'fmt ' && at + 24 <= file.length) {
      // Decoders use either the first or the last format chunk.
      if (format !== null) return Infinity;
      format = formatAt(file, at + 8, size);
    } else if (id === 'data' && format !== null) return secondsOf(file.subarray(at + 8), format);
    at += 8 + size + (size % 2);
  }
  return file.length / MIN_BYTES_PER_SECOND;
}

function formatAt(file: Buffer, at: number, size: number): SampleFormat {
  const isExtended = file.readUInt16LE(at) === 0xfffe && size >= 26 && at + 26 <= file.length;
  const code = file.readUInt16LE(isExtended ? at + 24 : at);
  const [channels, samples, bits] = [
    file.readUInt16LE(at + 2),
    file.readUInt32LE(at + 4),
    file.readUInt16LE(at + 14),
  ];
  const plain = PLAIN_FORMATS.has(code) ? Math.ceil((channels * bits) / 8) : undefined;
  const bytes = plain ?? (channels * (packedBits[code] ?? 0)) / 8;
  return { code, rate: Math.min(MAX_PLAIN_BYTES_PER_SECOND, samples * bytes) };
}

function secondsOf(sound: Buffer, { code, rate }: SampleFormat): number {
  if (MPEG_FORMATS.has(code)) return mpegSeconds(sound);
  const start = sound.subarray(0, MAX_SEARCH_BYTES);
  const hasEmbeddedStream = code === 1 && EMBEDDED_SIGNATURES.some((mark) => start.includes(mark));
  return sound.length / (rate > 0 && !hasEmbeddedStream ? rate : MIN_BYTES_PER_SECOND);
}
