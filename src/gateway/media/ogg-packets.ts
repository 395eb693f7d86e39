import { LEAST_RATE, meterOf, type PacketSeconds } from './sound-codecs';

/** One of the streams in the file, which may follow one another or lie side by side. */
interface Stream {
  readonly codec: 'opus' | 'vorbis' | 'flac' | 'silent' | 'other';
  readonly heads: Buffer[];
  packets: number;
  meter: PacketSeconds | null;
  /** The pieces of a packet that the next page goes on with. */
  open: Buffer[];
}

const PAGE_HEAD = 27;
const MARK = Buffer.from('OggS\0', 'latin1');
/** So many packets set a decoder up. */
const headPackets = { opus: 2, vorbis: 3, flac: 1, silent: 0, other: 0 };

/**
 * All packets of an Ogg file are measured together, whatever its pages claim. Every page counts, wherever it
 * lies, since decoders go on searching for one. It is `Infinity` where pages overlap.
 */
export function oggSeconds(file: Buffer): number {
  const streams = new Map<number, Stream>();
  let seconds = 0;
  let read = 0;
  for (let at = file.indexOf(MARK); at !== -1 && at + PAGE_HEAD <= file.length;) {
    const serial = file.readUInt32LE(at + 14);
    const count = file[at + 26] ?? 0;
    const lengths = file.subarray(at + PAGE_HEAD, at + PAGE_HEAD + count);
    const body = at + PAGE_HEAD + count;
    const isFirst = ((file[at + 5] ?? 0) & 2) !== 0;
    let stream = streams.get(serial);
    if (isFirst || stream === undefined) {
      stream = streamOf(file.subarray(body, body + 32));
      streams.set(serial, stream);
    }
    const page = readPage(file, body, lengths, stream);
    seconds += page.seconds;
    read += page.end - at;
    if (read > 2 * file.length) return Infinity;
    at = file.indexOf(MARK, at + MARK.length);
  }
  return seconds;
}

/** Counts the packets that end on the page. */
function readPage(file: Buffer, body: number, lengths: Buffer, stream: Stream) {
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

function packetSeconds(stream: Stream, packet: Buffer): number {
  stream.packets += 1;
  if (stream.packets <= headPackets[stream.codec]) {
    stream.heads.push(packet);
    if (stream.packets === headPackets[stream.codec]) stream.meter = meterFor(stream);
    return 0;
  }
  if (stream.codec === 'silent') return 0;
  return stream.meter?.(packet) ?? packet.length / LEAST_RATE;
}

const FLAC_HEAD = 17;

function meterFor({ codec, heads }: Stream): PacketSeconds | null {
  if (codec === 'silent') return null;
  const all = Buffer.concat(heads);
  const setup = codec === 'flac' ? all.subarray(FLAC_HEAD) : all;
  return meterOf({ codec, setup, rate: 0, bytesPerFrame: 0 });
}

/** These marks begin a stream: of sound by the codecs known here, or of no sound. */
const marks: readonly (readonly [mark: string, codec: Stream['codec']])[] = [
  ['OpusHead', 'opus'],
  ['\x01vorbis', 'vorbis'],
  ['\x7fFLAC', 'flac'],
  ['fishead\0', 'silent'],
  ['\x80theora', 'silent'],
];

function streamOf(start: Buffer): Stream {
  const text = start.toString('latin1');
  const codec = marks.find(([mark]) => text.startsWith(mark))?.[1] ?? 'other';
  return { codec, heads: [], packets: 0, meter: null, open: [] };
}
