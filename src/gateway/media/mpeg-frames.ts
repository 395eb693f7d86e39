const bitRates = {
  first: [
    [0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
    [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
    [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  ],
  later: [
    [0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
    [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
    [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
  ],
} as const;
const sampleRates = [44_100, 48_000, 32_000];
const MIN_BYTES_PER_SECOND = 1_000;
const MAX_SEARCH_BYTES = 64 * 1024;
const MAX_JUNK_BYTES = 256 * 1024;
const KIND_MASK = 0xfffe_0c00;

interface MpegFrame {
  readonly seconds: number;
  readonly bytes: number;
  readonly kind: number;
}

/** First bytes of frames of layers 1 to 3; the file could end right after them. */
export const isMpegStart = (file: Buffer): boolean => file[0] === 0xff && (file[1] ?? 0) >= 0xe0;

/**
 * Sums the frames' own lengths and ignores the total in the first frame; other bytes count by size. Decoding starts
 * where two frames of one kind follow each other.
 */
export function mpegSeconds(sound: Buffer): number {
  const start = findFirstFrame(sound);
  let seconds = 0;
  let junk = start;
  let at = start;
  while (at < sound.length && junk < start + MAX_JUNK_BYTES) {
    const frame = frameAt(sound, at);
    seconds += frame?.seconds ?? 0;
    junk += frame === null ? 1 : 0;
    at += frame?.bytes ?? 1;
  }
  return seconds + (junk + Math.max(0, sound.length - at)) / MIN_BYTES_PER_SECOND;
}

function findFirstFrame(sound: Buffer): number {
  for (let at = 0; at < Math.min(MAX_SEARCH_BYTES, sound.length); at += 1) {
    const frame = frameAt(sound, at);
    const next = frame === null ? null : frameAt(sound, at + frame.bytes);
    if (next !== null && next.kind === frame?.kind) return at;
  }
  return 0;
}

function frameAt(sound: Buffer, at: number): MpegFrame | null {
  if (sound[at] !== 0xff || at + 4 > sound.length) return null;
  const head = sound.readUInt32BE(at);
  const [version, layer] = [(head >> 19) & 3, 4 - ((head >> 17) & 3)];
  const isFirst = version === 3;
  const rate = bitRates[isFirst ? 'first' : 'later'][layer - 1]?.[(head >> 12) & 15];
  const base = sampleRates[(head >> 10) & 3];
  if (head >>> 21 !== 0x7ff || version === 1 || !rate || base === undefined) return null;
  const sampleRate = base / (isFirst ? 1 : version === 2 ? 2 : 4);
  const samples = layer === 1 ? 384 : layer === 3 && !isFirst ? 576 : 1_152;
  const slot = layer === 1 ? 4 : 1;
  const bytes = (Math.floor((samples * rate * 125) / sampleRate / slot) + ((head >> 9) & 1)) * slot;
  return { seconds: samples / sampleRate, bytes, kind: head & KIND_MASK };
}
