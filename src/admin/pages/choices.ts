import type { ChoiceModel } from '../../views';

export const choicesOf = <Value extends string>(
  values: readonly Value[],
  selectedValue: string,
  label: (value: Value) => string,
  none?: string,
): ChoiceModel[] => [
  ...(none === undefined ? [] : [{ value: '', label: none, selected: selectedValue === '' }]),
  ...values.map((value) => ({ value, label: label(value), selected: value === selectedValue })),
];
