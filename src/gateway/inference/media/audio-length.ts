import { COUNT_CAP } from '../../../kernel';
import { secondsOfFlacFrames } from './flac-frames';
import { secondsOfOggPackets } from './ogg-packets';

/** What a recording comes in, told by its first bytes: names and types are the caller's to choose. */
export type AudioKind = 'wav' | 'mp3' | 'aac' | 'mp4' | 'flac' | 'ogg' | 'webm';

export interface AudioLength {
  /** No recording of so many bytes, frames or packets is longer: what is held for. */
  readonly boundMs: number;
  /** An estimate of the length: charged when the supplier reports no usage. */
  readonly estimateMs: number;
}

export function audioKindOf(file: Buffer): AudioKind | null {
  const magic = file.toString('latin1', 0, 12);
  if (magic.startsWith('RIFF') && magic.endsWith('WAVE')) return 'wav';
  if (magic.startsWith('fLaC')) return 'flac';
  if (magic.startsWith('OggS')) return 'ogg';
  if (magic.startsWith('\x1a\x45\xdf\xa3')) return 'webm';
  if (magic.slice(4, 8) === 'ftyp') return 'mp4';
  if (isAacFrame(file, 0)) return 'aac';
  if (magic.startsWith('ID3') || isFrame(file, 0)) return 'mp3';
  return null;
}

/** Bytes a second: the fewest and the most that occur, and what is usual where the head does not tell the length. */
interface ByteRates {
  readonly least: number;
  readonly usual: number;
  readonly most: number;
}

const speech: ByteRates = { least: 750, usual: 6_000, most: 64_000 };
const rates: Readonly<Record<AudioKind, ByteRates>> = {
  wav: { least: 750, usual: 32_000, most: 1_000_000 },
  mp3: { least: 1_000, usual: 16_000, most: 40_000 },
  aac: { least: 1_000, usual: 16_000, most: 72_000 },
  mp4: { ...speech, most: 1_000_000 },
  flac: { least: 1_000, usual: 32_000, most: 288_000 },
  ogg: speech,
  webm: speech,
};

/**
 * How long a recording is, by its samples where they can be counted, else by its head. What it says counts only as far
 * as the size of the file allows: a head that lies must not make an answer free. `file` may be the beginning of
 * something of `size` bytes.
 */
export function audioLengthOf(kind: AudioKind, file: Buffer, size = file.length): AudioLength {
  const read = readers[kind](file, size);
  const { least, usual, most } = { ...rates[kind], ...read.rates };
  // Silence takes next to no bytes: what frames and packets say may be more than their bytes.
  const longest = Math.max(size / least, read.most ?? 0);
  const told = read.seconds ?? size / usual;
  const estimate = Math.min(longest, Math.max(told, size / most));
  return { boundMs: milliseconds(longest), estimateMs: milliseconds(estimate) };
}

const milliseconds = (seconds: number): number =>
  Math.min(COUNT_CAP, Math.max(1, Math.ceil(seconds * 1_000)));

interface Head {
  readonly seconds?: number;
  /** What can be decoded of the whole file at most. */
  readonly most?: number;
  readonly rates?: Partial<ByteRates>;
}

const readers: Readonly<Record<AudioKind, (file: Buffer, size: number) => Head>> = {
  wav: readWav,
  mp3: readMp3,
  aac: readAac,
  mp4: readMp4,
  flac: readFlac,
  ogg: readOgg,
  webm: () => ({}),
};

const PLAIN_SAMPLES = new Set([1, 3, 6, 7]);
/** Eight channels of the finest samples there are; a head that claims more only wants to look short. */
const FASTEST_SAMPLES = 6_144_000;
const MOST_CHUNKS = 64;

/** Plain samples take a fixed number of bytes a second: length and bound are the same. */
function readWav(file: Buffer, fileSize: number): Head {
  let rate = 0;
  let isPlain = false;
  for (let at = 12, chunks = 0; at + 8 <= file.length && chunks < MOST_CHUNKS; chunks += 1) {
    const id = file.toString('latin1', at, at + 4);
    const size = file.readUInt32LE(at + 4);
    if (id === 'fmt ' && at + 24 <= file.length) {
      const code = file.readUInt16LE(at + 8);
      // The code of an extended head stands where the head is longer.
      const format = code === 0xfffe && at + 34 <= file.length ? file.readUInt16LE(at + 32) : code;
      isPlain = PLAIN_SAMPLES.has(format);
      const [channels, samples] = [file.readUInt16LE(at + 10), file.readUInt32LE(at + 12)];
      const frame = Math.ceil((channels * file.readUInt16LE(at + 22)) / 8);
      // Packed samples take half a byte or less; how many bytes a second is only said, and no decoder needs it.
      rate = Math.min(
        FASTEST_SAMPLES,
        isPlain ? samples * frame : Math.min(file.readUInt32LE(at + 16), Math.ceil((samples * channels) / 2)),
      );
    } else if (id === 'data' && rate > 0) {
      // Decoders go on to the next samples behind those that the head tells of.
      const seconds = (fileSize - at - 8) / rate;
      return isPlain ? { seconds, rates: { least: rate, most: rate } } : { seconds };
    }
    at += 8 + size + (size % 2);
  }
  return {};
}

const layer3 = {
  first: [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  second: [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
} as const;
const sampleRates = [44_100, 48_000, 32_000];
const FRAME_SEARCH = 64 * 1024;

const isFrame = (file: Buffer, at: number): boolean => file[at] === 0xff && (file[at + 1] ?? 0) >= 0xe0;

function readMp3(file: Buffer, size: number): Head {
  const start = file.toString('latin1', 0, 3) === 'ID3' && file.length >= 10 ? 10 + synchsafe(file) : 0;
  let at = start;
  while (at < start + FRAME_SEARCH && at + 4 <= file.length && !isFrame(file, at)) at += 1;
  const [, second = 0, third = 0] = file.subarray(at, at + 4);
  const version = (second >> 3) & 3;
  const isLayer3 = ((second >> 1) & 3) === 1;
  const isFirst = version === 3;
  const kilobits = layer3[isFirst ? 'first' : 'second'][third >> 4];
  const sampleRate = sampleRates[(third >> 2) & 3];
  if (!isFrame(file, at) || !isLayer3 || version === 1 || !kilobits || sampleRate === undefined) return {};
  const frames = declaredFrames(file.subarray(at, at + 200));
  const perSecond = sampleRate / (isFirst ? 1 : version === 2 ? 2 : 4) / (isFirst ? 1_152 : 576);
  const told = frames > 0 ? frames / perSecond : (size - at) / (kilobits * 125);
  return { seconds: size === file.length ? Math.max(frames / perSecond, secondsOfFrames(file, at)) : told };
}

const MOST_JUNK = 256 * 1024;
const LEAST_RATE = 4_000;

/** Every frame says how long and how large it is. What is no frame is passed over, as decoders do, up to a limit. */
function secondsOfFrames(file: Buffer, start: number): number {
  let seconds = 0;
  let junk = 0;
  let at = start;
  while (at + 4 <= file.length && junk < MOST_JUNK) {
    const frame = isFrame(file, at) ? frameAt(file, at) : null;
    if (frame === null) {
      junk += 1;
      at += 1;
      continue;
    }
    seconds += frame.seconds;
    at += frame.bytes;
  }
  return seconds + Math.max(0, file.length - 4 - at) / LEAST_RATE;
}

function frameAt(file: Buffer, at: number): { readonly seconds: number; readonly bytes: number } | null {
  const [, second = 0, third = 0] = [file[at], file[at + 1], file[at + 2]];
  const version = (second >> 3) & 3;
  const isFirst = version === 3;
  const kilobits = layer3[isFirst ? 'first' : 'second'][third >> 4];
  const base = sampleRates[(third >> 2) & 3];
  if (((second >> 1) & 3) !== 1 || version === 1 || !kilobits || base === undefined) return null;
  const sampleRate = base / (isFirst ? 1 : version === 2 ? 2 : 4);
  const samples = isFirst ? 1_152 : 576;
  const bytes = Math.floor((samples * kilobits * 125) / sampleRate) + ((third >> 1) & 1);
  return { seconds: samples / sampleRate, bytes };
}

/** Frames of plain AAC begin like those of MP3, and leave their layer at zero. */
const isAacFrame = (file: Buffer, at: number): boolean =>
  file[at] === 0xff && ((file[at + 1] ?? 0) & 0xf6) === 0xf0;

const aacRates = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350,
];

function readAac(file: Buffer, size: number): Head {
  let seconds = 0;
  let at = 0;
  while (at + 7 <= file.length && isAacFrame(file, at)) {
    const [, , third = 0, fourth = 0, fifth = 0, sixth = 0, seventh = 0] = file.subarray(at, at + 7);
    const rate = aacRates[(third >> 2) & 15];
    const bytes = ((fourth & 3) << 11) | (fifth << 3) | (sixth >> 5);
    if (rate === undefined || bytes < 7) break;
    seconds += (((seventh & 3) + 1) * SAMPLES_PER_FRAME) / rate;
    at += bytes;
  }
  // What is no frame counts by its bytes.
  return seconds === 0 ? {} : { seconds: seconds + (size - Math.min(at, size)) / rates.aac.usual };
}

const synchsafe = (file: Buffer): number =>
  [6, 7, 8, 9].reduce((size, at) => size * 128 + ((file[at] ?? 0) & 0x7f), 0);

/** Where the rate varies, the first frame says how many there are. */
function declaredFrames(frame: Buffer): number {
  const mark = Math.max(frame.indexOf('Xing'), frame.indexOf('Info'));
  if (mark === -1 || mark + 12 > frame.length) return 0;
  return (frame.readUInt32BE(mark + 4) & 1) === 1 ? frame.readUInt32BE(mark + 8) : 0;
}

const SAMPLES_PER_FRAME = 1_024;
/** The highest rate of a sampler; a table that claims more only wants to look short. */
const MOST_SAMPLES = 96_000;
/** Two channels of packed sound take no more bytes a second. */
const PACKED_RATES = { most: 72_000 };

/**
 * The head says how long it is, and no decoder needs that. The table of samples says how many there are, and without
 * it nothing can be decoded: the longer of the two counts.
 */
function readMp4(file: Buffer): Head {
  const told = secondsOfHeader(file);
  if (file.indexOf('mp4a') === -1) return told > 0 ? { seconds: told } : {};
  const seconds = Math.max(told, secondsOfSamples(file));
  // Fragments have tables of their own; then the bytes are all there is to go by.
  if (seconds === 0 || file.indexOf('moof') !== -1) return {};
  return { seconds, ...(file.indexOf('vmhd') === -1 && { rates: PACKED_RATES }) };
}

function secondsOfHeader(file: Buffer): number {
  const at = file.indexOf('mvhd');
  if (at === -1 || at + 36 > file.length) return 0;
  const isLong = file[at + 4] === 1;
  const scale = file.readUInt32BE(at + (isLong ? 24 : 16));
  const units = isLong ? Number(file.readBigUInt64BE(at + 28)) : file.readUInt32BE(at + 20);
  return scale > 0 ? units / scale : 0;
}

/** The rate stands in the description of the sound, the number of frames in the table of their sizes. */
function secondsOfSamples(file: Buffer): number {
  const sound = file.indexOf('mp4a');
  let frames = 0;
  for (
    let at = file.indexOf('stsz');
    at !== -1 && at + 16 <= file.length;
    at = file.indexOf('stsz', at + 4)
  ) {
    const count = file.readUInt32BE(at + 12);
    // A table of sizes of its own has four bytes for each.
    if (file.readUInt32BE(at + 8) > 0 || at + 16 + count * 4 <= file.length) frames = Math.max(frames, count);
  }
  const rate = sound + 32 <= file.length ? file.readUInt16BE(sound + 28) : 0;
  return (frames * SAMPLES_PER_FRAME) / Math.min(MOST_SAMPLES, rate || 48_000);
}

/** What a head that lies leaves out of the frames; less may be what only looks like one. */
const MOST_LEFT_OUT = 0.1;

/** The head says how many samples there are; decoders play every frame all the same. */
function readFlac(file: Buffer, size: number): Head {
  if (file.length < 26) return {};
  const sampleRate = file.readUIntBE(18, 3) >> 4;
  const samples = (file.readUInt8(21) & 0x0f) * 2 ** 32 + file.readUInt32BE(22);
  const told = sampleRate > 0 ? samples / sampleRate : 0;
  const most = size === file.length ? secondsOfFlacFrames(file, sampleRate) : 0;
  const seconds = told >= most * (1 - MOST_LEFT_OUT) ? told : most;
  return seconds > 0 ? { seconds, most } : {};
}

/**
 * The last page says how many samples came before its end, of the last stream alone where several follow one another.
 * Decoders play every packet: those of Opus tell exactly how long they are.
 */
function readOgg(file: Buffer, size: number): Head {
  const start = file.subarray(0, 128);
  const vorbis = start.indexOf('\x01vorbis', 0, 'latin1');
  const isOpus = start.includes('OpusHead');
  if (vorbis === -1 && !isOpus) return {};
  const last = file.lastIndexOf('OggS');
  const sampleRate = vorbis !== -1 && vorbis + 16 <= start.length ? start.readUInt32LE(vorbis + 12) : 48_000;
  const samples = last + 14 <= file.length ? Number(file.readBigInt64LE(last + 6)) : 0;
  const told = sampleRate > 0 && samples > 0 ? samples / sampleRate : 0;
  const most = size === file.length ? secondsOfOggPackets(file) : 0;
  const seconds = isOpus && most > told ? most : told;
  return seconds > 0 ? { seconds, most } : {};
}
