import { RATES } from './rate-table';
import type { PriceMode, PriceRates, TokenRates } from './rates';

/** Returns the new amount of a rate; `unit` is null for uses and images. */
export type RateTransform = (amount: bigint, unit: (typeof RATES)[number]['unit'] | null) => bigint;

export function transformRates(rates: PriceRates, change: RateTransform): PriceRates {
  const named = (amounts: Readonly<Record<string, bigint>>): Record<string, bigint> =>
    Object.fromEntries(Object.entries(amounts).map(([name, amount]) => [name, change(amount, null)]));
  const amounts = <Rates extends object>(from: Rates): Rates => {
    const newAmounts = RATES.flatMap(({ name, unit }) => {
      const amount: unknown = Reflect.get(from, name);
      return typeof amount === 'bigint' ? [[name, change(amount, unit)] as const] : [];
    });
    return { ...from, ...Object.fromEntries(newAmounts) };
  };
  const tokens = <Rates extends TokenRates>(from: Rates): Rates => ({
    ...amounts(from),
    tiers: from.tiers.map((tier) => amounts(tier)),
  });
  const mode = (from: PriceMode): PriceMode => ({
    ...from,
    rates: from.rates === null ? null : tokens(from.rates),
  });
  return {
    ...tokens(rates),
    uses: named(rates.uses),
    images: named(rates.images),
    modes: Object.fromEntries(Object.entries(rates.modes).map(([name, from]) => [name, mode(from)])),
  };
}
