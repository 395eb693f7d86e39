/** One of the streams in the file, which may follow one another or lie side by side. */
interface Stream {
  readonly codec: 'opus' | 'vorbis' | 'other';
  readonly sampleRate: number;
  /** The samples of a block of Vorbis at most; a packet makes no more than half of them. */
  readonly longestBlock: number;
  packets: number;
  samples: number;
  /** The first bytes of a packet that the next page goes on with. */
  open: readonly number[] | null;
}

/** So much a packet of Opus holds at most, at 48 kHz: 120 milliseconds. */
const MOST_OPUS_SAMPLES = 5_760;
const PAGE_HEAD = 27;

/**
 * The greatest total length of all packets in an Ogg file. Opus packets state their length; Vorbis packets count by
 * the longest block of their stream. Zero for other contents.
 */
export function secondsOfOggPackets(file: Buffer): number {
  const streams = new Map<number, Stream>();
  let seconds = 0;
  for (
    let at = file.indexOf('OggS');
    at !== -1 && at + PAGE_HEAD <= file.length;
    at = file.indexOf('OggS', at)
  ) {
    const serial = file.readUInt32LE(at + 14);
    const count = file[at + 26] ?? 0;
    const lengths = file.subarray(at + PAGE_HEAD, at + PAGE_HEAD + count);
    const body = at + PAGE_HEAD + count;
    const isFirst = ((file[at + 5] ?? 0) & 2) !== 0;
    let stream = streams.get(serial);
    if (isFirst || stream === undefined) {
      if (stream !== undefined) seconds += secondsOf(stream);
      stream = streamOf(file.subarray(body, body + 32));
      streams.set(serial, stream);
    }
    at = readPage(file, body, lengths, stream);
  }
  for (const stream of streams.values()) seconds += secondsOf(stream);
  return seconds;
}

const secondsOf = ({ samples, sampleRate }: Stream): number => (sampleRate > 0 ? samples / sampleRate : 0);

/** Counts the packets that end on the page; answers where it ends. */
function readPage(file: Buffer, body: number, lengths: Buffer, stream: Stream): number {
  let at = body;
  let head = stream.open;
  for (const length of lengths) {
    head ??= [...file.subarray(at, at + Math.min(2, length))];
    at += length;
    if (length === 255) continue;
    addPacket(stream, head);
    head = null;
  }
  stream.open = head;
  return at;
}

function addPacket(stream: Stream, head: readonly number[]): void {
  stream.packets += 1;
  const isText = stream.packets <= (stream.codec === 'opus' ? 2 : 3);
  if (isText) return;
  if (stream.codec === 'opus') stream.samples += opusSamples(head);
  if (stream.codec === 'vorbis') stream.samples += stream.longestBlock / 2;
}

function streamOf(start: Buffer): Stream {
  const isVorbis = start.length >= 29 && start.toString('latin1', 0, 7) === '\x01vorbis';
  const isOpus = start.toString('latin1', 0, 8) === 'OpusHead';
  return {
    codec: isVorbis ? 'vorbis' : isOpus ? 'opus' : 'other',
    sampleRate: isVorbis ? start.readUInt32LE(12) : 48_000,
    longestBlock: isVorbis ? Math.max(1 << (start.readUInt8(28) >> 4), 1 << (start.readUInt8(28) & 15)) : 0,
    packets: 0,
    samples: 0,
    open: null,
  };
}

/** The first byte tells how long a frame is, and how many there are unless the second one does. */
function opusSamples([first, second = 0]: readonly number[]): number {
  if (first === undefined) return MOST_OPUS_SAMPLES;
  const mode = first >> 3;
  const lengths =
    mode < 12 ? [480, 960, 1_920, 2_880] : mode < 16 ? [480, 960, 480, 960] : [120, 240, 480, 960];
  const frames = [1, 2, 2, second & 63][first & 3] ?? 1;
  return Math.min(MOST_OPUS_SAMPLES, (lengths[mode & 3] ?? 2_880) * frames);
}
