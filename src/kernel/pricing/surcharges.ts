import type { UsageCounts } from '../usage';
import { transformRates } from './changed-rates';
import { costOf, type PriceFactor } from './cost';
import { type PriceRates, UNCHANGED } from './rates';

/** A fee on top of a price, as records store it; amounts are whole nano-dollars in decimal. */
export interface Surcharge {
  readonly name: string;
  readonly per_call: string;
  readonly per_million_tokens: string;
  /** In millionths of the price. */
  readonly share: number;
}

/** A fee of a settled request with its amount; records from before 1.1 have no amount. */
export interface RecordedFee extends Surcharge {
  /** Whole nano-dollars, in decimal. */
  readonly cost_nano?: string;
}

/** Splits the charge by fee: the cost without fees plus these amounts is the charge. */
export function feeLines(
  usage: UsageCounts,
  rates: PriceRates,
  surcharges: readonly Surcharge[],
  priceFactor: PriceFactor,
): readonly RecordedFee[] {
  let before = costOf(usage, rates, priceFactor);
  return surcharges.map((surcharge, position) => {
    const cost = costOf(usage, withSurcharges(rates, surcharges.slice(0, position + 1)), priceFactor);
    const added = cost - before;
    before = cost;
    return { ...surcharge, cost_nano: added.toString() };
  });
}

/** Adds surcharges to every rate, each rounded up once; holds and charges are computed from the result. */
export function withSurcharges(rates: PriceRates, surcharges: readonly Surcharge[] | null): PriceRates {
  if (surcharges === null || surcharges.length === 0) return rates;
  let factor = UNCHANGED;
  const added = { call: 0n, tokens: 0n, minute: 0n };
  for (const { per_call, per_million_tokens, share } of surcharges) {
    factor += BigInt(share);
    added.call += BigInt(per_call);
    added.tokens += BigInt(per_million_tokens);
  }
  return transformRates(
    rates,
    (amount, unit) => (amount * factor + UNCHANGED - 1n) / UNCHANGED + (unit === null ? 0n : added[unit]),
  );
}
