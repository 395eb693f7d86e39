import {
  FLAT_RATES,
  formatMultiplier,
  formatUsd,
  type PriceRates,
  TOKEN_RATES,
  type TokenRateName,
  type TokenRates,
} from '../kernel';
import type { CatalogueSnapshot } from './snapshot';

const amounts = (rates: Readonly<Record<string, bigint>>): Record<string, string> =>
  Object.fromEntries(Object.entries(rates).map(([name, nano]) => [name, formatUsd(nano)]));

function buckets(rates: Readonly<Partial<Record<TokenRateName, bigint | null>>>) {
  return Object.fromEntries(
    TOKEN_RATES.flatMap(({ name, word }) => {
      const nano = rates[name];
      return nano === null || nano === undefined ? [] : [[word, formatUsd(nano)]];
    }),
  );
}

const tokenRates = (rates: TokenRates) => ({
  ...buckets(rates),
  tiers: rates.tiers.map((tier) => ({ above_input_tokens: tier.aboveInputTokens, ...buckets(tier) })),
});

/** Price version with the field names of `gateway.yaml`: USD per 1M tokens as decimal text. */
export const presentPrice = (rates: PriceRates) => ({
  ...tokenRates(rates),
  ...Object.fromEntries(FLAT_RATES.map(({ name, word }) => [word, formatUsd(rates[name])])),
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

type PricedEntry = Readonly<{ priceId: number | null }>;

export function pricesOf(entries: readonly PricedEntry[], snapshot: CatalogueSnapshot) {
  const ids = new Set(entries.flatMap(({ priceId }) => (priceId === null ? [] : [priceId])));
  return Object.fromEntries(
    [...ids].flatMap((id) => {
      const price = snapshot.price(id);
      return price === undefined ? [] : [[String(id), presentPrice(price.rates)]];
    }),
  );
}

/** Each line of a file carries its price as text, so that it can be recomputed alone. */
export function priceTexts(snapshot: CatalogueSnapshot): (entry: PricedEntry) => string | null {
  const texts = new Map<number, string | null>();
  return ({ priceId }) => {
    if (priceId === null) return null;
    const cached = texts.get(priceId);
    if (cached !== undefined) return cached;
    const price = snapshot.price(priceId);
    const text = price === undefined ? null : JSON.stringify(presentPrice(price.rates));
    texts.set(priceId, text);
    return text;
  };
}
