import type { FieldModel, PeriodPickerModel, Translate } from '../../views';
import { addressOf, type HttpRequest, type Localisation, pathOf, periodLabel, queryOf } from '../../web';

interface PeriodQuery {
  readonly from?: string;
  readonly to?: string;
  readonly days?: number;
}

/** Period without one in the query. */
export const DEFAULT_DAYS = 30;

/** Links to periods of days. `cleared` names a query parameter that is reset with the period. */
export function periodPicker(
  { request, query, localisation }: { request: HttpRequest; query: PeriodQuery; localisation: Localisation },
  periods: readonly number[],
  cleared?: string,
): PeriodPickerModel {
  const { translate, timeZone } = localisation;
  const selectedDays =
    query.from === undefined && query.to === undefined ? (query.days ?? DEFAULT_DAYS) : null;
  const parameters = { from: null, to: null, ...(cleared === undefined ? {} : { [cleared]: null }) };
  return {
    options: periods.map((days) => ({
      label: periodLabel({ days }, translate),
      href: addressOf(pathOf(request), queryOf(request), { days: String(days), ...parameters }),
      current: days === selectedDays,
    })),
    zone: timeZone,
  };
}

/** The period choice as a field of a filter bar. */
export const daysField = (
  periods: readonly number[],
  selectedDays: number,
  translate: Translate,
): FieldModel => ({
  id: 'filter-days',
  name: 'days',
  type: 'select',
  label: translate('period.label'),
  options: periods.map((days) => ({
    value: String(days),
    label: periodLabel({ days }, translate),
    selected: days === selectedDays,
  })),
});
