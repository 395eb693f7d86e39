import { COUNT_CAP } from '../../kernel';
import { aacSeconds, isAacFrame } from './aac-frames';
import { flacSeconds } from './flac-frames';
import { matroskaSeconds } from './matroska';
import { mp4Seconds } from './mp4';
import { isMpegStart, mpegSeconds } from './mpeg-frames';
import { oggSeconds } from './ogg-packets';
import { MIN_BYTES_PER_SECOND } from './sound-codecs';
import { wavSeconds } from './wav';

/** Detected from the first bytes, as callers choose names and types freely. */
export type AudioKind = 'wav' | 'mp3' | 'aac' | 'mp4' | 'flac' | 'ogg' | 'webm';

export interface AudioLength {
  /** Maximum length of a recording with this many bytes, frames or packets; used for the hold. */
  readonly boundMs: number;
  /** Length that a decoder plays; charged if the supplier reports no usage. */
  readonly estimateMs: number;
}

export function audioKindOf(file: Buffer): AudioKind | null {
  const sound = withoutTags(file);
  const magic = sound.toString('latin1', 0, 12);
  if (magic.startsWith('RIFF') && magic.endsWith('WAVE')) return 'wav';
  if (magic.startsWith('fLaC')) return 'flac';
  if (magic.startsWith('OggS')) return 'ogg';
  if (magic.startsWith('\x1a\x45\xdf\xa3')) return 'webm';
  if (magic.slice(4, 8) === 'ftyp') return 'mp4';
  if (isAacFrame(sound, 0)) return 'aac';
  return sound !== file || isMpegStart(sound) ? 'mp3' : null;
}

const minBytesPerSecond: Readonly<Record<AudioKind, number>> = {
  ...{ wav: 750, mp3: 1_000, aac: 1_000, mp4: 750, flac: 1_000, ogg: 750, webm: 750 },
};

/**
 * Counts frames, packets and samples, or falls back to the size and the codec's minimum rate. Ignores the header's
 * claim, which no decoder needs and which could make a request free.
 */
export function audioLengthOf(kind: AudioKind, file: Buffer): AudioLength {
  const sound = withoutTags(file);
  const counted = readers[kind](sound);
  const estimate = counted > 0 ? counted : file.length / MIN_BYTES_PER_SECOND;
  // Plain samples take fixed bytes per second: length and maximum are the same.
  const bound = kind === 'wav' ? estimate : Math.max(estimate, file.length / minBytesPerSecond[kind]);
  return { boundMs: milliseconds(bound), estimateMs: milliseconds(estimate) };
}

const ROUNDING_TOLERANCE = 1e-6;

const milliseconds = (seconds: number): number =>
  Math.min(COUNT_CAP, Math.max(1, Math.ceil(seconds * 1_000 - ROUNDING_TOLERANCE)));

const readers: Readonly<Record<AudioKind, (sound: Buffer) => number>> = {
  wav: wavSeconds,
  mp3: mpegSeconds,
  aac: aacSeconds,
  mp4: mp4Seconds,
  flac: (file) => (file.length < 26 ? 0 : flacSeconds(file, file.readUIntBE(18, 3) >> 4)),
  ogg: oggSeconds,
  webm: matroskaSeconds,
};

const TAG_HEADER_BYTES = 10;

/** A recording of any kind can start with ID3 tags, which decoders skip. */
function withoutTags(file: Buffer): Buffer {
  let start = 0;
  while (file.toString('latin1', start, start + 3) === 'ID3' && start + TAG_HEADER_BYTES <= file.length) {
    const size = [6, 7, 8, 9].reduce((sum, at) => sum * 128 + ((file[start + at] ?? 0) & 0x7f), 0);
    const footer = ((file[start + 5] ?? 0) & 0x10) === 0 ? 0 : TAG_HEADER_BYTES;
    start += TAG_HEADER_BYTES + size + footer;
  }
  return start === 0 ? file : file.subarray(start);
}
