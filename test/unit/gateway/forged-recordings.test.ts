import { readFileSync } from 'node:fs';
import { audioKindOf, audioLengthOf } from '../../../src/gateway/media/audio-length';
import { createForgedRecordings, originalRecordings, readRecording } from '../../support/forged-recordings';

/** Playback length in ms of each recording according to ffmpeg, written by `npm run prove:media -- --record`. */
const playbackMs = JSON.parse(readFileSync('test/fixtures/recordings/plays.json', 'utf8')) as Record<
  string,
  number
>;
/** Resampling rounds the length at both ends. */
const ROUNDING_MS = 5;

const lengthOf = (file: Buffer) => {
  const kind = audioKindOf(file);
  if (kind === null) throw new Error('not known');
  return audioLengthOf(kind, file);
};

test.each(originalRecordings)('%s is charged for its decoded length', (name) => {
  const expectedMs = playbackMs[name] ?? NaN;
  const { estimateMs, boundMs } = lengthOf(readRecording(name));
  expect(estimateMs).toBeGreaterThanOrEqual(expectedMs - ROUNDING_MS);
  expect(boundMs).toBeGreaterThanOrEqual(estimateMs);
  // Packets of AC-3 and Speex are not parsed: their bytes are counted.
  if (name !== 'ac3.mp4' && name !== 'speex.ogg') expect(estimateMs).toBeLessThan(expectedMs * 1.1 + 250);
});

test.each(createForgedRecordings())(
  '$name is charged for no less than its decoded length',
  ({ name, file }) => {
    const { estimateMs, boundMs } = lengthOf(file);
    expect(estimateMs).toBeGreaterThanOrEqual((playbackMs[name] ?? NaN) - ROUNDING_MS);
    expect(boundMs).toBeGreaterThanOrEqual(estimateMs);
  },
);

test('every valid beginning of a recording has a length', () => {
  for (const name of originalRecordings) {
    const file = readRecording(name);
    for (let end = 12; end < Math.min(file.length, 2_000); end += 7) {
      const start = file.subarray(0, end);
      const kind = audioKindOf(start);
      if (kind !== null) expect(audioLengthOf(kind, start).estimateMs).toBeGreaterThan(0);
    }
  }
});
