import { type Mp4Box, boxAt, boxesOf, AmbiguousMp4Error, onlyBox, readBoxes } from './mp4-boxes';
import { formatOf } from './mp4-format';
import { fragmentSamples, type SampleRange, countPlays, readTrackTables } from './mp4-samples';
import { MAX_PLAIN_BYTES_PER_SECOND, MIN_BYTES_PER_SECOND, meterOf } from './sound-codecs';

const MAX_TRACKS = 64;

/**
 * Length of the longest audio track of an MP4 by its samples, as no decoder needs the length in the header. `Infinity`
 * if the file is ambiguous.
 */
export function mp4Seconds(file: Buffer): number {
  try {
    const root = readBoxes(file);
    const tracks = [...boxesOf(root, 'trak')];
    if (tracks.length > MAX_TRACKS || [...boxesOf(root, 'moov')].length > 1) return Infinity;
    return Math.max(0, ...tracks.map((track) => trackSeconds(file, root, track)));
  } catch (error) {
    if (error instanceof AmbiguousMp4Error || error instanceof RangeError) return Infinity;
    throw error;
  }
}

function trackSeconds(file: Buffer, root: Mp4Box, track: Mp4Box): number {
  const kinds = [...boxesOf(track, 'hdlr')].map(({ start }) =>
    file.toString('latin1', start + 8, start + 12),
  );
  const isAudio = kinds.includes('soun') || !kinds.includes('vide');
  const descriptions = isAudio ? onlyBox(track, 'stsd') : null;
  if (descriptions === null) return 0;
  if (file.readUInt32BE(descriptions.start + 4) !== 1) throw new AmbiguousMp4Error('two kinds of sound');
  const entry = boxAt(file, descriptions.start + 8, descriptions.end);
  const format = entry === null ? null : formatOf(file, entry);
  const header = onlyBox(track, 'tkhd');
  const isLong = header !== null && file[header.start] === 1;
  const trackId = header === null ? 0 : file.readUInt32BE(header.start + (isLong ? 20 : 12));
  const tables = readTrackTables(file, track);
  const plays = countPlays(file, track);
  if (format?.codec === 'samples') {
    const bytesPerSample = Math.max(format.bytesPerFrame, tables.sampleBytes);
    const listedBytes = Math.max(tables.inChunks * bytesPerSample, sumBytes(tables.places()));
    const bytes = listedBytes + sumBytes(fragmentSamples(file, root, trackId));
    return (plays * bytes) / Math.min(MAX_PLAIN_BYTES_PER_SECOND, format.bytesPerFrame * format.rate);
  }
  // Decoders read such a track by its chunks only, whatever the size table says.
  if (hasPlainTiming(file, track)) throw new AmbiguousMp4Error('packets in plain chunks');
  const places = [tables.places(), fragmentSamples(file, root, trackId)];
  return plays * secondsOf(file, places, format === null ? null : meterOf(format));
}

function sumBytes(samples: Iterable<SampleRange>): number {
  let sum = 0;
  for (const { bytes } of samples) sum += bytes;
  return sum;
}

function secondsOf(
  file: Buffer,
  lists: readonly Iterable<SampleRange>[],
  meter: ReturnType<typeof meterOf>,
): number {
  let seconds = 0;
  let bytes = 0;
  for (const samples of lists) {
    for (const sample of samples) {
      bytes += sample.bytes;
      if (bytes > 2 * file.length) throw new AmbiguousMp4Error('samples that overlap');
      seconds += meter?.(file.subarray(sample.at, sample.at + sample.bytes)) ?? 0;
    }
  }
  return meter === null ? bytes / MIN_BYTES_PER_SECOND : seconds;
}

function hasPlainTiming(file: Buffer, track: Mp4Box): boolean {
  const times = onlyBox(track, 'stts');
  if (times === null || times.start + 16 > times.end) return false;
  return file.readUInt32BE(times.start + 4) === 1 && file.readUInt32BE(times.start + 12) === 1;
}
