import { COUNT_CAP } from '../../kernel';
import { aacSeconds, isAacFrame } from './aac-frames';
import { secondsOfFlacFrames } from './flac-frames';
import { matroskaSeconds } from './matroska';
import { mp4Seconds } from './mp4';
import { isMpegStart, mpegSeconds } from './mpeg-frames';
import { oggSeconds } from './ogg-packets';
import { LEAST_RATE } from './sound-codecs';
import { wavSeconds } from './wav';

/** The first bytes tell the kind of a recording: names and types are the caller's to choose. */
export type AudioKind = 'wav' | 'mp3' | 'aac' | 'mp4' | 'flac' | 'ogg' | 'webm';

export interface AudioLength {
  /** No recording of so many bytes, frames or packets is longer: what is held for. */
  readonly boundMs: number;
  /** A decoder plays so much, which is charged when the supplier reports no usage. */
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

/** The least bytes a second that are held for: speech takes no less, and what is counted may be more. */
const leastRates: Readonly<Record<AudioKind, number>> = {
  ...{ wav: 750, mp3: 1_000, aac: 1_000, mp4: 750, flac: 1_000, ogg: 750, webm: 750 },
};

/**
 * Frames, packets and samples tell the length of a recording. The claim of a head makes no answer free: no
 * decoder needs it. Where they cannot be counted, the bytes count at the least rate of a codec.
 */
export function audioLengthOf(kind: AudioKind, file: Buffer): AudioLength {
  const sound = withoutTags(file);
  const counted = readers[kind](sound);
  const estimate = counted > 0 ? counted : file.length / LEAST_RATE;
  // Plain samples take a fixed number of bytes a second: length and bound are the same.
  const bound = kind === 'wav' ? estimate : Math.max(estimate, file.length / leastRates[kind]);
  return { boundMs: milliseconds(bound), estimateMs: milliseconds(estimate) };
}

/** Sums of fractions may be so far beside the truth. */
const FRACTION = 1e-6;

const milliseconds = (seconds: number): number =>
  Math.min(COUNT_CAP, Math.max(1, Math.ceil(seconds * 1_000 - FRACTION)));

const readers: Readonly<Record<AudioKind, (sound: Buffer) => number>> = {
  wav: wavSeconds,
  mp3: mpegSeconds,
  aac: aacSeconds,
  mp4: mp4Seconds,
  flac: (file) => (file.length < 26 ? 0 : secondsOfFlacFrames(file, file.readUIntBE(18, 3) >> 4)),
  ogg: oggSeconds,
  webm: matroskaSeconds,
};

const TAG_HEAD = 10;

/** A recording of any kind may begin with tags of ID3, which decoders skip. */
function withoutTags(file: Buffer): Buffer {
  let start = 0;
  while (file.toString('latin1', start, start + 3) === 'ID3' && start + TAG_HEAD <= file.length) {
    const size = [6, 7, 8, 9].reduce((sum, at) => sum * 128 + ((file[start + at] ?? 0) & 0x7f), 0);
    const footer = ((file[start + 5] ?? 0) & 0x10) === 0 ? 0 : TAG_HEAD;
    start += TAG_HEAD + size + footer;
  }
  return start === 0 ? file : file.subarray(start);
}
