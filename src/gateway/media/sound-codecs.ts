import { secondsOfFlacFrames } from './flac-frames';
import { mpegSeconds } from './mpeg-frames';
import { vorbisPackets } from './vorbis-packets';

/** A decoder makes at most so many seconds of one packet. */
export type PacketSeconds = (packet: Buffer) => number;

/** A container describes its sound in names that all containers share. */
export interface SoundFormat {
  readonly codec:
    'opus' | 'vorbis' | 'aac' | 'alac' | 'flac' | 'mpeg' | 'amr-nb' | 'amr-wb' | 'samples' | 'other';
  /** The decoder is set up with these bytes, which a container keeps as they came. */
  readonly setup: Buffer;
  readonly rate: number;
  /** It counts plain samples, all channels together. */
  readonly bytesPerFrame: number;
}

/** The fewest bytes a second of a codec that is not known here. */
export const LEAST_RATE = 500;
/** The fastest plain sound there is: a head that claims more only wants to look short. */
export const FASTEST_SAMPLES = 6_144_000;

/** A meter of packets; null where the codec is not known, or its set-up cannot be read. */
export function meterOf({ codec, setup, rate, bytesPerFrame }: SoundFormat): PacketSeconds | null {
  if (codec === 'opus') return opusSeconds;
  if (codec === 'vorbis') return vorbisPackets(setup);
  if (codec === 'aac') return aacPackets(setup);
  if (codec === 'alac') return alacPackets(setup);
  if (codec === 'flac') return flacPackets(setup);
  if (codec === 'mpeg') return mpegSeconds;
  if (codec === 'amr-nb') return amrPackets(narrowBand);
  if (codec === 'amr-wb') return amrPackets(wideBand);
  const bytesPerSecond = Math.min(FASTEST_SAMPLES, rate * bytesPerFrame);
  if (codec !== 'samples' || !(bytesPerSecond > 0)) return null;
  return ({ length }) => length / bytesPerSecond;
}

const OPUS_RATE = 48_000;
/** So much a packet of Opus holds at most: 120 milliseconds. */
const MOST_OPUS_SAMPLES = 5_760;

/** The first byte tells how long a frame is, and how many there are unless the second one does. */
function opusSeconds(packet: Buffer): number {
  const [first, second = 0] = packet;
  if (first === undefined) return MOST_OPUS_SAMPLES / OPUS_RATE;
  const mode = first >> 3;
  const lengths =
    mode < 12 ? [480, 960, 1_920, 2_880] : mode < 16 ? [480, 960, 480, 960] : [120, 240, 480, 960];
  const frames = [1, 2, 2, second & 63][first & 3] ?? 1;
  return Math.min(MOST_OPUS_SAMPLES, (lengths[mode & 3] ?? 2_880) * frames) / OPUS_RATE;
}

export const aacRates = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350,
];
const MOST_AAC_RATE = 96_000;
/** ISO/IEC 14496-3, 4.5.3: one channel of one frame takes no more bytes. */
export const MOST_AAC_BYTES = 768;
/** A frame has so many samples by the object type: plain, low delay, and what also speaks. */
const aacSamples: Readonly<Record<number, number>> = {
  ...{ 1: 1_024, 2: 1_024, 3: 1_024, 4: 1_024, 5: 1_024, 17: 1_024, 19: 1_024, 20: 1_024, 29: 1_024 },
  ...{ 23: 512, 39: 512, 42: 4_096 },
};

/** A packet longer than a frame can be holds several, which decoders play one after the other. */
function aacPackets(setup: Buffer): PacketSeconds | null {
  const bits = bitsOf(setup.subarray(0, 8));
  const take = (count: number): number => Number.parseInt(bits.splice(0, count).join('') || '0', 2);
  const short = take(5);
  const samples = aacSamples[short === 31 ? 32 + take(6) : short];
  const place = take(4);
  const rate = place === 15 ? take(24) : (aacRates[place] ?? 0);
  const channels = take(4) || 2;
  if (samples === undefined || rate === 0) return null;
  const seconds = samples / Math.min(MOST_AAC_RATE, rate);
  return ({ length }) => (length > MOST_AAC_BYTES * channels ? Infinity : seconds);
}

const bitsOf = (bytes: Buffer): string[] =>
  [...bytes].flatMap((byte) => [...byte.toString(2).padStart(8, '0')]);

/** The set-up of ALAC: samples of a packet at most, and at its end how many there are a second. */
function alacPackets(setup: Buffer): PacketSeconds | null {
  if (setup.length < 24) return null;
  const seconds = setup.readUInt32BE(0) / setup.readUInt32BE(20);
  return Number.isFinite(seconds) ? () => seconds : null;
}

/** The first block of a FLAC stream says how many samples a second there are, where a frame does not. */
function flacPackets(setup: Buffer): PacketSeconds | null {
  if (setup.length < 13) return null;
  const rate = setup.readUIntBE(10, 3) >> 4;
  return (packet) => secondsOfFlacFrames(packet, rate);
}

/** A frame has so many bytes by its mode, its own first byte among them (RFC 4867, 3GPP TS 26.101 and 26.201). */
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
