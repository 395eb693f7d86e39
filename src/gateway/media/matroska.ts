import { MIN_BYTES_PER_SECOND, meterOf, type PacketSeconds, type SoundFormat } from './sound-codecs';

const ID = {
  ...{ cluster: 0x1f43b675, tracks: 0x1654ae6b, track: 0xae, number: 0xd7, kind: 0x83, codec: 0x86 },
  ...{ setup: 0x63a2, encodings: 0x6d80, audio: 0xe1, rate: 0xb5, channels: 0x9f, bits: 0x6264 },
  ...{ simpleBlock: 0xa3, blockGroup: 0xa0, block: 0xa1 },
};
const CLUSTER = Buffer.from('1f43b675', 'hex');
const TRACKS = Buffer.from('1654ae6b', 'hex');
const AUDIO_TRACK = 2;

interface MatroskaElement {
  readonly id: number;
  readonly start: number;
  readonly end: number;
}

interface MatroskaTrack {
  readonly isAudio: boolean;
  /** Null if the codec is unknown; its bytes count then. */
  readonly meter: PacketSeconds | null;
  seconds: number;
}

/**
 * Length of the audio in a WebM or Matroska file, from its blocks and packets; `Infinity` if ambiguous. Every cluster
 * counts wherever it is, as decoders keep searching for them.
 */
export function matroskaSeconds(file: Buffer): number {
  const tracks = new Map<number, MatroskaTrack>();
  for (let at = file.indexOf(TRACKS); at !== -1; at = file.indexOf(TRACKS, at + 4)) {
    const head = elementAt(file, at, file.length);
    for (const { id, start, end } of head === null ? [] : elementsOf(file, head.start, head.end)) {
      if (id !== ID.track) continue;
      const [number, track] = trackOf(file, start, end);
      if (track === null || tracks.has(number)) return Infinity;
      tracks.set(number, track);
    }
  }
  let bytes = 0;
  for (let at = file.indexOf(CLUSTER); at !== -1; at = file.indexOf(CLUSTER, at + 4)) {
    const cluster = elementAt(file, at, file.length);
    for (const element of cluster === null ? [] : elementsOf(file, cluster.start, cluster.end)) {
      if (element.id === ID.cluster) break;
      bytes += element.end - element.start;
      if (bytes > 2 * file.length) return Infinity;
      if (element.id === ID.simpleBlock) readBlock(file, element, tracks);
      if (element.id !== ID.blockGroup) continue;
      for (const inner of elementsOf(file, element.start, element.end)) {
        if (inner.id === ID.block) readBlock(file, inner, tracks);
      }
    }
  }
  return Math.max(0, ...[...tracks.values()].map(({ seconds }) => seconds));
}

function* elementsOf(file: Buffer, start: number, end: number): Generator<MatroskaElement> {
  for (let at = start; at < end;) {
    const element = elementAt(file, at, end);
    if (element === null) return;
    yield element;
    at = element.end;
  }
}

/** Variable-length number of one to eight bytes; leading zero bits give the length. All ones mean an unknown length. */
function readVariable(file: Buffer, at: number): { readonly value: number; readonly bytes: number } | null {
  const first = file[at] ?? 0;
  const bytes = Math.clz32(first) - 23;
  if (bytes > 8 || at + bytes > file.length) return null;
  let value = first & (0xff >> bytes);
  for (let index = 1; index < bytes; index += 1) value = value * 256 + (file[at + index] ?? 0);
  return { value: value === 2 ** (7 * bytes) - 1 ? Infinity : value, bytes };
}

function elementAt(file: Buffer, at: number, end: number): MatroskaElement | null {
  const idBytes = Math.clz32(file[at] ?? 0) - 23;
  if (idBytes > 4 || at + idBytes > file.length) return null;
  const length = readVariable(file, at + idBytes);
  if (length === null) return null;
  const start = at + idBytes + length.bytes;
  return { id: file.readUIntBE(at, idBytes), start, end: Math.min(end, start + length.value) };
}

const codecs: readonly (readonly [prefix: string, codec: SoundFormat['codec']])[] = [
  ['A_OPUS', 'opus'],
  ['A_VORBIS', 'vorbis'],
  ['A_AAC', 'aac'],
  ['A_FLAC', 'flac'],
  ['A_MPEG/L', 'mpeg'],
  ['A_ALAC', 'alac'],
  ['A_PCM/', 'samples'],
];

function trackOf(file: Buffer, start: number, end: number): readonly [number, MatroskaTrack | null] {
  const fields = new Map<number, MatroskaElement>();
  for (const element of elementsOf(file, start, end)) {
    if (fields.has(element.id)) return [0, null];
    fields.set(element.id, element);
  }
  const bytesOf = (id: number): Buffer => {
    const field = fields.get(id);
    return field === undefined ? Buffer.alloc(0) : file.subarray(field.start, field.end);
  };
  const number = readUnsigned(bytesOf(ID.number));
  const isSound = readUnsigned(bytesOf(ID.kind)) === AUDIO_TRACK;
  // Compressed or encrypted audio could have any length.
  if (isSound && fields.has(ID.encodings)) return [number, null];
  const name = bytesOf(ID.codec).toString('latin1');
  const codec = codecs.find(([prefix]) => name.startsWith(prefix))?.[1] ?? 'other';
  const format = {
    codec,
    setup: setupOf(codec, bytesOf(ID.setup)),
    ...audioFormatOf(file, fields.get(ID.audio)),
  };
  return [number, { isAudio: isSound, meter: isSound ? meterOf(format) : null, seconds: 0 }];
}

const readUnsigned = (bytes: Buffer): number => [...bytes].reduce((value, byte) => value * 256 + byte, 0);

function audioFormatOf(file: Buffer, audio: MatroskaElement | undefined) {
  let [rate, channels, bits] = [8_000, 1, 0];
  for (const { id, start, end } of audio === undefined ? [] : elementsOf(file, audio.start, audio.end)) {
    const bytes = file.subarray(start, end);
    if (id === ID.rate)
      rate = bytes.length === 8 ? bytes.readDoubleBE(0) : bytes.length === 4 ? bytes.readFloatBE(0) : 0;
    if (id === ID.channels) channels = readUnsigned(bytes);
    if (id === ID.bits) bits = readUnsigned(bytes);
  }
  return { rate, bytesPerFrame: (channels * bits) / 8 };
}

/** Vorbis headers follow their lengths; FLAC keeps the signature of its files. */
function setupOf(codec: SoundFormat['codec'], setup: Buffer): Buffer {
  if (codec === 'flac') return setup.subarray(8);
  if (codec !== 'vorbis') return setup;
  const first = setup.indexOf('\x01vorbis', 0, 'latin1');
  return setup.subarray(Math.max(0, first));
}

function readBlock(
  file: Buffer,
  { start, end }: MatroskaElement,
  tracks: ReadonlyMap<number, MatroskaTrack>,
): void {
  const number = readVariable(file, start);
  const track = number === null ? undefined : tracks.get(number.value);
  if (number === null || track?.isAudio !== true) return;
  const head = start + number.bytes + 3;
  if (track.meter === null) {
    track.seconds += Math.max(0, end - head) / MIN_BYTES_PER_SECOND;
    return;
  }
  for (const packet of packetsOf(file, head, end)) track.seconds += track.meter(packet);
}

function* packetsOf(file: Buffer, head: number, end: number): Generator<Buffer> {
  const lacing = ((file[head - 1] ?? 0) >> 1) & 3;
  if (lacing === 0) {
    yield file.subarray(head, end);
    return;
  }
  const count = (file[head] ?? 0) + 1;
  const { lengths, at: first } = readLacing(file, head + 1, end, lacing, count);
  let at = first;
  for (const length of lengths) {
    yield file.subarray(at, Math.min(end, at + length));
    at += length;
  }
  yield file.subarray(Math.min(at, end), end);
}

function readLacing(file: Buffer, start: number, end: number, lacing: number, count: number) {
  const lengths: number[] = [];
  let at = start;
  if (lacing === 2) {
    const packetBytes = Math.floor((end - start) / count);
    return { lengths: Array<number>(count - 1).fill(packetBytes), at };
  }
  for (let index = 0; index < count - 1 && at < end; index += 1) {
    if (lacing === 1) {
      let length = 0;
      for (let byte = 255; byte === 255 && at < end; at += 1) length += byte = file[at] ?? 0;
      lengths.push(length);
      continue;
    }
    const size = readVariable(file, at);
    if (size === null) break;
    // After the first length come differences, offset by half of their range.
    const shift = index === 0 ? 0 : 2 ** (7 * size.bytes - 1) - 1;
    const value = size.value === Infinity ? 2 ** (7 * size.bytes) - 1 : size.value;
    lengths.push(Math.max(0, (index === 0 ? 0 : (lengths.at(-1) ?? 0)) + value - shift));
    at += size.bytes;
  }
  return { lengths, at };
}
