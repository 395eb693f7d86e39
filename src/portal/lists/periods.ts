import type { FieldModel, PeriodPickerModel, Translate } from '../../views';
import { addressOf, type HttpRequest, type Localisation, pathOf, periodLabel, queryOf } from '../../web';

interface PeriodQuery {
  readonly from?: string;
  readonly to?: string;
  readonly days?: number;
}

/** It counts where an address says no period. */
export const USUAL_DAYS = 30;

/** The picker links to periods of days. `cleared` is a parameter that belongs to the period shown before. */
export function periodPicker(
  { request, query, localisation }: { request: HttpRequest; query: PeriodQuery; localisation: Localisation },
  periods: readonly number[],
  cleared?: string,
): PeriodPickerModel {
  const { translate, timeZone } = localisation;
  const chosen = query.from === undefined && query.to === undefined ? (query.days ?? USUAL_DAYS) : null;
  const parameters = { from: null, to: null, ...(cleared === undefined ? {} : { [cleared]: null }) };
  return {
    options: periods.map((days) => ({
      label: periodLabel({ days }, translate),
      href: addressOf(pathOf(request), queryOf(request), { days: String(days), ...parameters }),
      current: days === chosen,
    })),
    zone: timeZone,
  };
}

/** The same choice as a field of a filter. */
export const daysField = (periods: readonly number[], chosen: number, translate: Translate): FieldModel => ({
  id: 'filter-days',
  name: 'days',
  type: 'select',
  label: translate('period.label'),
  options: periods.map((days) => ({
    value: String(days),
    label: periodLabel({ days }, translate),
    selected: days === chosen,
  })),
});
