import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const folder = join(process.cwd(), 'test', 'fixtures', 'recordings');

/** The original recordings, created by `make.sh` in the same folder. */
export const originalRecordings: readonly string[] = readdirSync(folder)
  .filter((name) => /\.(m4a|mp4|mov|webm|mkv|ogg|mp3|aac|wav|flac)$/.test(name))
  .sort();

export const readRecording = (name: string): Buffer => readFileSync(join(folder, name));

type Forge = (file: Buffer) => Buffer;

/** Overwrites bytes at a distance from the first mark, or from every mark with `all`. */
function overwriteAt(mark: string | Buffer, distance: number, bytes: Buffer, all = false): Forge {
  return (file) => {
    const forged = Buffer.from(file);
    const needle = typeof mark === 'string' ? Buffer.from(mark, 'latin1') : mark;
    if (!forged.includes(needle)) throw new Error(`no ${needle.toString('hex')} in the recording`);
    for (let at = forged.indexOf(needle); at !== -1; at = forged.indexOf(needle, at + 1)) {
      bytes.copy(forged, at + distance);
      if (!all) break;
    }
    return forged;
  };
}

const u16 = (value: number): Buffer => Buffer.from([value >> 8, value & 255]);
function u32(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  values.forEach((value, place) => bytes.writeUInt32BE(value >>> 0, place * 4));
  return bytes;
}
const reversed = (bytes: Buffer): Buffer => Buffer.from(bytes).reverse();
const hex = (digits: string): Buffer => Buffer.from(digits, 'hex');
const prepend =
  (start: Buffer): Forge =>
  (file) =>
    Buffer.concat([start, file]);
const combine =
  (...forges: readonly Forge[]): Forge =>
  (file) =>
    forges.reduce((forged, forge) => forge(forged), file);

const parentBoxes = ['moov', 'trak', 'edts', 'mdia', 'minf', 'stbl'];

/** Replaces the first box of that name and enlarges its parent boxes accordingly. */
const replaceBox =
  (name: string, contents: Buffer): Forge =>
  (file) => {
    const at = file.indexOf(name) - 4;
    const bytes = file.readUInt32BE(at);
    const growth = 8 + contents.length - bytes;
    const head = Buffer.from(file.subarray(0, at));
    for (const box of parentBoxes) {
      const position = head.lastIndexOf(box) - 4;
      const end = position < 0 ? 0 : position + head.readUInt32BE(position);
      if (end > at) head.writeUInt32BE(head.readUInt32BE(position) + growth, position);
    }
    return Buffer.concat([
      head,
      u32(8 + contents.length),
      Buffer.from(name),
      contents,
      file.subarray(at + bytes),
    ]);
  };

const tinyMovie = overwriteAt('mvhd', 16, u32(1_000_000, 1));
const tinyMedia = overwriteAt('mdhd', 16, u32(1_000_000_000, 1));
const tenEdits = replaceBox('elst', u32(0, 10, ...Array(10).fill([4_000, 0, 0x10000]).flat()));
const oneSample: Forge = (file) => {
  const at = file.indexOf('stsz');
  const sizes = Array.from(
    { length: file.readUInt32BE(at + 12) },
    (_, place) => file.readUInt32BE(at + 8) || file.readUInt32BE(at + 16 + place * 4),
  );
  const [first = 0, ...rest] = sizes;
  return replaceBox(
    'stsz',
    u32(
      0,
      0,
      2,
      first,
      rest.reduce((sum, size) => sum + size, 0),
    ),
  )(file);
};
const repeatChunks: Forge = (file) =>
  replaceBox(
    'stco',
    u32(0, 10, ...Array<number>(10).fill(file.readUInt32BE(file.indexOf('stco') + 12))),
  )(file);
const shortTag = Buffer.from('ID3\x04\0\0\0\0\0\0', 'latin1');
const noise = Buffer.alloc(3_000, 0x11);

/** Ogg pages that appear to span the complete file, with invalid checksums. */
const wrapInPages: Forge = (file) => {
  const pages: Buffer[] = [];
  for (let at = 0; at < file.length; at += 30_000) {
    const head = Buffer.concat([Buffer.from('OggS\0'), Buffer.alloc(21), Buffer.from([255])]);
    pages.push(head, Buffer.alloc(255, 255), file.subarray(at, at + 30_000));
  }
  return Buffer.concat(pages);
};

/** Each page claims to end one sample after its start; its checksum is valid. */
const lowGranules: Forge = (file) => {
  const forged = Buffer.from(file);
  for (let at = forged.indexOf('OggS'); at !== -1; at = forged.indexOf('OggS', at + 4)) {
    const lengths = forged.subarray(at + 27, at + 27 + (forged[at + 26] ?? 0));
    const end = at + 27 + lengths.length + lengths.reduce((sum, length) => sum + length, 0);
    forged.writeBigInt64LE(1n, at + 6);
    forged.writeUInt32LE(0, at + 22);
    forged.writeUInt32LE(pageChecksum(forged.subarray(at, end)), at + 22);
  }
  return forged;
};

function pageChecksum(page: Buffer): number {
  let sum = 0;
  for (const byte of page) {
    sum ^= byte << 24;
    for (let bit = 0; bit < 8; bit += 1) sum = sum < 0 ? (sum << 1) ^ 0x04c11db7 : sum << 1;
  }
  return sum >>> 0;
}

const secondFormat: Forge = (file) => {
  const format = Buffer.from(file.subarray(12, 36));
  format.writeUInt32LE(192_000, 12);
  format.writeUInt16LE(8, 10);
  return Buffer.concat([file.subarray(0, 36), format, file.subarray(36)]);
};

/** Changes that make a recording look short; each recording still plays in full. */
const forgeries: readonly (readonly [what: string, recording: string, forge: Forge])[] = [
  ...['aac.m4a', 'alac.m4a', 'opus.mp4', 'flac.mp4', 'mp3.mp4', 'ac3.mp4', 'pcm.mov'].flatMap(
    (name) =>
      [
        ['a short movie', name, tinyMovie],
        ['a short movie and medium', name, combine(tinyMovie, tinyMedia)],
      ] as const,
  ),
  ['a short movie', 'aac-fragments.mp4', combine(tinyMovie, tinyMedia)],
  ['a short movie', 'opus-fragments.mp4', combine(tinyMovie, tinyMedia)],
  ['a fast entry', 'aac.m4a', overwriteAt('mp4a', 28, u16(65_535))],
  ['a fast entry', 'alac.m4a', overwriteAt('alac', 28, u16(65_535))],
  ['a fast entry', 'flac.mp4', overwriteAt('fLaC', 28, u16(65_535))],
  ['a fast entry', 'mp3.mp4', overwriteAt('mp4a', 28, u16(65_535))],
  ['no time between samples', 'aac.m4a', overwriteAt('stts', 8, u32(1, 33, 0))],
  ['no time between samples', 'opus.mp4', combine(tinyMovie, overwriteAt('stts', 12, u32(202, 0)))],
  ['ten plays', 'aac.m4a', tenEdits],
  ['ten plays', 'opus.mp4', tenEdits],
  ['ten plays', 'pcm.mov', tenEdits],
  ['a chunk ten times', 'pcm.mov', repeatChunks],
  ['frames in one sample', 'aac.m4a', oneSample],
  ['frames in one sample', 'mp3.mp4', oneSample],
  ['a short segment', 'opus.webm', overwriteAt(hex('448988'), 3, hex('3ff0000000000000'))],
  ['a short segment', 'vorbis.webm', overwriteAt(hex('448988'), 3, hex('3ff0000000000000'))],
  ['a fast track', 'opus.webm', overwriteAt(hex('b588'), 2, hex('4116e36000000000'))],
  ['a fast track', 'vorbis.webm', overwriteAt(hex('b588'), 2, hex('4116e36000000000'))],
  ['a fast track', 'aac.mkv', overwriteAt(hex('b588'), 2, hex('4116e36000000000'))],
  ['a fast track', 'mp3.mkv', overwriteAt(hex('b588'), 2, hex('4116e36000000000'))],
  ['a fast track', 'flac.mkv', overwriteAt(hex('b588'), 2, hex('4116e36000000000'))],
  ['no clock', 'opus.webm', overwriteAt(hex('2ad7b1'), 4, hex('000001'))],
  ['low granules', 'opus.ogg', lowGranules],
  ['low granules', 'vorbis.ogg', lowGranules],
  ['low granules', 'flac.ogg', lowGranules],
  ['low granules', 'speex.ogg', lowGranules],
  ['pages in a page', 'opus.ogg', wrapInPages],
  ['pages in a page', 'vorbis.ogg', wrapInPages],
  ['tags before', 'opus.ogg', prepend(shortTag)],
  ['one sample', 'flac.flac', overwriteAt('fLaC', 18, hex('01f400f000000001'))],
  ['a fast head', 'flac.flac', overwriteAt('fLaC', 18, hex('9fff60f000000001'))],
  ['tags before', 'flac.flac', prepend(shortTag)],
  ['one frame', 'variable.mp3', overwriteAt('Xing', 8, u32(1))],
  ['a fast first frame', 'constant.mp3', overwriteAt(hex('ffe3'), 2, hex('e8'))],
  ['noise before', 'constant.mp3', prepend(Buffer.concat([hex('fff3e0c4'), noise]))],
  ['noise before', 'layer2.mp3', prepend(Buffer.concat([shortTag, noise]))],
  ['tags before', 'frames.aac', prepend(shortTag)],
  ['noise before', 'frames.aac', prepend(Buffer.concat([shortTag, noise]))],
  ['a fast byte rate', 'adpcm.wav', overwriteAt('fmt ', 16, reversed(u32(0x7fffffff)))],
  ['a fast byte rate', 'mp3.wav', overwriteAt('fmt ', 12, reversed(u32(0x7fffffff, 0x7fffffff)))],
  ['a fast byte rate', 'gsm.wav', overwriteAt('fmt ', 16, reversed(u32(0x7fffffff)))],
  ['few data', 'pcm.wav', overwriteAt('data', 4, hex('0a000000'))],
  ['a second format', 'pcm.wav', secondFormat],
];

export interface ForgedRecording {
  readonly name: string;
  readonly file: Buffer;
}

/** Returns the same bytes on each call. */
export const createForgedRecordings = (): readonly ForgedRecording[] =>
  forgeries.map(([what, recording, forge]) => ({
    name: `${recording}: ${what}`,
    file: forge(readRecording(recording)),
  }));
