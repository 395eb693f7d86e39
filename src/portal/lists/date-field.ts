import type { FieldModel, Translate } from '../../views';

/** The first or last day of a list. Programs may give an instant, of which the field shows the day. */
export const dateField = (
  name: 'from' | 'to',
  value: string | undefined,
  translate: Translate,
): FieldModel => ({
  id: `filter-${name}`,
  name,
  type: 'date',
  label: translate(`usage.field.${name}`),
  value: value?.slice(0, 10),
});
