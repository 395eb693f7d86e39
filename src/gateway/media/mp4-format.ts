import { type Mp4Box, AmbiguousMp4Error } from './mp4-boxes';
import type { SoundFormat } from './sound-codecs';

type SampleEntry = Omit<Mp4Box, 'inner'>;
type FormatFactory = (codec: SoundFormat['codec'], setup?: Buffer) => SoundFormat;

const bytesPerPlainSample: Readonly<Record<string, number>> = {
  ...{ sowt: 2, twos: 2, 'raw ': 1, ulaw: 1, alaw: 1, in24: 3, in32: 4, fl32: 4, fl64: 8 },
};

export function formatOf(file: Buffer, entry: SampleEntry): SoundFormat | null {
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
  if (entry.name === 'mp4a') return formatFromDescriptors(setupOf('esds', 4), format);
  const sampleBytes = ['lpcm', 'ipcm', 'fpcm'].includes(entry.name)
    ? bits / 8
    : bytesPerPlainSample[entry.name];
  if (sampleBytes === undefined) return null;
  const bytesPerFrame = channels * (bits === 8 ? 1 : sampleBytes);
  if (!(bytesPerFrame * rate > 0)) throw new AmbiguousMp4Error('plain sound without a rate');
  return { ...format('samples'), bytesPerFrame };
}

function setupBox(file: Buffer, { start, end }: SampleEntry, name: string): Buffer {
  const inner = file.subarray(start, end);
  const contents: Buffer[] = [];
  for (let at = inner.indexOf(name, 8, 'latin1'); at !== -1; at = inner.indexOf(name, at + 4, 'latin1')) {
    const boxEnd = at - 4 + inner.readUInt32BE(at - 4);
    if (boxEnd >= at + 4 && boxEnd <= inner.length) contents.push(inner.subarray(at + 4, boxEnd));
  }
  if (contents.length > 1) throw new AmbiguousMp4Error(`two ${name}`);
  return contents[0] ?? Buffer.alloc(0);
}

const CODECS_BY_OBJECT_TYPE: Readonly<Record<number, SoundFormat['codec']>> = {
  ...{ 0x40: 'aac', 0x66: 'aac', 0x67: 'aac', 0x68: 'aac', 0x69: 'mpeg', 0x6b: 'mpeg' },
};

/** ISO/IEC 14496-1 nests descriptors, each with a tag and a length in groups of seven bits. */
function formatFromDescriptors(descriptors: Buffer, format: FormatFactory): SoundFormat | null {
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
    if (tag === 3) at += 3 + streamHeaderBytes(descriptors, at);
    else if (tag === 4) {
      codec = CODECS_BY_OBJECT_TYPE[descriptors[at] ?? 0];
      if (codec === 'mpeg') return format(codec);
      at += 13;
    } else if (tag === 5 && codec !== undefined) {
      return format(codec, descriptors.subarray(at, at + length));
    } else at += length;
  }
  return null;
}

function streamHeaderBytes(descriptors: Buffer, at: number): number {
  const flags = descriptors[at + 2] ?? 0;
  const url = (flags & 0x40) === 0 ? 0 : 1 + (descriptors[at + 3 + ((flags & 0x80) >> 6)] ?? 0);
  return ((flags & 0x80) === 0 ? 0 : 2) + url + ((flags & 0x20) === 0 ? 0 : 2);
}
