import { type Period, type PeriodName, periodNamed } from '../../kernel';
import { formatTime, type Translate } from '../../views';
import type { Localisation } from './localisation';

export function periodLabel(name: PeriodName, translate: Translate): string {
  if (name === 'month') return translate('people.this-month');
  return 'days' in name
    ? translate('list.last-days', { count: name.days })
    : translate('operations.last-hours', { count: name.hours });
}

/** Both ends of a period are in the zone of the page, after its name where it has one. */
export function periodWords(
  { from, to }: Period,
  { locale, timeZone, translate }: Localisation,
  name?: PeriodName,
): string {
  const time = (instant: Date): string => formatTime(locale, timeZone, instant, 'dated-minute');
  const label = name === undefined ? [] : [periodLabel(name, translate)];
  return [...label, `${time(from)} – ${time(to)}`, timeZone].join(' · ');
}

/** The present month in UTC, as budgets count it. */
export const monthOfBudgets = (now: number): Period => periodNamed('month', 'UTC', now);

export const monthWords = (localisation: Localisation, now = Date.now()): string =>
  periodWords(monthOfBudgets(now), { ...localisation, timeZone: 'UTC' }, 'month');
