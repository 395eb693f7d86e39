import { formatMultiplier, formatUsd, type PriceRates, RATE_NAMES, type TokenRates } from '../../kernel';

const fieldName = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const amounts = (rates: Readonly<Record<string, bigint>>): Record<string, string> =>
  Object.fromEntries(Object.entries(rates).map(([name, nano]) => [name, formatUsd(nano)]));

function buckets(rates: Readonly<Partial<Record<(typeof RATE_NAMES)[number], bigint | null>>>): object {
  return Object.fromEntries(
    RATE_NAMES.flatMap((name) => {
      const nano = rates[name];
      return nano === null || nano === undefined ? [] : [[fieldName(name), formatUsd(nano)]];
    }),
  );
}

const tokenRates = (rates: TokenRates): object => ({
  ...buckets(rates),
  tiers: rates.tiers.map((tier) => ({ above_input_tokens: tier.aboveInputTokens, ...buckets(tier) })),
});

/** A version of a price in the words of `gateway.yaml`: decimal texts of dollars, a million tokens each. */
export const presentPrice = (rates: PriceRates): object => ({
  ...tokenRates(rates),
  per_call: formatUsd(rates.perCallNano),
  per_minute: formatUsd(rates.perMinuteNano),
  uses: amounts(rates.uses),
  images: amounts(rates.images),
  modes: Object.fromEntries(
    Object.entries(rates.modes).map(([name, mode]) => [
      name,
      {
        multiplier: formatMultiplier(mode.multiplier),
        ...(mode.rates === null ? {} : { rates: tokenRates(mode.rates) }),
      },
    ]),
  ),
});
