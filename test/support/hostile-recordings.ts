const bytesOf = (digits: string): Buffer => Buffer.from(digits, 'hex');
const boxOf = (name: string): Buffer => Buffer.concat([bytesOf('00000008'), Buffer.from(name, 'latin1')]);

function pageOf(lengths: readonly number[], body: Buffer, flags = 0): Buffer {
  const head = Buffer.alloc(27);
  head.write('OggS', 0, 'latin1');
  head[5] = flags;
  head[26] = lengths.length;
  return Buffer.concat([head, Buffer.from(lengths), body]);
}

const opusHead = Buffer.concat([Buffer.from('OpusHead', 'latin1'), Buffer.alloc(11)]);
const oggStart = pageOf([opusHead.length], opusHead, 2);
const webmStart = bytesOf('1a45dfa380');
const mp3Frame = Buffer.alloc(24);
mp3Frame.writeUInt32BE(0xffe31000);

/** First bytes of a file, and the part that fills the remainder: as many parser elements as fit. */
const patterns: Readonly<Record<string, readonly [start: Buffer, part: Buffer]>> = {
  'WebM with empty clusters': [webmStart, bytesOf('1f43b67580')],
  'WebM with empty blocks': [
    Buffer.concat([webmStart, bytesOf('1f43b67501ffffffffffffff')]),
    bytesOf('a380'),
  ],
  'MP4 with millions of boxes': [boxOf('ftyp'), boxOf('free')],
  'MP4 with millions of fragments': [boxOf('ftyp'), boxOf('moof')],
  'Ogg with tiny pages': [oggStart, pageOf([], Buffer.alloc(0))],
  'Ogg with empty packets': [oggStart, pageOf(Array<number>(255).fill(0), Buffer.alloc(0))],
  'MP3 with small frames': [Buffer.alloc(0), mp3Frame],
  'MP3 with empty tags': [Buffer.alloc(0), Buffer.concat([Buffer.from('ID3'), Buffer.alloc(7)])],
  'FLAC with nothing but heads': [Buffer.concat([Buffer.from('fLaC'), Buffer.alloc(40)]), bytesOf('fff8')],
};

export const hostileRecordings: readonly string[] = Object.keys(patterns);

export function createHostileRecording(name: string, size: number): Buffer<ArrayBuffer> {
  const [start, part] = patterns[name]!;
  const file = Buffer.alloc(size, part);
  // Repeats the part after the start.
  file.copy(file, start.length, 0, size - start.length);
  start.copy(file);
  return file;
}
