import { audioKindOf, audioLengthOf } from '../../../src/gateway/media/audio-length';
import { chargedSpeech, speechIn } from '../../../src/gateway/media/speech';
import { maxCostOf, costOf, parseUsd, parseUsdPerMillion as usd, priceRates } from '../../../src/kernel';
import { wavOf } from '../../support/recordings';

const body = { input: 'Grüße 🎧', instructions: 'softly' };
const speech = speechIn({ ...body, response_format: 'pcm' }, 80);
const byCharacter = priceRates({ input: usd('15') });
const byToken = priceRates({ input: usd('0.6'), audioOutput: usd('12') });
const byMinute = priceRates({ perMinuteNano: parseUsd('0.006') });

function billSpeech(price: typeof byToken, sound: Buffer | null, of = speech) {
  const reading = chargedSpeech(of, price, sound);
  if (reading.kind !== 'ok') throw new Error(reading.kind);
  return reading.usage;
}

describe('Billed speech', () => {
  const minuteOfAudio = Buffer.alloc(48_000 * 60);

  test('counts characters, not code units, if the price has no audio rate', () => {
    expect(billSpeech(byCharacter, minuteOfAudio)).toMatchObject({
      inputTokens: 7,
      audioOutputTokens: 0,
      source: 'supplier',
    });
    expect(costOf(billSpeech(byCharacter, minuteOfAudio), byCharacter)).toBe(7n * 15_000n);
  });

  test('counts tokens by the audio duration if the price has an audio rate', () => {
    expect(billSpeech(byToken, minuteOfAudio)).toMatchObject({
      inputTokens: 5,
      audioOutputTokens: 1_250,
      source: 'estimated',
    });
    expect(costOf(billSpeech(byToken, minuteOfAudio), byToken)).toBe(5n * 600n + parseUsd('0.015'));
    // An output rate alone applies to audio.
    expect(
      billSpeech(priceRates({ input: usd('0.6'), output: usd('12') }), minuteOfAudio).audioOutputTokens,
    ).toBe(1_250);
  });

  test('counts minutes if the price is per minute', () => {
    expect(costOf(billSpeech(byMinute, minuteOfAudio), byMinute)).toBe(parseUsd('0.006'));
  });

  test('measures WAV and AAC too, and is estimated without audio', () => {
    const audioTokens = billSpeech(byToken, wavOf({ seconds: 30 }), speechIn(body, 80)).audioOutputTokens;
    expect(Math.abs(audioTokens - 625)).toBeLessThan(2);
    // Frames of 1,024 samples at 24 kHz, 100 bytes each.
    const frame = Buffer.concat([
      Buffer.from('fff15840', 'hex'),
      Buffer.from([12, 0x9f, 0xfc]),
      Buffer.alloc(93),
    ]);
    const aacFile = Buffer.concat(Array.from({ length: 375 }, () => frame));
    expect(audioKindOf(aacFile)).toBe('aac');
    expect(Math.abs(audioLengthOf('aac', aacFile).estimateMs - 16_000)).toBeLessThan(2);
    expect(billSpeech(byToken, null).audioOutputTokens).toBeGreaterThan(0);
  });

  test('never exceeds its hold', () => {
    const holdFor = (price: typeof byToken) =>
      maxCostOf(
        {
          inputTokens: speech.inputBound,
          maxOutputTokens: speech.outputBound,
          audioMilliseconds: speech.boundMs,
        },
        [price],
      );
    const longSpeech = speechIn({ input: 'x'.repeat(4_000) }, 4_050);
    expect(longSpeech.inputBound).toBeGreaterThanOrEqual(4_000);
    for (const price of [byCharacter, byToken, byMinute]) {
      expect(holdFor(price)).toBeGreaterThanOrEqual(costOf(billSpeech(price, null), price));
    }
  });
});
