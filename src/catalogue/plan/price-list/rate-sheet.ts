import { type priceRates, TOKEN_RATES, type TokenRateName } from '../../../kernel';

type GivenRates = Parameters<typeof priceRates>[0];
export type Rates = Partial<Record<TokenRateName, bigint>>;

/** A list says this of tokens in one mode, as far as it says anything. */
export class RateSheet {
  readonly base: Rates = {};
  private readonly tiers = new Map<number, Rates>();

  /** Rates of requests with more input; `null` is the base. */
  at(aboveInputTokens: number | null): Rates {
    if (aboveInputTokens === null) return this.base;
    const known = this.tiers.get(aboveInputTokens);
    if (known !== undefined) return known;
    const made: Rates = {};
    this.tiers.set(aboveInputTokens, made);
    return made;
  }

  given(): Pick<GivenRates, TokenRateName | 'tiers'> {
    return {
      ...this.base,
      tiers: this.thresholds().map((above) => ({ ...this.at(above), aboveInputTokens: above })),
    };
  }

  /**
   * A mode gets the rates that it lacks. Rates that the list omits are the usual ones. In a tier the dearer
   * of the usual rate and the mode's lower rate counts, since a longer request must not cost less.
   */
  completedBy(usual: RateSheet): RateSheet {
    const whole = new RateSheet();
    Object.assign(whole.base, usual.base, this.base);
    let below: Rates = whole.base;
    const thresholds = new Set([...usual.thresholds(), ...this.thresholds()]);
    for (const above of [...thresholds].sort((left, right) => left - right)) {
      const tier = whole.at(above);
      for (const { name } of TOKEN_RATES) {
        const rate = this.tiers.get(above)?.[name] ?? dearer(usual.tiers.get(above)?.[name], below[name]);
        if (rate !== undefined) tier[name] = rate;
      }
      below = { ...below, ...tier };
    }
    return whole;
  }

  private thresholds(): number[] {
    return [...this.tiers.keys()].sort((left, right) => left - right);
  }
}

/** The tier's rate, or that below where it is dearer; none where the tier has none. */
function dearer(inTier: bigint | undefined, below: bigint | undefined): bigint | undefined {
  return inTier === undefined || below === undefined || inTier >= below ? inTier : below;
}
