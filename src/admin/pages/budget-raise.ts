import { type Changes, changesOf } from '../../audit';
import type { BudgetRaises, BudgetScope, LimitState } from '../../billing';
import { formatUsd, instantField, type Nano, invalidField } from '../../kernel';
import type { Tx } from '../../platform';
import { type FieldModel, formatMoney, formatTime, type LabelledFigure } from '../../views';
import type { Localisation } from '../../web';
import type { BudgetRaiseForm } from './admin.dto';
import { missingField, nanoOf } from './form-values';

/** Null ends the current raise. */
export type RequestedRaise = { readonly amount: Nano; readonly endsAt: Date } | null;

export function raiseOf(form: BudgetRaiseForm): RequestedRaise {
  if (form.raise_amount === undefined) throw missingField('raise_amount');
  const amount = nanoOf(form.raise_amount);
  if (amount === 0n) throw invalidField('raise_amount', 'an amount above zero');
  return amount === null ? null : { amount, endsAt: instantField(form.raise_until, 'raise_until') };
}

interface RaiseReason {
  readonly reason?: string;
  readonly by: number;
}

export async function raiseBudget(
  raises: BudgetRaises,
  tx: Tx,
  scope: BudgetScope,
  raise: RequestedRaise,
  { reason = '', by }: RaiseReason,
): Promise<Changes> {
  if (raise === null) {
    const endedCount = await raises.endAll(tx, scope);
    return endedCount === 0 ? {} : changesOf({ raises: endedCount }, { raises: 0 });
  }
  if (reason.trim() === '') throw invalidField('reason', 'given: why the budget is raised');
  await raises.raise(tx, scope, { ...raise, reason, by });
  return changesOf(null, { raised_usd: formatUsd(raise.amount), until: raise.endsAt });
}

export function raisedText(budget: LimitState | null, { locale, translate }: Localisation): string {
  if (budget === null || budget.raised === 0n || budget.raisedUntil === null) return '–';
  return translate('keys.raised', {
    amount: formatMoney(locale, budget.raised),
    at: `${formatTime(locale, 'UTC', budget.raisedUntil, 'minute')} UTC`,
  });
}

export const raisedFact = (budget: LimitState | null, localisation: Localisation): LabelledFigure => ({
  label: localisation.translate('administration.raised'),
  figure: { kind: 'text', value: raisedText(budget, localisation) },
});

/** Form of a raise; `suffix` keeps ids unique if a page has several forms. */
export const raiseInput = (budget: LimitState | null, localisation: Localisation, suffix = '') => ({
  label: localisation.translate('people.act.budget-raise'),
  value: raisedText(budget, localisation),
  note: localisation.translate('people.raise-note'),
  fields: raiseFields(localisation, suffix),
  ...(budget === null ? { refusal: localisation.translate('administration.no-budget') } : {}),
});

const raiseFields = ({ translate }: Localisation, suffix: string): FieldModel[] => [
  {
    id: `raise-amount${suffix}`,
    name: 'raise_amount',
    label: `${translate('keys.raise.amount')} (USD)`,
    inputMode: 'decimal',
    optional: true,
    autocomplete: 'off',
  },
  {
    id: `raise-until${suffix}`,
    name: 'raise_until',
    type: 'date',
    label: translate('keys.raise.until'),
    optional: true,
  },
];
