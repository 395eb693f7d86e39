import type { FieldModel, Translate } from '../../views';

/** The first or last day of a list. API clients can pass an instant, whose day is shown. */
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
