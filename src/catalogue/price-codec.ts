import { type PriceRates, priceRates, RATE_NAMES } from '../kernel';
import type { Price, StoredTier } from './entities';

type RateColumns = Pick<Price, (typeof RATE_NAMES)[number] | 'perCall' | 'perMinute' | 'tiers'>;

/** The rates of a stored price. */
export function ratesOf(price: RateColumns): PriceRates {
  return priceRates({
    ...Object.fromEntries(RATE_NAMES.map((name) => [name, price[name]])),
    perCallNano: price.perCall,
    perMinuteNano: price.perMinute,
    tiers: price.tiers.map(tierFrom),
  });
}

/** The columns that hold these rates. */
export function columnsOf(rates: PriceRates): RateColumns {
  const { perCallNano, perMinuteNano, tiers, ...buckets } = rates;
  return { ...buckets, perCall: perCallNano, perMinute: perMinuteNano, tiers: tiers.map(tierInto) };
}

function tierFrom(stored: StoredTier): PriceRates['tiers'][number] {
  const rates = RATE_NAMES.map((name) => {
    const text = stored[name];
    return [name, text === undefined || text === null ? null : BigInt(text)];
  });
  return {
    ...(Object.fromEntries(rates) as Record<(typeof RATE_NAMES)[number], bigint | null>),
    aboveInputTokens: stored.aboveInputTokens,
  };
}

function tierInto(tier: PriceRates['tiers'][number]): StoredTier {
  const stored: StoredTier = { aboveInputTokens: tier.aboveInputTokens };
  for (const name of RATE_NAMES) {
    const rate = tier[name];
    if (rate !== null) stored[name] = rate.toString();
  }
  return stored;
}
