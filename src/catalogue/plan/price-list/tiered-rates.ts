import { type priceRates, TOKEN_RATES, type TokenRateName } from '../../../kernel';

type TieredRatesInput = Parameters<typeof priceRates>[0];
export type OfferedRates = Partial<Record<TokenRateName, bigint>>;

export class TieredRates {
  readonly base: OfferedRates = {};
  private readonly tiers = new Map<number, OfferedRates>();

  /** Rates of requests with more input tokens; null returns the base. */
  at(aboveInputTokens: number | null): OfferedRates {
    if (aboveInputTokens === null) return this.base;
    const existing = this.tiers.get(aboveInputTokens);
    if (existing !== undefined) return existing;
    const rates: OfferedRates = {};
    this.tiers.set(aboveInputTokens, rates);
    return rates;
  }

  given(): Pick<TieredRatesInput, TokenRateName | 'tiers'> {
    return {
      ...this.base,
      tiers: this.thresholds().map((above) => ({ ...this.at(above), aboveInputTokens: above })),
    };
  }

  /**
   * Fills in missing rates from the default mode. In a tier, the higher of the default rate and the mode's lower rate
   * applies, because a longer request must not cost less.
   */
  completedFrom(defaults: TieredRates): TieredRates {
    const merged = new TieredRates();
    Object.assign(merged.base, defaults.base, this.base);
    let lowerRates: OfferedRates = merged.base;
    const thresholds = new Set([...defaults.thresholds(), ...this.thresholds()]);
    for (const above of [...thresholds].sort((left, right) => left - right)) {
      const tier = merged.at(above);
      for (const { name } of TOKEN_RATES) {
        const rate =
          this.tiers.get(above)?.[name] ?? higherRate(defaults.tiers.get(above)?.[name], lowerRates[name]);
        if (rate !== undefined) tier[name] = rate;
      }
      lowerRates = { ...lowerRates, ...tier };
    }
    return merged;
  }

  private thresholds(): number[] {
    return [...this.tiers.keys()].sort((left, right) => left - right);
  }
}

/** Returns the tier's rate, or the lower tier's if that is higher; undefined if the tier has none. */
function higherRate(inTier: bigint | undefined, below: bigint | undefined): bigint | undefined {
  return inTier === undefined || below === undefined || inTier >= below ? inTier : below;
}
