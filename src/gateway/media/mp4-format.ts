import { type Box, Contradiction } from './mp4-boxes';
import type { SoundFormat } from './sound-codecs';

type Entry = Omit<Box, 'inner'>;
type Describe = (codec: SoundFormat['codec'], setup?: Buffer) => SoundFormat;

const plainBytes: Readonly<Record<string, number>> = {
  ...{ sowt: 2, twos: 2, 'raw ': 1, ulaw: 1, alaw: 1, in24: 3, in32: 4, fl32: 4, fl64: 8 },
};

/** The description of the sound, in one of three layouts. */
export function formatOf(file: Buffer, entry: Entry): SoundFormat | null {
  const start = entry.start - 8;
  if (start + 72 > file.length) return null;
  const layout = file.readUInt16BE(start + 16);
  const channels = layout === 2 ? file.readUInt32BE(start + 48) : file.readUInt16BE(start + 24);
  const bits = layout === 2 ? file.readUInt32BE(start + 56) : file.readUInt16BE(start + 26);
  const rate = layout === 2 ? file.readDoubleBE(start + 40) : file.readUInt16BE(start + 32);
  const format = (codec: SoundFormat['codec'], setup: Buffer = Buffer.alloc(0)): SoundFormat => ({
    codec,
    setup,
    rate,
    bytesPerFrame: 0,
  });
  const setupOf = (name: string, head: number): Buffer => setupBox(file, entry, name).subarray(head);
  if (entry.name === 'Opus') return format('opus');
  if (entry.name === 'alac') return format('alac', setupOf('alac', 4));
  if (entry.name === 'fLaC') return format('flac', setupOf('dfLa', 8));
  if (entry.name === '.mp3') return format('mpeg');
  if (entry.name === 'samr') return format('amr-nb');
  if (entry.name === 'sawb') return format('amr-wb');
  if (entry.name === 'mp4a') return describedBy(setupOf('esds', 4), format);
  const plain = ['lpcm', 'ipcm', 'fpcm'].includes(entry.name) ? bits / 8 : plainBytes[entry.name];
  if (plain === undefined) return null;
  const bytesPerFrame = channels * (bits === 8 ? 1 : plain);
  if (!(bytesPerFrame * rate > 0)) throw new Contradiction('plain sound without a rate');
  return { ...format('samples'), bytesPerFrame };
}

/** The contents of the one box of that name in the description, however deep it lies. */
function setupBox(file: Buffer, { start, end }: Entry, name: string): Buffer {
  const inner = file.subarray(start, end);
  const found: Buffer[] = [];
  for (let at = inner.indexOf(name, 8, 'latin1'); at !== -1; at = inner.indexOf(name, at + 4, 'latin1')) {
    const boxEnd = at - 4 + inner.readUInt32BE(at - 4);
    if (boxEnd >= at + 4 && boxEnd <= inner.length) found.push(inner.subarray(at + 4, boxEnd));
  }
  if (found.length > 1) throw new Contradiction(`two ${name}`);
  return found[0] ?? Buffer.alloc(0);
}

const OBJECTS: Readonly<Record<number, SoundFormat['codec']>> = {
  ...{ 0x40: 'aac', 0x66: 'aac', 0x67: 'aac', 0x68: 'aac', 0x69: 'mpeg', 0x6b: 'mpeg' },
};

/** ISO/IEC 14496-1 has descriptors within descriptors, each with a tag and a length in groups of seven bits. */
function describedBy(descriptors: Buffer, format: Describe): SoundFormat | null {
  let codec: SoundFormat['codec'] | undefined;
  for (let at = 0; at < descriptors.length;) {
    const tag = descriptors[at];
    at += 1;
    let length = 0;
    for (let more = true; more && at < descriptors.length; at += 1) {
      const byte = descriptors[at] ?? 0;
      length = length * 128 + (byte & 0x7f);
      more = byte >= 0x80;
    }
    if (tag === 3) at += 3 + esExtras(descriptors, at);
    else if (tag === 4) {
      codec = OBJECTS[descriptors[at] ?? 0];
      if (codec === 'mpeg') return format(codec);
      at += 13;
    } else if (tag === 5 && codec !== undefined) {
      return format(codec, descriptors.subarray(at, at + length));
    } else at += length;
  }
  return null;
}

/** Flags of an elementary stream put so many bytes before its descriptors. */
function esExtras(descriptors: Buffer, at: number): number {
  const flags = descriptors[at + 2] ?? 0;
  const url = (flags & 0x40) === 0 ? 0 : 1 + (descriptors[at + 3 + ((flags & 0x80) >> 6)] ?? 0);
  return ((flags & 0x80) === 0 ? 0 : 2) + url + ((flags & 0x20) === 0 ? 0 : 2);
}
