import { audioKindOf, audioLengthOf } from '../../../src/gateway/media/audio-length';
import { chargedSpeech, speechIn } from '../../../src/gateway/media/speech';
import { maxCostOf, costOf, parseUsd, parseUsdPerMillion as usd, priceRates } from '../../../src/kernel';
import { wavOf } from '../../support/recordings';

const body = { input: 'Grüße 🎧', instructions: 'softly' };
const speech = speechIn({ ...body, response_format: 'pcm' }, 80);
const byCharacter = priceRates({ input: usd('15') });
const byToken = priceRates({ input: usd('0.6'), audioOutput: usd('12') });
const byMinute = priceRates({ perMinuteNano: parseUsd('0.006') });

function sold(price: typeof byToken, sound: Buffer | null, of = speech) {
  const reading = chargedSpeech(of, price, sound);
  if (reading.kind !== 'ok') throw new Error(reading.kind);
  return reading.usage;
}

describe('speech is sold by tokens, characters and minutes', () => {
  const minute = Buffer.alloc(48_000 * 60);

  test('is characters, not code units, where the price has no rate of sound', () => {
    expect(sold(byCharacter, minute)).toMatchObject({
      inputTokens: 7,
      audioOutputTokens: 0,
      source: 'supplier',
    });
    expect(costOf(sold(byCharacter, minute), byCharacter)).toBe(7n * 15_000n);
  });

  test('is tokens where it has one, by the length of the sound', () => {
    expect(sold(byToken, minute)).toMatchObject({
      inputTokens: 5,
      audioOutputTokens: 1_250,
      source: 'estimated',
    });
    expect(costOf(sold(byToken, minute), byToken)).toBe(5n * 600n + parseUsd('0.015'));
    // A rate of output alone is that of the sound.
    expect(sold(priceRates({ input: usd('0.6'), output: usd('12') }), minute).audioOutputTokens).toBe(1_250);
  });

  test('is minutes where these have a price', () => {
    expect(costOf(sold(byMinute, minute), byMinute)).toBe(parseUsd('0.006'));
  });

  test('is measured in WAV and AAC too, and estimated where there is none', () => {
    const heard = sold(byToken, wavOf({ seconds: 30 }), speechIn(body, 80)).audioOutputTokens;
    expect(Math.abs(heard - 625)).toBeLessThan(2);
    // Frames of 1,024 samples at 24,000 a second, 100 bytes each.
    const frame = Buffer.concat([
      Buffer.from('fff15840', 'hex'),
      Buffer.from([12, 0x9f, 0xfc]),
      Buffer.alloc(93),
    ]);
    const aac = Buffer.concat(Array.from({ length: 375 }, () => frame));
    expect(audioKindOf(aac)).toBe('aac');
    expect(Math.abs(audioLengthOf('aac', aac).estimateMs - 16_000)).toBeLessThan(2);
    expect(sold(byToken, null).audioOutputTokens).toBeGreaterThan(0);
  });

  test('is never more than what was held for it', () => {
    const hold = (price: typeof byToken) =>
      maxCostOf(
        {
          inputTokens: speech.inputBound,
          maxOutputTokens: speech.outputBound,
          audioMilliseconds: speech.boundMs,
        },
        [price],
      );
    const long = speechIn({ input: 'x'.repeat(4_000) }, 4_050);
    expect(long.inputBound).toBeGreaterThanOrEqual(4_000);
    for (const price of [byCharacter, byToken, byMinute]) {
      expect(hold(price)).toBeGreaterThanOrEqual(costOf(sold(price, null), price));
    }
  });
});
