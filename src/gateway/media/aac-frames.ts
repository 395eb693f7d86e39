import { aacRates, MAX_AAC_BYTES } from './sound-codecs';

const FRAME_HEADER_BYTES = 9;
const AAC_SAMPLES = 1_024;
const MIN_BYTES_PER_SECOND = 1_000;
const MAX_JUNK_BYTES = 256 * 1024;

export const isAacFrame = (file: Buffer, at: number): boolean =>
  file[at] === 0xff && ((file[at + 1] ?? 0) & 0xf6) === 0xf0;

/** Every AAC frame has its own header; other bytes count by size. */
export function aacSeconds(sound: Buffer): number {
  let seconds = 0;
  let junk = 0;
  let at = 0;
  while (at < sound.length && junk < MAX_JUNK_BYTES) {
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
    if (bytes > blocks * channels * MAX_AAC_BYTES + FRAME_HEADER_BYTES) return Infinity;
    seconds += (blocks * AAC_SAMPLES) / rate;
    at += bytes;
  }
  return seconds + (junk + Math.max(0, sound.length - at)) / MIN_BYTES_PER_SECOND;
}
