import type { Choice } from '../../views';

/** The options of a select; `none` is the label of the empty choice. */
export const choicesOf = <Value extends string>(
  values: readonly Value[],
  chosen: string,
  label: (value: Value) => string,
  none?: string,
): Choice[] => [
  ...(none === undefined ? [] : [{ value: '', label: none, selected: chosen === '' }]),
  ...values.map((value) => ({ value, label: label(value), selected: value === chosen })),
];
