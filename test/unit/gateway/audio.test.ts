import { monitorEventLoopDelay } from 'node:perf_hooks';
import fc from 'fast-check';
import { recordingOf as recordingOfForm, chargedAudio } from '../../../src/gateway/media/audio';
import { measureAudio } from '../../../src/gateway/media/measure-audio';
import { parseForm } from '../../../src/gateway/media/multipart-form';
import { maxCostOf, costOf, priceRates, usageOf, type UsageReading } from '../../../src/kernel';
import { originalRecordings, readRecording } from '../../support/forged-recordings';
import { mp3Of, wavOf } from '../../support/recordings';

const recordingOf = (bytes: Buffer) => {
  const [length = null] = measureAudio([bytes], null);
  return recordingOfForm({ fields: [], files: [] }, length);
};
const byMinute = priceRates({ perMinuteNano: 6_000_000n });
const byToken = priceRates({ input: 2_500_000_000n, output: 10_000_000_000n, audioInput: 6_000_000_000n });
const okReading = (counts: Parameters<typeof usageOf>[0]): UsageReading => ({
  kind: 'ok',
  usage: usageOf(counts),
});
const absent: UsageReading = { kind: 'absent' };

// Times are measured on a shared machine: genuinely slow code is slow on every attempt.
jest.retryTimes(3);

describe('Billed audio', () => {
  const recording = recordingOf(wavOf({ seconds: 30 }));

  test('is the reported usage if its unit matches the price', () => {
    const minutes = okReading({ audioMilliseconds: 30_000 });
    expect(chargedAudio(minutes, recording, byMinute, 0)).toBe(minutes);
    const tokens = okReading({ audioInputTokens: 300, outputTokens: 50 });
    expect(chargedAudio(tokens, recording, byToken, 0)).toBe(tokens);
  });

  test.each([
    ['minutes, reported tokens', okReading({ audioInputTokens: 300 }), byMinute],
    ['minutes, reported nothing', absent, byMinute],
    ['tokens, reported minutes', okReading({ audioMilliseconds: 30_000 }), byToken],
    ['tokens, reported nothing', absent, byToken],
  ])('is estimated when sold by %s', (_what, reading, price) => {
    const billed = chargedAudio(reading, recording, price, 400);
    if (billed.kind !== 'ok') throw new Error(billed.kind);
    expect(billed.usage.source).toBe('estimated');
    expect(costOf(billed.usage, price)).toBeGreaterThan(0n);
  });

  test('ignores a reported length that is impossible for the file size', () => {
    const billed = chargedAudio({ kind: 'absent' }, recording, byMinute, 0);
    expect(billed).toMatchObject({ kind: 'ok', usage: { source: 'estimated' } });
    expect(chargedAudio(okReading({ audioMilliseconds: 311_000 }), recording, byMinute, 0)).toEqual(billed);
    const invalid: UsageReading = { kind: 'invalid', field: 'usage' };
    expect(chargedAudio(invalid, recording, byMinute, 0)).toMatchObject(billed);
  });

  test('never exceeds its hold', () => {
    const files = fc.oneof(
      fc.integer({ min: 0, max: 20 }).map((seconds) => wavOf({ seconds })),
      fc.integer({ min: 1, max: 200 }).map((frames) => mp3Of({ frames })),
      fc.constantFrom(...originalRecordings.map(readRecording)),
    );
    fc.assert(
      fc.property(
        files,
        fc.integer({ min: 0, max: 2_000 }),
        fc.constantFrom(byMinute, byToken),
        (file, text, price) => {
          const { boundMs, inputBound, outputBound, estimateMs } = recordingOf(file);
          expect(estimateMs).toBeLessThanOrEqual(boundMs);
          const bound = { inputTokens: inputBound, maxOutputTokens: outputBound, audioMilliseconds: boundMs };
          const billed = chargedAudio(absent, recordingOf(file), price, Math.min(text, outputBound * 4));
          if (billed.kind !== 'ok') throw new Error(billed.kind);
          expect(costOf(billed.usage, price)).toBeLessThanOrEqual(maxCostOf(bound, [price]));
        },
      ),
      { numRuns: 50 },
    );
  });
});

test('form of the maximum size does not block the event loop, however similar it is to its boundary', async () => {
  const size = 25 * 1024 * 1024;
  const head = Buffer.from(
    '--frontier-of-parts\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n',
  );
  const end = Buffer.from('\r\n--frontier-of-parts--\r\n');
  for (const filler of ['\r\n--frontier-of-part', '-', 'OggS', 'mvhd']) {
    const form = Buffer.concat([head, Buffer.alloc(size, filler), end]);
    let minDelay = Infinity;
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const delay = monitorEventLoopDelay({ resolution: 1 });
      delay.enable();
      const { files } = await parseForm(form, 'multipart/form-data; boundary=frontier-of-parts');
      delay.disable();
      expect(files[0]?.bytes.length).toBe(size);
      minDelay = Math.min(minDelay, delay.max / 1e6);
    }
    expect(minDelay).toBeLessThan(100);
  }
});
