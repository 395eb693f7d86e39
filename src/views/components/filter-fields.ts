import type { FieldModel, FilterBarModel } from './models';

export function filterFields(all: readonly FieldModel[]): Pick<FilterBarModel, 'fields' | 'more'> {
  const minor = all.filter((field) => field.minor);
  return {
    fields: all.filter((field) => !field.minor),
    ...(minor.length === 0 ? {} : { more: { fields: minor, open: minor.some(isSet) } }),
  };
}

function isSet({ type, value, checked, options }: FieldModel): boolean {
  if (type === 'checkbox') return checked === true;
  if (type === 'select') return options?.some((option) => option.selected && option.value !== '') ?? false;
  return (value ?? '') !== '';
}
