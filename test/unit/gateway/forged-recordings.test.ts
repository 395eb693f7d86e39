import { readFileSync } from 'node:fs';
import { audioKindOf, audioLengthOf } from '../../../src/gateway/media/audio-length';
import { forgedRecordings, honestRecordings, recordingNamed } from '../../support/forged-recordings';

/** Milliseconds that ffmpeg plays of each: written by `npm run prove:media -- --record`. */
const plays = JSON.parse(readFileSync('test/fixtures/recordings/plays.json', 'utf8')) as Record<
  string,
  number
>;
/** Resampling rounds this at both ends. */
const ROUNDING_MS = 5;

const lengthOf = (file: Buffer) => {
  const kind = audioKindOf(file);
  if (kind === null) throw new Error('not known');
  return audioLengthOf(kind, file);
};

test.each(honestRecordings)('%s is charged for what a decoder plays', (name) => {
  const played = plays[name] ?? NaN;
  const { estimateMs, boundMs } = lengthOf(recordingNamed(name));
  expect(estimateMs).toBeGreaterThanOrEqual(played - ROUNDING_MS);
  expect(boundMs).toBeGreaterThanOrEqual(estimateMs);
  // Packets of AC-3 and Speex are not looked into: their bytes count.
  if (name !== 'ac3.mp4' && name !== 'speex.ogg') expect(estimateMs).toBeLessThan(played * 1.1 + 250);
});

test.each(forgedRecordings())('$name: charged for no less than a decoder plays', ({ name, file }) => {
  const { estimateMs, boundMs } = lengthOf(file);
  expect(estimateMs).toBeGreaterThanOrEqual((plays[name] ?? NaN) - ROUNDING_MS);
  expect(boundMs).toBeGreaterThanOrEqual(estimateMs);
});

test('every proper beginning of a recording has a length', () => {
  for (const name of honestRecordings) {
    const file = recordingNamed(name);
    for (let end = 12; end < Math.min(file.length, 2_000); end += 7) {
      const start = file.subarray(0, end);
      const kind = audioKindOf(start);
      if (kind !== null) expect(audioLengthOf(kind, start).estimateMs).toBeGreaterThan(0);
    }
  }
});
