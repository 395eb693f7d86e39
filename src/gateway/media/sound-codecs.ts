import { flacSeconds } from './flac-frames';
import { mpegSeconds } from './mpeg-frames';
import { vorbisPackets } from './vorbis-packets';

export type PacketSeconds = (packet: Buffer) => number;

export interface SoundFormat {
  readonly codec:
    'opus' | 'vorbis' | 'aac' | 'alac' | 'flac' | 'mpeg' | 'amr-nb' | 'amr-wb' | 'samples' | 'other';
  readonly setup: Buffer;
  readonly rate: number;
  readonly bytesPerFrame: number;
}

export const MIN_BYTES_PER_SECOND = 500;
/** Highest rate of plain audio; a header that claims more only makes the recording look short. */
export const MAX_PLAIN_BYTES_PER_SECOND = 6_144_000;

/** Measures packets; null if the codec is unknown or its setup cannot be read. */
export function meterOf({ codec, setup, rate, bytesPerFrame }: SoundFormat): PacketSeconds | null {
  if (codec === 'opus') return opusSeconds;
  if (codec === 'vorbis') return vorbisPackets(setup);
  if (codec === 'aac') return aacPackets(setup);
  if (codec === 'alac') return alacPackets(setup);
  if (codec === 'flac') return flacPackets(setup);
  if (codec === 'mpeg') return mpegSeconds;
  if (codec === 'amr-nb') return amrPackets(narrowBand);
  if (codec === 'amr-wb') return amrPackets(wideBand);
  const bytesPerSecond = Math.min(MAX_PLAIN_BYTES_PER_SECOND, rate * bytesPerFrame);
  if (codec !== 'samples' || !(bytesPerSecond > 0)) return null;
  return ({ length }) => length / bytesPerSecond;
}

const OPUS_RATE = 48_000;
const MAX_OPUS_SAMPLES = 5_760;

/** The first byte gives the frame length, and the number of frames unless the second byte does. */
function opusSeconds(packet: Buffer): number {
  const [first, second = 0] = packet;
  if (first === undefined) return MAX_OPUS_SAMPLES / OPUS_RATE;
  const mode = first >> 3;
  const lengths =
    mode < 12 ? [480, 960, 1_920, 2_880] : mode < 16 ? [480, 960, 480, 960] : [120, 240, 480, 960];
  const frames = [1, 2, 2, second & 63][first & 3] ?? 1;
  return Math.min(MAX_OPUS_SAMPLES, (lengths[mode & 3] ?? 2_880) * frames) / OPUS_RATE;
}

export const aacRates = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350,
];
const MAX_AAC_RATE = 96_000;
/** ISO/IEC 14496-3, 4.5.3: maximum bytes of one channel in one frame. */
export const MAX_AAC_BYTES = 768;
const aacSamples: Readonly<Record<number, number>> = {
  ...{ 1: 1_024, 2: 1_024, 3: 1_024, 4: 1_024, 5: 1_024, 17: 1_024, 19: 1_024, 20: 1_024, 29: 1_024 },
  ...{ 23: 512, 39: 512, 42: 4_096 },
};

/** A packet longer than the maximum frame holds several frames, which decoders play one after the other. */
function aacPackets(setup: Buffer): PacketSeconds | null {
  const bits = bitsOf(setup.subarray(0, 8));
  const take = (count: number): number => Number.parseInt(bits.splice(0, count).join('') || '0', 2);
  const short = take(5);
  const samples = aacSamples[short === 31 ? 32 + take(6) : short];
  const rateIndex = take(4);
  const rate = rateIndex === 15 ? take(24) : (aacRates[rateIndex] ?? 0);
  const channels = take(4) || 2;
  if (samples === undefined || rate === 0) return null;
  const seconds = samples / Math.min(MAX_AAC_RATE, rate);
  return ({ length }) => (length > MAX_AAC_BYTES * channels ? Infinity : seconds);
}

const bitsOf = (bytes: Buffer): string[] =>
  [...bytes].flatMap((byte) => [...byte.toString(2).padStart(8, '0')]);

/** ALAC setup: the maximum samples of a packet first, the sample rate at its end. */
function alacPackets(setup: Buffer): PacketSeconds | null {
  if (setup.length < 24) return null;
  const seconds = setup.readUInt32BE(0) / setup.readUInt32BE(20);
  return Number.isFinite(seconds) ? () => seconds : null;
}

/** The first block of a FLAC stream gives the sample rate for frames that do not. */
function flacPackets(setup: Buffer): PacketSeconds | null {
  if (setup.length < 13) return null;
  const rate = setup.readUIntBE(10, 3) >> 4;
  return (packet) => flacSeconds(packet, rate);
}

/** Bytes per frame by mode, including the first byte (RFC 4867, 3GPP TS 26.101 and 26.201). */
const narrowBand = [13, 14, 16, 18, 20, 21, 27, 32, 6, 7, 6, 6, 1, 1, 1, 1];
const wideBand = [18, 24, 33, 37, 41, 47, 51, 59, 61, 6, 1, 1, 1, 1, 1, 1];
const AMR_SECONDS = 0.02;

const amrPackets =
  (sizes: readonly number[]): PacketSeconds =>
  (packet) => {
    let frames = 0;
    for (let at = 0; at < packet.length; at += sizes[((packet[at] ?? 0) >> 3) & 15] ?? 1) frames += 1;
    return frames * AMR_SECONDS;
  };
