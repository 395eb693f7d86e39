import { aacRates, MOST_AAC_BYTES } from './sound-codecs';

/** The checksum is counted as well. */
const FRAME_HEAD = 9;
const AAC_SAMPLES = 1_024;
const LEAST_RATE = 1_000;
const MOST_JUNK = 256 * 1024;

/** Frames of plain AAC begin like those of MP3, and leave their layer at zero. */
export const isAacFrame = (file: Buffer, at: number): boolean =>
  file[at] === 0xff && ((file[at + 1] ?? 0) & 0xf6) === 0xf0;

/** Frames of AAC have a head of their own each; what is none counts by its bytes. */
export function aacSeconds(sound: Buffer): number {
  let seconds = 0;
  let junk = 0;
  let at = 0;
  while (at < sound.length && junk < MOST_JUNK) {
    const [third = 0, fourth = 0, fifth = 0, sixth = 0, seventh = 0] = sound.subarray(at + 2, at + 7);
    const rate = aacRates[(third >> 2) & 15];
    const bytes = ((fourth & 3) << 11) | (fifth << 3) | (sixth >> 5);
    if (!isAacFrame(sound, at) || rate === undefined || bytes < 7) {
      junk += 1;
      at += 1;
      continue;
    }
    const blocks = (seventh & 3) + 1;
    const channels = ((third & 1) << 2) | (fourth >> 6) || 2;
    if (bytes > blocks * channels * MOST_AAC_BYTES + FRAME_HEAD) return Infinity;
    seconds += (blocks * AAC_SAMPLES) / rate;
    at += bytes;
  }
  return seconds + (junk + Math.max(0, sound.length - at)) / LEAST_RATE;
}
