import { formatUsd, type PriceRates, type RateField, type RateName, RATES } from '../../kernel';

const USUAL_RATES: ReadonlySet<RateName> = new Set<RateName>(['input', 'output', 'cacheRead', 'cacheWrite']);

interface RateFieldView {
  readonly id: string;
  readonly field: RateField;
  readonly value: string | null;
  /** Rate that applies if the price has no own one. */
  readonly sameAs: RateField | undefined;
}

export interface RateFieldsView {
  readonly usual: readonly RateFieldView[];
  readonly further: { readonly isOpen: boolean; readonly fields: readonly RateFieldView[] };
}

export function rateFields(
  form: string,
  { price, model: { kind } }: { price: { rates: PriceRates } | null; model: { kind: string } },
): RateFieldsView {
  const rateViews = RATES.map(({ name, field, fallback }) => {
    const nano = price?.rates[name] ?? null;
    return {
      id: `${form}-${field.replaceAll('_', '-')}`,
      field,
      value: nano === null ? null : formatUsd(nano),
      sameAs: nano === null ? RATES.find((rate) => rate.name === fallback)?.field : undefined,
      isUsual: USUAL_RATES.has(name),
      isSet: nano !== null && nano > 0n,
    };
  });
  const further = rateViews.filter(({ isUsual }) => !isUsual);
  // A model of another kind than chat can be sold by any rate.
  const isOpen = further.some(({ isSet }) => isSet) || (price === null && kind !== 'chat');
  return { usual: rateViews.filter(({ isUsual }) => isUsual), further: { isOpen, fields: further } };
}
