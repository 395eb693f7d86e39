import { type Period, type PeriodName, resolvePeriod } from '../../kernel';
import { formatTime, type Translate } from '../../views';
import type { Localisation } from './localisation';

export function periodLabel(name: PeriodName, translate: Translate): string {
  if (name === 'month') return translate('people.this-month');
  return 'days' in name
    ? translate('list.last-days', { count: name.days })
    : translate('operations.last-hours', { count: name.hours });
}

export function describePeriod(
  { from, to }: Period,
  { locale, timeZone, translate }: Localisation,
  name?: PeriodName,
): string {
  const time = (instant: Date): string => formatTime(locale, timeZone, instant, 'dated-minute');
  const label = name === undefined ? [] : [periodLabel(name, translate)];
  return [...label, `${time(from)} – ${time(to)}`, timeZone].join(' · ');
}

/** Current month in UTC, which budgets use. */
export const monthOfBudgets = (now: number): Period => resolvePeriod('month', 'UTC', now);

export const describeMonth = (localisation: Localisation, now = Date.now()): string =>
  describePeriod(monthOfBudgets(now), { ...localisation, timeZone: 'UTC' }, 'month');
