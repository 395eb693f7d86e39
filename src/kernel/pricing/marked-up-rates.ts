import { transformRates } from './changed-rates';
import type { PriceFactor } from './cost';
import { type PriceRates, UNCHANGED } from './rates';

/**
 * Rates after the mark-up, each rounded up to a nano-dollar per million tokens, for display. A charge is computed from
 * price and factor, and rounded once.
 */
export function markedUpRates(rates: PriceRates, priceFactor: PriceFactor): PriceRates {
  if (priceFactor === null) return rates;
  const factor = BigInt(priceFactor);
  return transformRates(rates, (amount) => (amount * factor + UNCHANGED - 1n) / UNCHANGED);
}
