import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseExactly } from '../../../../src/catalogue/plan/price-list/exact-json';
import { litellmPrices } from '../../../../src/catalogue/plan/price-list/litellm';
import { modelsDevPrices } from '../../../../src/catalogue/plan/price-list/models-dev';
import type { PriceFormat } from '../../../../src/catalogue/plan/price-list/offer';
import { parseUsd, parseUsdPerMillion as usd, priceRates } from '../../../../src/kernel';

function listIn(format: PriceFormat, file: string) {
  const text = readFileSync(join(__dirname, '../../../fixtures/prices', file), 'utf8');
  const { offers, refused, unknownKeys } = format.read(parseExactly(text));
  const rates = new Map(offers.map((offer) => [offer.id, offer.rates]));
  const unmappedKeysOf = (model: string): string[] =>
    unknownKeys.filter(({ id }) => id === model).map(({ key }) => key);
  return { rates, leftOf: unmappedKeysOf, refused: new Map(refused.map(({ id, reason }) => [id, reason])) };
}

describe('LiteLLM price components', () => {
  const { rates, leftOf, refused } = listIn(litellmPrices, 'litellm.json');

  test('service tiers become modes that default to the standard rate, never to a cheaper tier', () => {
    const longContext = { aboveInputTokens: 272_000 };
    expect(rates.get('tiers')).toEqual(
      priceRates({
        input: usd('2.5'),
        output: usd('15'),
        cacheRead: usd('0.25'),
        tiers: [{ ...longContext, input: usd('5'), output: usd('22.5') }],
        modes: {
          'service_tier=flex': {
            rates: {
              input: usd('1.25'),
              output: usd('7.5'),
              cacheRead: usd('0.13'),
              tiers: [{ ...longContext, input: usd('2.5'), output: usd('11.25') }],
            },
          },
          'service_tier=priority': {
            rates: {
              input: usd('5'),
              output: usd('30'),
              cacheRead: usd('0.25'),
              tiers: [{ ...longContext, input: usd('5'), output: usd('30') }],
            },
          },
          'service_tier=batch': {
            rates: {
              input: usd('1.25'),
              output: usd('7.5'),
              cacheRead: usd('0.25'),
              tiers: [{ ...longContext, input: usd('5'), output: usd('22.5') }],
            },
          },
        },
        uses: {
          web_search: parseUsd('0.02'),
          web_search_low: parseUsd('0.01'),
          web_search_medium: parseUsd('0.02'),
          web_search_high: parseUsd('0.05'),
          file_search: parseUsd('0.0025'),
          code_execution: parseUsd('0.03'),
        },
      }),
    );
    expect(leftOf('tiers')).toEqual([
      'file_search_cost_per_gb_per_day',
      'regional_processing_uplift_multiplier_eu',
    ]);
  });

  test('speed and region become multipliers, and one-hour cache writes have tiers too', () => {
    expect(rates.get('modes')).toEqual(
      priceRates({
        input: usd('5'),
        output: usd('25'),
        cacheWrite: usd('6.25'),
        cacheWriteLong: usd('10'),
        tiers: [{ aboveInputTokens: 200_000, cacheWrite: usd('12.5'), cacheWriteLong: usd('20') }],
        modes: { 'speed=fast': { multiplier: 6_000_000n }, 'inference_geo=us': { multiplier: 1_100_000n } },
      }),
    );
    expect(leftOf('modes')).toEqual(['provider_specific_entry.bedrock_invocation_schema']);
  });

  test('grounding is priced per unit that the list names, or not at all', () => {
    expect(rates.get('paints')).toEqual(
      priceRates({
        input: usd('0.3'),
        output: usd('2.5'),
        imageOutput: usd('30'),
        uses: {
          web_search: parseUsd('0.014'),
          web_search_medium: parseUsd('0.014'),
          grounding_query: parseUsd('0.014'),
          maps_grounding: parseUsd('0.025'),
        },
      }),
    );
    expect(leftOf('paints')).toEqual(['output_cost_per_image']);
    expect(rates.get('prompts')?.uses).toEqual({});
    expect(leftOf('prompts')).toEqual(['search_context_cost_per_query']);
  });

  test('images are priced by quality and size, per image, or by tokens, never twice', () => {
    expect(rates.get('brush')).toEqual(
      priceRates({
        images: {
          '1024x1024': parseUsd('0.019922944'),
          // 0.11999117312, rounded up to the next nano-dollar.
          'hd/1024x1792': parseUsd('0.119991174'),
          'standard/1024x1024': parseUsd('0.04'),
        },
      }),
    );
    expect(leftOf('brush')).toEqual(['input_cost_per_image']);
    expect(rates.get('pencil')).toEqual(priceRates({ perCallNano: parseUsd('0.011') }));
    expect(rates.get('tokens')).toEqual(
      priceRates({ input: usd('5'), image: usd('10'), imageOutput: usd('40') }),
    );
    expect(refused.get('low/1024-x-1024/tokens')).toBe('tokens is priced by tokens');
    expect(refused.get('1024-x-1024/50-steps/loose')).toMatch(/50-steps/);
  });

  test('speech and transcription are priced by one unit, and unused units are reported', () => {
    expect(rates.get('letters')).toEqual(priceRates({ input: usd('15') }));
    expect(rates.get('sound')).toEqual(priceRates({ input: usd('0.6'), audioOutput: usd('12') }));
    expect(leftOf('sound')).toEqual(['output_cost_per_second']);
    expect(rates.get('seconds')).toEqual(priceRates({ perMinuteNano: parseUsd('0.006') }));
    expect(refused.get('mute')).toMatch(/tokens of its text alone/);
    expect(rates.get('ear')).toEqual(priceRates({ perMinuteNano: parseUsd('0.006') }));
    expect(leftOf('ear')).toEqual(['output_cost_per_second']);
    expect(rates.get('keen')).toEqual(
      priceRates({ input: usd('2.5'), output: usd('10'), audioInput: usd('6') }),
    );
    expect(leftOf('keen')).toEqual(['input_cost_per_second']);
  });
});

describe('models.dev price components', () => {
  const { rates, leftOf, refused } = listIn(modelsDevPrices, 'models-dev.json');

  test('tiers are read, and modes are read with the fields that request them', () => {
    const audioRates = { audioInput: usd('32'), audioOutput: usd('64') };
    const cacheRates = { reasoning: usd('16'), cacheWrite: usd('3') };
    expect(rates.get('wide')).toEqual(
      priceRates({
        input: usd('2.5'),
        output: usd('15'),
        cacheRead: usd('0.25'),
        ...audioRates,
        ...cacheRates,
        tiers: [
          { aboveInputTokens: 272_000, input: usd('5'), output: usd('22.5'), cacheRead: usd('0.5') },
          { aboveInputTokens: 512_000, input: usd('10'), output: usd('30') },
        ],
        modes: {
          'service_tier=priority': {
            rates: {
              input: usd('5'),
              output: usd('30'),
              cacheRead: usd('0.25'),
              ...audioRates,
              ...cacheRates,
              tiers: [
                { aboveInputTokens: 272_000, input: usd('5'), output: usd('30'), cacheRead: usd('0.5') },
                { aboveInputTokens: 512_000, input: usd('10'), output: usd('30') },
              ],
            },
          },
          'speed=fast': {
            rates: {
              input: usd('15'),
              output: usd('90'),
              cacheRead: usd('0.25'),
              ...audioRates,
              ...cacheRates,
              tiers: [
                { aboveInputTokens: 272_000, input: usd('15'), output: usd('90'), cacheRead: usd('0.5') },
                { aboveInputTokens: 512_000, input: usd('15'), output: usd('90') },
              ],
            },
          },
        },
      }),
    );
    expect(leftOf('wide')).toEqual(['cost.tiers (hour)', 'experimental.modes.odd']);
  });

  test('speech is priced by audio tokens, and rejected without such a price', () => {
    expect(rates.get('voice')).toEqual(priceRates({ input: usd('0.6'), output: usd('12') }));
    expect(refused.get('silent')).toMatch(/tokens of its text alone/);
  });
});
