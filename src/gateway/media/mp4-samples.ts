import { type Box, boxesOf, Contradiction, onlyBox } from './mp4-boxes';

/** One sample lies here in the file. */
export interface Place {
  readonly at: number;
  readonly bytes: number;
}

/** No sound of 25 MB has more samples, and none takes longer to be looked through. */
const MOST_SAMPLES = 4_000_000;

/** A table of rows of as many bytes each, behind a head of four bytes and the number of rows. */
interface Table {
  readonly rows: number;
  readonly cell: (row: number, column: number) => number;
}

const noTable: Table = { rows: 0, cell: () => 0 };

function tableOf(file: Buffer, box: Box | null, rowBytes: number): Table {
  if (box === null || box.start + 8 > box.end) return noTable;
  const fitting = Math.floor((box.end - box.start - 8) / rowBytes);
  const rows = Math.min(file.readUInt32BE(box.start + 4), fitting);
  return { rows, cell: (row, column) => file.readUInt32BE(box.start + 8 + row * rowBytes + column * 4) };
}

/** The tables of one track: which samples lie in which chunk of the file. */
export interface TrackTables {
  /** Plain sound is played by the samples of all chunks together. */
  readonly inChunks: number;
  readonly sampleBytes: number;
  readonly places: () => Generator<Place>;
}

export function tablesOf(file: Buffer, track: Box): TrackTables {
  const sizes = onlyBox(track, 'stsz');
  if (onlyBox(track, 'stz2') !== null) throw new Contradiction('sizes in short');
  const offsets = chunkOffsets(file, track);
  const runs = tableOf(file, onlyBox(track, 'stsc'), 12);
  const hasSizes = sizes !== null && sizes.start + 12 <= sizes.end;
  const sampleBytes = hasSizes ? file.readUInt32BE(sizes.start + 4) : 0;
  const told = hasSizes ? file.readUInt32BE(sizes.start + 8) : 0;
  const listed = hasSizes && sampleBytes === 0 ? Math.floor((sizes.end - sizes.start - 12) / 4) : told;
  const count = Math.min(told, listed);
  const sizeOf = (sample: number): number =>
    sampleBytes > 0 || sizes === null ? sampleBytes : file.readUInt32BE(sizes.start + 12 + sample * 4);
  return {
    sampleBytes,
    inChunks: runs.rows === 0 ? 0 : samplesInChunks(runs, offsets.length),
    *places() {
      let sample = 0;
      for (const [chunk, perChunk] of chunksOf(runs, offsets.length)) {
        let at = offsets[chunk] ?? 0;
        for (let place = 0; place < perChunk && sample < count; place += 1, sample += 1) {
          if (sample > MOST_SAMPLES) throw new Contradiction('too many samples');
          const bytes = sizeOf(sample);
          yield { at, bytes };
          at += bytes;
        }
      }
    },
  };
}

function chunkOffsets(file: Buffer, track: Box): readonly number[] {
  const short = tableOf(file, onlyBox(track, 'stco'), 4);
  const long = tableOf(file, onlyBox(track, 'co64'), 8);
  if (short.rows > 0 && long.rows > 0) throw new Contradiction('two tables of chunks');
  return short.rows > 0
    ? Array.from({ length: short.rows }, (_, row) => short.cell(row, 0))
    : Array.from({ length: long.rows }, (_, row) => long.cell(row, 0) * 2 ** 32 + long.cell(row, 1));
}

/** Each chunk with its number of samples: a row holds for all chunks up to the first of the next row. */
function* chunksOf(runs: Table, chunks: number): Generator<readonly [chunk: number, samples: number]> {
  for (let chunk = 0, row = 0; chunk < chunks && runs.rows > 0; chunk += 1) {
    while (row + 1 < runs.rows && runs.cell(row + 1, 0) <= chunk + 1) row += 1;
    yield [chunk, runs.cell(row, 1)];
  }
}

function samplesInChunks(runs: Table, chunks: number): number {
  let samples = 0;
  for (const [, perChunk] of chunksOf(runs, chunks)) samples += perChunk;
  return samples;
}

/** A track plays its sound so often: a list of edits may name the same stretch again and again. */
export function playsOf(file: Buffer, track: Box): number {
  const box = onlyBox(track, 'elst');
  if (box === null || box.start + 8 > box.end) return 1;
  const isLong = file[box.start] === 1;
  const { rows, cell } = tableOf(file, box, isLong ? 20 : 12);
  let plays = 0;
  // An edit that begins at −1 is a pause.
  for (let row = 0; row < rows; row += 1) plays += cell(row, isLong ? 2 : 1) === 0xffff_ffff ? 0 : 1;
  return Math.max(1, plays);
}

/** The contents of a box begin after its head. */
const BOX_HEAD = 8;
const FLAGS = { base: 0x1, description: 0x2, duration: 0x8, size: 0x10, flags: 0x20, baseIsMoof: 0x20000 };
const RUN = { offset: 0x1, first: 0x4, duration: 0x100, size: 0x200, flags: 0x400, shift: 0x800 };

/** The samples of a track in fragments, each of which has tables of its own. */
export function* fragmentPlaces(file: Buffer, root: Box, trackId: number): Generator<Place> {
  let samples = 0;
  const usual = usualSizeOf(file, root, trackId);
  for (const moof of boxesOf(root, 'moof')) {
    let implicit = moof.start - BOX_HEAD;
    for (const traf of boxesOf(moof, 'traf')) {
      const head = onlyBox(traf, 'tfhd');
      if (head === null || head.start + 8 > head.end) continue;
      const fields = fragmentHead(file, head);
      const base = fields.base ?? (fields.baseIsMoof ? moof.start - BOX_HEAD : implicit);
      for (const run of boxesOf(traf, 'trun')) {
        for (const place of runPlaces(file, run, base, fields.size ?? usual)) {
          if ((samples += 1) > MOST_SAMPLES) throw new Contradiction('too many samples');
          implicit = place.at + place.bytes;
          if (fields.trackId === trackId) yield place;
        }
      }
    }
  }
}

function usualSizeOf(file: Buffer, root: Box, trackId: number): number {
  for (const { start, end } of boxesOf(root, 'trex')) {
    if (start + 20 <= end && file.readUInt32BE(start + 4) === trackId) return file.readUInt32BE(start + 16);
  }
  return 0;
}

function fragmentHead(file: Buffer, { start, end }: Box) {
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

function* runPlaces(file: Buffer, { start, end }: Box, base: number, usual: number): Generator<Place> {
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
    const bytes = has(RUN.size) > 0 ? file.readUInt32BE(row + has(RUN.duration)) : usual;
    yield { at, bytes };
    at += bytes;
  }
}
