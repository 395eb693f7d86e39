import { MIN_BYTES_PER_SECOND, meterOf, type PacketSeconds } from './sound-codecs';

interface OggStream {
  readonly codec: 'opus' | 'vorbis' | 'flac' | 'silent' | 'other';
  readonly heads: Buffer[];
  packets: number;
  meter: PacketSeconds | null;
  open: Buffer[];
}

const PAGE_HEADER_BYTES = 27;
const PAGE_SIGNATURE = Buffer.from('OggS\0', 'latin1');
const headPackets = { opus: 2, vorbis: 3, flac: 1, silent: 0, other: 0 };

/**
 * Measures all packets of an Ogg file and ignores the positions that its pages claim; `Infinity` if pages overlap.
 * Every page counts wherever it is, as decoders keep searching for them.
 */
export function oggSeconds(file: Buffer): number {
  const streams = new Map<number, OggStream>();
  let seconds = 0;
  let readBytes = 0;
  for (let at = file.indexOf(PAGE_SIGNATURE); at !== -1 && at + PAGE_HEADER_BYTES <= file.length;) {
    const serial = file.readUInt32LE(at + 14);
    const count = file[at + 26] ?? 0;
    const lengths = file.subarray(at + PAGE_HEADER_BYTES, at + PAGE_HEADER_BYTES + count);
    const body = at + PAGE_HEADER_BYTES + count;
    const isFirst = ((file[at + 5] ?? 0) & 2) !== 0;
    let stream = streams.get(serial);
    if (isFirst || stream === undefined) {
      stream = streamOf(file.subarray(body, body + 32));
      streams.set(serial, stream);
    }
    const page = readPage(file, body, lengths, stream);
    seconds += page.seconds;
    readBytes += page.end - at;
    if (readBytes > 2 * file.length) return Infinity;
    at = file.indexOf(PAGE_SIGNATURE, at + PAGE_SIGNATURE.length);
  }
  return seconds;
}

function readPage(file: Buffer, body: number, lengths: Buffer, stream: OggStream) {
  let seconds = 0;
  let at = body;
  let start = body;
  for (const length of lengths) {
    at += length;
    if (length === 255) continue;
    const piece = file.subarray(start, at);
    const packet = stream.open.length === 0 ? piece : Buffer.concat([...stream.open, piece]);
    seconds += packetSeconds(stream, packet);
    if (stream.open.length > 0) stream.open = [];
    start = at;
  }
  if (at > start) stream.open.push(file.subarray(start, at));
  return { seconds, end: at };
}

function packetSeconds(stream: OggStream, packet: Buffer): number {
  stream.packets += 1;
  if (stream.packets <= headPackets[stream.codec]) {
    stream.heads.push(packet);
    if (stream.packets === headPackets[stream.codec]) stream.meter = meterFor(stream);
    return 0;
  }
  if (stream.codec === 'silent') return 0;
  return stream.meter?.(packet) ?? packet.length / MIN_BYTES_PER_SECOND;
}

const FLAC_HEADER_BYTES = 17;

function meterFor({ codec, heads }: OggStream): PacketSeconds | null {
  if (codec === 'silent') return null;
  const headers = Buffer.concat(heads);
  const setup = codec === 'flac' ? headers.subarray(FLAC_HEADER_BYTES) : headers;
  return meterOf({ codec, setup, rate: 0, bytesPerFrame: 0 });
}

const signatures: readonly (readonly [mark: string, codec: OggStream['codec']])[] = [
  ['OpusHead', 'opus'],
  ['\x01vorbis', 'vorbis'],
  ['\x7fFLAC', 'flac'],
  ['fishead\0', 'silent'],
  ['\x80theora', 'silent'],
];

function streamOf(start: Buffer): OggStream {
  const text = start.toString('latin1');
  const codec = signatures.find(([mark]) => text.startsWith(mark))?.[1] ?? 'other';
  return { codec, heads: [], packets: 0, meter: null, open: [] };
}
