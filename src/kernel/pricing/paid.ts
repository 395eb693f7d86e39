import { changedRates } from './changed-rates';
import type { PriceFactor } from './cost';
import { type PriceRates, UNCHANGED } from './rates';

/**
 * Rates after the mark-up, each rounded up to a nano-dollar for a million tokens: for display. A charge is computed
 * from price and factor, and rounded once.
 */
export function ratesPaid(rates: PriceRates, paid: PriceFactor): PriceRates {
  if (paid === null) return rates;
  const factor = BigInt(paid);
  return changedRates(rates, (amount) => (amount * factor + UNCHANGED - 1n) / UNCHANGED);
}
