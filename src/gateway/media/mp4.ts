import { type Box, boxAt, boxesOf, Contradiction, onlyBox, readBoxes } from './mp4-boxes';
import { formatOf } from './mp4-format';
import { fragmentPlaces, type Place, playsOf, tablesOf } from './mp4-samples';
import { FASTEST_SAMPLES, LEAST_RATE, meterOf } from './sound-codecs';

const MOST_TRACKS = 64;

/**
 * The sound of an MP4 is as long as its samples: heads claim a length that no decoder needs. The longest
 * track counts. It is `Infinity` where the file can be understood in two ways.
 */
export function mp4Seconds(file: Buffer): number {
  try {
    const root = readBoxes(file);
    const tracks = [...boxesOf(root, 'trak')];
    if (tracks.length > MOST_TRACKS || [...boxesOf(root, 'moov')].length > 1) return Infinity;
    return Math.max(0, ...tracks.map((track) => trackSeconds(file, root, track)));
  } catch (error) {
    // A table that is cut off is none.
    if (error instanceof Contradiction || error instanceof RangeError) return Infinity;
    throw error;
  }
}

function trackSeconds(file: Buffer, root: Box, track: Box): number {
  const kinds = [...boxesOf(track, 'hdlr')].map(({ start }) =>
    file.toString('latin1', start + 8, start + 12),
  );
  const isSound = kinds.includes('soun') || !kinds.includes('vide');
  const descriptions = isSound ? onlyBox(track, 'stsd') : null;
  if (descriptions === null) return 0;
  if (file.readUInt32BE(descriptions.start + 4) !== 1) throw new Contradiction('two kinds of sound');
  const entry = boxAt(file, descriptions.start + 8, descriptions.end);
  const format = entry === null ? null : formatOf(file, entry);
  const header = onlyBox(track, 'tkhd');
  const isLong = header !== null && file[header.start] === 1;
  const trackId = header === null ? 0 : file.readUInt32BE(header.start + (isLong ? 20 : 12));
  const tables = tablesOf(file, track);
  const plays = playsOf(file, track);
  if (format?.codec === 'samples') {
    const perSample = Math.max(format.bytesPerFrame, tables.sampleBytes);
    const listed = Math.max(tables.inChunks * perSample, bytesIn(tables.places()));
    const bytes = listed + bytesIn(fragmentPlaces(file, root, trackId));
    return (plays * bytes) / Math.min(FASTEST_SAMPLES, format.bytesPerFrame * format.rate);
  }
  // Such a track is read by its chunks alone, whatever the table of sizes says.
  if (isOneByOne(file, track)) throw new Contradiction('packets in plain chunks');
  const places = [tables.places(), fragmentPlaces(file, root, trackId)];
  return plays * secondsOf(file, places, format === null ? null : meterOf(format));
}

function bytesIn(places: Iterable<Place>): number {
  let sum = 0;
  for (const { bytes } of places) sum += bytes;
  return sum;
}

function secondsOf(
  file: Buffer,
  lists: readonly Iterable<Place>[],
  meter: ReturnType<typeof meterOf>,
): number {
  let seconds = 0;
  let bytes = 0;
  for (const places of lists) {
    for (const place of places) {
      bytes += place.bytes;
      // Honest tables name every byte once.
      if (bytes > 2 * file.length) throw new Contradiction('samples that overlap');
      seconds += meter?.(file.subarray(place.at, place.at + place.bytes)) ?? 0;
    }
  }
  return meter === null ? bytes / LEAST_RATE : seconds;
}

/** One row that gives every sample the length of one: how plain sound is told of. */
function isOneByOne(file: Buffer, track: Box): boolean {
  const times = onlyBox(track, 'stts');
  if (times === null || times.start + 16 > times.end) return false;
  return file.readUInt32BE(times.start + 4) === 1 && file.readUInt32BE(times.start + 12) === 1;
}
