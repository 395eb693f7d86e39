import {
  type PriceMode,
  type PriceRates,
  priceRates,
  type RateName,
  RATES,
  TOKEN_RATES,
  type TokenRateName,
  type TokenRates,
} from '../kernel';
import type { Price, StoredFees, StoredMode, StoredTier } from './entities';

export type StoredRates = Pick<Price, RateName | 'tiers' | 'fees'>;

export function ratesOf(price: StoredRates): PriceRates {
  const { uses = {}, images = {}, modes = {} } = price.fees;
  return priceRates({
    ...Object.fromEntries(RATES.map(({ name }) => [name, price[name]])),
    tiers: price.tiers.map(tierFrom),
    uses: amountsFrom(uses),
    images: amountsFrom(images),
    modes: mapValues(modes, modeFrom),
  });
}

export function columnsOf(rates: PriceRates): StoredRates {
  const { tiers, uses, images, modes, ...amounts } = rates;
  const fees: StoredFees = {
    ...(isEmpty(uses) ? {} : { uses: amountsInto(uses) }),
    ...(isEmpty(images) ? {} : { images: amountsInto(images) }),
    ...(isEmpty(modes) ? {} : { modes: mapValues(modes, modeInto) }),
  };
  return { ...amounts, tiers: tiers.map(tierInto), fees };
}

const isEmpty = (value: object): boolean => Object.keys(value).length === 0;

const mapValues = <From, To>(
  values: Readonly<Record<string, From>>,
  map: (value: From) => To,
): Record<string, To> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, map(value)]));

const amountsFrom = (amounts: Readonly<Record<string, string>>): Record<string, bigint> =>
  mapValues(amounts, BigInt);

const amountsInto = (amounts: Readonly<Record<string, bigint>>): Record<string, string> =>
  mapValues(amounts, String);

type StoredTokenRates = Record<TokenRateName, bigint | null>;

function bucketsFrom(stored: Readonly<Record<string, unknown>>): StoredTokenRates {
  const rates = TOKEN_RATES.map(({ name }) => {
    const text = stored[name];
    return [name, typeof text === 'string' ? BigInt(text) : null];
  });
  return Object.fromEntries(rates) as StoredTokenRates;
}

function bucketsInto(rates: Readonly<StoredTokenRates>): Record<string, string> {
  const stored: Record<string, string> = {};
  for (const { name } of TOKEN_RATES) {
    const rate = rates[name];
    if (rate !== null) stored[name] = rate.toString();
  }
  return stored;
}

const tierFrom = (stored: StoredTier): PriceRates['tiers'][number] => ({
  ...bucketsFrom(stored),
  aboveInputTokens: stored.aboveInputTokens,
});

const tierInto = (tier: PriceRates['tiers'][number]): StoredTier => ({
  ...bucketsInto(tier),
  aboveInputTokens: tier.aboveInputTokens,
});

function modeFrom({ multiplier, rates, tiers = [] }: StoredMode): Partial<PriceMode> {
  return {
    ...(multiplier === undefined ? {} : { multiplier: BigInt(multiplier) }),
    rates: rates === undefined ? null : ownRatesFrom(rates, tiers),
  };
}

function ownRatesFrom(stored: Readonly<Record<string, unknown>>, tiers: readonly StoredTier[]): TokenRates {
  const { input, output, ...rest } = bucketsFrom(stored);
  return { input: input ?? 0n, output: output ?? 0n, ...rest, tiers: tiers.map(tierFrom) };
}

function modeInto({ multiplier, rates }: PriceMode): StoredMode {
  if (rates === null) return { multiplier: multiplier.toString() };
  const { tiers, ...buckets } = rates;
  return {
    multiplier: multiplier.toString(),
    rates: bucketsInto(buckets),
    ...(tiers.length === 0 ? {} : { tiers: tiers.map(tierInto) }),
  };
}
