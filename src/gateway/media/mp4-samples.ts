import { type Mp4Box, boxesOf, AmbiguousMp4Error, onlyBox } from './mp4-boxes';

export interface SampleRange {
  readonly at: number;
  readonly bytes: number;
}

/** More samples than any accepted file can have. */
const MAX_SAMPLES = 4_000_000;

interface Mp4Table {
  readonly rows: number;
  readonly cell: (row: number, column: number) => number;
}

const EMPTY_TABLE: Mp4Table = { rows: 0, cell: () => 0 };

function readTable(file: Buffer, box: Mp4Box | null, rowBytes: number): Mp4Table {
  if (box === null || box.start + 8 > box.end) return EMPTY_TABLE;
  const fittingRows = Math.floor((box.end - box.start - 8) / rowBytes);
  const rows = Math.min(file.readUInt32BE(box.start + 4), fittingRows);
  return { rows, cell: (row, column) => file.readUInt32BE(box.start + 8 + row * rowBytes + column * 4) };
}

export interface TrackTables {
  readonly inChunks: number;
  readonly sampleBytes: number;
  readonly places: () => Generator<SampleRange>;
}

export function readTrackTables(file: Buffer, track: Mp4Box): TrackTables {
  const sizes = onlyBox(track, 'stsz');
  if (onlyBox(track, 'stz2') !== null) throw new AmbiguousMp4Error('sizes in short');
  const offsets = chunkOffsets(file, track);
  const runs = readTable(file, onlyBox(track, 'stsc'), 12);
  const hasSizes = sizes !== null && sizes.start + 12 <= sizes.end;
  const sampleBytes = hasSizes ? file.readUInt32BE(sizes.start + 4) : 0;
  const declaredCount = hasSizes ? file.readUInt32BE(sizes.start + 8) : 0;
  const listedCount =
    hasSizes && sampleBytes === 0 ? Math.floor((sizes.end - sizes.start - 12) / 4) : declaredCount;
  const count = Math.min(declaredCount, listedCount);
  const sizeOf = (sample: number): number =>
    sampleBytes > 0 || sizes === null ? sampleBytes : file.readUInt32BE(sizes.start + 12 + sample * 4);
  return {
    sampleBytes,
    inChunks: runs.rows === 0 ? 0 : samplesInChunks(runs, offsets.length),
    *places() {
      let sample = 0;
      for (const [chunk, perChunk] of chunksOf(runs, offsets.length)) {
        let at = offsets[chunk] ?? 0;
        for (let index = 0; index < perChunk && sample < count; index += 1, sample += 1) {
          if (sample > MAX_SAMPLES) throw new AmbiguousMp4Error('too many samples');
          const bytes = sizeOf(sample);
          yield { at, bytes };
          at += bytes;
        }
      }
    },
  };
}

function chunkOffsets(file: Buffer, track: Mp4Box): readonly number[] {
  const short = readTable(file, onlyBox(track, 'stco'), 4);
  const long = readTable(file, onlyBox(track, 'co64'), 8);
  if (short.rows > 0 && long.rows > 0) throw new AmbiguousMp4Error('two tables of chunks');
  return short.rows > 0
    ? Array.from({ length: short.rows }, (_, row) => short.cell(row, 0))
    : Array.from({ length: long.rows }, (_, row) => long.cell(row, 0) * 2 ** 32 + long.cell(row, 1));
}

/** Chunks with their number of samples: a row applies to all chunks before the first chunk of the next row. */
function* chunksOf(runs: Mp4Table, chunks: number): Generator<readonly [chunk: number, samples: number]> {
  for (let chunk = 0, row = 0; chunk < chunks && runs.rows > 0; chunk += 1) {
    while (row + 1 < runs.rows && runs.cell(row + 1, 0) <= chunk + 1) row += 1;
    yield [chunk, runs.cell(row, 1)];
  }
}

function samplesInChunks(runs: Mp4Table, chunks: number): number {
  let samples = 0;
  for (const [, perChunk] of chunksOf(runs, chunks)) samples += perChunk;
  return samples;
}

/** Number of times a track plays its audio, as an edit list can repeat a section. */
export function countPlays(file: Buffer, track: Mp4Box): number {
  const box = onlyBox(track, 'elst');
  if (box === null || box.start + 8 > box.end) return 1;
  const isLong = file[box.start] === 1;
  const { rows, cell } = readTable(file, box, isLong ? 20 : 12);
  let plays = 0;
  // An edit that starts at −1 is a pause.
  for (let row = 0; row < rows; row += 1) plays += cell(row, isLong ? 2 : 1) === 0xffff_ffff ? 0 : 1;
  return Math.max(1, plays);
}

const BOX_HEADER_BYTES = 8;
const FLAGS = { base: 0x1, description: 0x2, duration: 0x8, size: 0x10, flags: 0x20, baseIsMoof: 0x20000 };
const RUN = { offset: 0x1, first: 0x4, duration: 0x100, size: 0x200, flags: 0x400, shift: 0x800 };

export function* fragmentSamples(file: Buffer, root: Mp4Box, trackId: number): Generator<SampleRange> {
  let samples = 0;
  const defaultSize = defaultSampleSize(file, root, trackId);
  for (const moof of boxesOf(root, 'moof')) {
    let implicit = moof.start - BOX_HEADER_BYTES;
    for (const traf of boxesOf(moof, 'traf')) {
      const head = onlyBox(traf, 'tfhd');
      if (head === null || head.start + 8 > head.end) continue;
      const fields = fragmentHead(file, head);
      const base = fields.base ?? (fields.baseIsMoof ? moof.start - BOX_HEADER_BYTES : implicit);
      for (const run of boxesOf(traf, 'trun')) {
        for (const sample of runSamples(file, run, base, fields.size ?? defaultSize)) {
          if ((samples += 1) > MAX_SAMPLES) throw new AmbiguousMp4Error('too many samples');
          implicit = sample.at + sample.bytes;
          if (fields.trackId === trackId) yield sample;
        }
      }
    }
  }
}

function defaultSampleSize(file: Buffer, root: Mp4Box, trackId: number): number {
  for (const { start, end } of boxesOf(root, 'trex')) {
    if (start + 20 <= end && file.readUInt32BE(start + 4) === trackId) return file.readUInt32BE(start + 16);
  }
  return 0;
}

function fragmentHead(file: Buffer, { start, end }: Mp4Box) {
  const flags = file.readUInt32BE(start) & 0xff_ffff;
  let at = start + 8;
  const has = (flag: number, bytes: number): number | null => {
    if ((flags & flag) === 0 || at + bytes > end) return null;
    at += bytes;
    return at - bytes;
  };
  const base = has(FLAGS.base, 8);
  has(FLAGS.description, 4);
  has(FLAGS.duration, 4);
  const size = has(FLAGS.size, 4);
  return {
    trackId: file.readUInt32BE(start + 4),
    base: base === null ? null : Number(file.readBigUInt64BE(base)),
    size: size === null ? null : file.readUInt32BE(size),
    baseIsMoof: (flags & FLAGS.baseIsMoof) !== 0,
  };
}

function* runSamples(
  file: Buffer,
  { start, end }: Mp4Box,
  base: number,
  defaultSize: number,
): Generator<SampleRange> {
  if (start + 8 > end) return;
  const flags = file.readUInt32BE(start) & 0xff_ffff;
  const has = (flag: number): number => ((flags & flag) === 0 ? 0 : 4);
  const count = file.readUInt32BE(start + 4);
  const head = start + 8 + has(RUN.offset) + has(RUN.first);
  const rowBytes = has(RUN.duration) + has(RUN.size) + has(RUN.flags) + has(RUN.shift);
  let at = base + (has(RUN.offset) > 0 && start + 12 <= end ? file.readInt32BE(start + 8) : 0);
  for (let sample = 0; sample < count; sample += 1) {
    const row = head + sample * rowBytes;
    if (row + rowBytes > end) return;
    const bytes = has(RUN.size) > 0 ? file.readUInt32BE(row + has(RUN.duration)) : defaultSize;
    yield { at, bytes };
    at += bytes;
  }
}
