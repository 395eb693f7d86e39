import { HOUR_MS } from '../time';
import { dayAfter, dayIn, startOfDay } from './zone';

export interface Period {
  readonly from: Date;
  /** Exclusive. */
  readonly to: Date;
}

/** Names of periods that end now, such as "Last 30 days", "Last 24 hours" and "This month". */
export type PeriodName = { readonly days: number } | { readonly hours: number } | 'month';

/**
 * Resolves a name to the same period on every page. Days and months start at midnight in the zone and include the
 * current one; hours start on the hour.
 */
export function resolvePeriod(name: PeriodName, zone: string, now: number): Period {
  return { from: startOf(name, zone, now), to: new Date(now) };
}

function startOf(name: PeriodName, zone: string, now: number): Date {
  // At exactly midnight the current day is the one that has just ended.
  const today = dayIn(now - 1, zone);
  if (name === 'month') return startOfDay(`${today.slice(0, 7)}-01`, zone);
  if ('days' in name) return startOfDay(today, zone, 1 - name.days);
  return new Date((Math.ceil(now / HOUR_MS) - name.hours) * HOUR_MS);
}

/** The period of equal length that ends when this one starts. */
export const periodBefore = ({ from, to }: Period): Period => ({
  from: new Date(2 * from.getTime() - to.getTime()),
  to: from,
});

/** The days that a period touches in a zone, as YYYY-MM-DD. */
export function daysOf({ from, to }: Period, zone: string): string[] {
  const last = dayIn(to.getTime() - 1, zone);
  const days: string[] = [];
  for (let day = dayIn(from, zone); day <= last; day = dayAfter(day)) days.push(day);
  return days;
}
