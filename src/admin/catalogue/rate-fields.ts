import { formatUsd, type PriceRates, type RateField, type RateName, RATES } from '../../kernel';

/** These are in sight; the others are folded away until one of them is set. */
const USUAL: ReadonlySet<RateName> = new Set<RateName>(['input', 'output', 'cacheRead', 'cacheWrite']);

interface ShownRate {
  readonly id: string;
  readonly field: RateField;
  readonly value: string | null;
  /** This rate applies where the price has none of its own. */
  readonly sameAs: RateField | undefined;
}

export interface RatesOfPage {
  readonly usual: readonly ShownRate[];
  readonly further: { readonly isOpen: boolean; readonly fields: readonly ShownRate[] };
}

/** The fields of a page for all rates of a price. Their ids begin with the name of the form. */
export function rateFields(
  form: string,
  { price, model: { kind } }: { price: { rates: PriceRates } | null; model: { kind: string } },
): RatesOfPage {
  const shown = RATES.map(({ name, field, fallback }) => {
    const nano = price?.rates[name] ?? null;
    return {
      id: `${form}-${field.replaceAll('_', '-')}`,
      field,
      value: nano === null ? null : formatUsd(nano),
      sameAs: nano === null ? RATES.find((rate) => rate.name === fallback)?.field : undefined,
      isUsual: USUAL.has(name),
      isSet: nano !== null && nano > 0n,
    };
  });
  const further = shown.filter(({ isUsual }) => !isUsual);
  // A model of another kind than chat may be sold by any of them.
  const isOpen = further.some(({ isSet }) => isSet) || (price === null && kind !== 'chat');
  return { usual: shown.filter(({ isUsual }) => isUsual), further: { isOpen, fields: further } };
}
