import { RATES } from './rate-table';
import type { PriceMode, PriceRates, TokenRates } from './rates';

/** It gives the new amount of a rate; uses and pictures have no unit. */
export type RateChange = (amount: bigint, unit: (typeof RATES)[number]['unit'] | null) => bigint;

/** A price with every amount changed, those of tiers, modes, uses and pictures included. */
export function changedRates(rates: PriceRates, change: RateChange): PriceRates {
  const named = (amounts: Readonly<Record<string, bigint>>): Record<string, bigint> =>
    Object.fromEntries(Object.entries(amounts).map(([name, amount]) => [name, change(amount, null)]));
  const amounts = <Rates extends object>(from: Rates): Rates => {
    const changed = RATES.flatMap(({ name, unit }) => {
      const amount: unknown = Reflect.get(from, name);
      return typeof amount === 'bigint' ? [[name, change(amount, unit)] as const] : [];
    });
    return { ...from, ...Object.fromEntries(changed) };
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
