import type { FieldTexts } from '../../catalogue';
import { formatUsd } from '../../kernel';
import {
  type KeyBudget,
  keyFields,
  type KeyValues,
  type ManagedKey,
  type NewKey,
  type NewKeyForm,
} from '../../keys';

export interface KeyState extends KeyValues {
  readonly status: 'active' | 'disabled';
  readonly budget: KeyBudget | null;
  readonly modelBudgets: NonNullable<NewKey['modelBudgets']>;
}

export const stateOfKey = (key: ManagedKey): KeyState => ({
  ...key,
  status: key.status === 'disabled' ? 'disabled' : 'active',
  modelBudgets: key.modelBudgets.map(({ model, state }) => ({ ...state, model })),
});

export const stateOfForm = (form: NewKeyForm, status: KeyState['status']): KeyState => ({
  ...keyFields.pick(form),
  status,
  budget: form.budget ?? null,
  modelBudgets: form.modelBudgets ?? [],
});

const isAlwaysShown = (field: string): boolean => /^(name|allowed_\w+)$/.test(field);
const defaultTexts = new Map(keyFields.defaultTexts);

/** Texts of a key in a plan; limits with default values are omitted. */
export function keyTexts(state: KeyState): FieldTexts {
  const texts = keyFields.texts(state);
  return new Map([
    ...texts.filter(([field]) => isAlwaysShown(field)),
    ['status', state.status],
    ...(state.budget === null ? [] : [['budget', budgetText(state.budget)] as const]),
    ...state.modelBudgets.map(({ model, ...budget }) => [`budget of ${model}`, budgetText(budget)] as const),
    ...texts.filter(([field, text]) => !isAlwaysShown(field) && defaultTexts.get(field) !== text),
  ]);
}

const budgetText = ({ limit, period }: KeyBudget): string => `$${formatUsd(limit)} ${period}`;
