import { monitorEventLoopDelay } from 'node:perf_hooks';
import fc from 'fast-check';
import { recordingOf as recordingOfForm, chargedAudio } from '../../../src/gateway/media/audio';
import { measureAudio } from '../../../src/gateway/media/measure-audio';
import { parseForm } from '../../../src/gateway/media/multipart-form';
import { maxCostOf, costOf, priceRates, usageOf, type UsageReading } from '../../../src/kernel';
import { honestRecordings, recordingNamed } from '../../support/forged-recordings';
import { mp3Of, wavOf } from '../../support/recordings';

const recordingOf = (bytes: Buffer) => {
  const [length = null] = measureAudio([bytes], null);
  return recordingOfForm({ fields: [], files: [] }, length);
};
const byMinute = priceRates({ perMinuteNano: 6_000_000n });
const byToken = priceRates({ input: 2_500_000_000n, output: 10_000_000_000n, audioInput: 6_000_000_000n });
const told = (counts: Parameters<typeof usageOf>[0]): UsageReading => ({
  kind: 'ok',
  usage: usageOf(counts),
});
const absent: UsageReading = { kind: 'absent' };

// Times are measured on a machine that others use too: what really is slow is slow every time.
jest.retryTimes(3);

describe('a recording is sold by its sound', () => {
  const recording = recordingOf(wavOf({ seconds: 30 }));

  test('is what was reported, where that is in the unit of the price', () => {
    const minutes = told({ audioMilliseconds: 30_000 });
    expect(chargedAudio(minutes, recording, byMinute, 0)).toBe(minutes);
    const tokens = told({ audioInputTokens: 300, outputTokens: 50 });
    expect(chargedAudio(tokens, recording, byToken, 0)).toBe(tokens);
  });

  test.each([
    ['minutes, reported tokens', told({ audioInputTokens: 300 }), byMinute],
    ['minutes, reported nothing', absent, byMinute],
    ['tokens, reported minutes', told({ audioMilliseconds: 30_000 }), byToken],
    ['tokens, reported nothing', absent, byToken],
  ])('is estimated when sold by %s', (_what, reading, price) => {
    const sold = chargedAudio(reading, recording, price, 400);
    if (sold.kind !== 'ok') throw new Error(sold.kind);
    expect(sold.usage.source).toBe('estimated');
    expect(costOf(sold.usage, price)).toBeGreaterThan(0n);
  });

  test('is not believed when nothing of that size lasts so long', () => {
    const counted = chargedAudio({ kind: 'absent' }, recording, byMinute, 0);
    expect(counted).toMatchObject({ kind: 'ok', usage: { source: 'estimated' } });
    expect(chargedAudio(told({ audioMilliseconds: 311_000 }), recording, byMinute, 0)).toEqual(counted);
    const invalid: UsageReading = { kind: 'invalid', field: 'usage' };
    expect(chargedAudio(invalid, recording, byMinute, 0)).toMatchObject(counted);
  });

  test('is never more than was held for it', () => {
    const files = fc.oneof(
      fc.integer({ min: 0, max: 20 }).map((seconds) => wavOf({ seconds })),
      fc.integer({ min: 1, max: 200 }).map((frames) => mp3Of({ frames })),
      fc.constantFrom(...honestRecordings.map(recordingNamed)),
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
          const sold = chargedAudio(absent, recordingOf(file), price, Math.min(text, outputBound * 4));
          if (sold.kind !== 'ok') throw new Error(sold.kind);
          expect(costOf(sold.usage, price)).toBeLessThanOrEqual(maxCostOf(bound, [price]));
        },
      ),
      { numRuns: 50 },
    );
  });
});

test('a form as large as may be holds nobody up for long, however much it looks like its boundary', async () => {
  const size = 25 * 1024 * 1024;
  const head = Buffer.from(
    '--frontier-of-parts\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n',
  );
  const end = Buffer.from('\r\n--frontier-of-parts--\r\n');
  for (const filling of ['\r\n--frontier-of-part', '-', 'OggS', 'mvhd']) {
    const form = Buffer.concat([head, Buffer.alloc(size, filling), end]);
    let longest = Infinity;
    for (let round = 0; round < 3; round += 1) {
      const delay = monitorEventLoopDelay({ resolution: 1 });
      delay.enable();
      const { files } = await parseForm(form, 'multipart/form-data; boundary=frontier-of-parts');
      delay.disable();
      expect(files[0]?.bytes.length).toBe(size);
      longest = Math.min(longest, delay.max / 1e6);
    }
    expect(longest).toBeLessThan(100);
  }
});
