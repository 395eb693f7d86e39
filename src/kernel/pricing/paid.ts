import type { PriceFactor } from './cost';
import { RATES } from './rate-table';
import { type PriceMode, type PriceRates, type TokenRates, UNCHANGED } from './rates';

/**
 * Rates after the mark-up, each rounded up to a nano-dollar for a million tokens: for display. A charge is computed
 * from price and factor, and rounded once.
 */
export function ratesPaid(rates: PriceRates, paid: PriceFactor): PriceRates {
  if (paid === null) return rates;
  const factor = BigInt(paid);
  const of = (amount: bigint): bigint => (amount * factor + UNCHANGED - 1n) / UNCHANGED;
  const named = (amounts: Readonly<Record<string, bigint>>): Record<string, bigint> =>
    Object.fromEntries(Object.entries(amounts).map(([name, amount]) => [name, of(amount)]));
  const amounts = <Rates extends object>(from: Rates): Rates => {
    const changed = RATES.flatMap(({ name }) => {
      const amount: unknown = Reflect.get(from, name);
      return typeof amount === 'bigint' ? [[name, of(amount)] as const] : [];
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
