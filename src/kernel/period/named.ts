import { HOUR_MS } from '../time';
import { dayAfter, dayIn, startOfDay } from './zone';

export interface Period {
  readonly from: Date;
  /** It is exclusive. */
  readonly to: Date;
}

/** The names of periods that end now: "Last 30 days", "Last 24 hours", "This month". */
export type PeriodName = { readonly days: number } | { readonly hours: number } | 'month';

/**
 * A name means the same period on every page, up to `now`. Days and the month begin at midnight of the zone,
 * and the present one counts; hours begin on the hour.
 */
export function periodNamed(name: PeriodName, zone: string, now: number): Period {
  return { from: beginOf(name, zone, now), to: new Date(now) };
}

function beginOf(name: PeriodName, zone: string, now: number): Date {
  // At midnight sharp, the day that has just ended is the present one: the new one has no instant yet.
  const today = dayIn(now - 1, zone);
  if (name === 'month') return startOfDay(`${today.slice(0, 7)}-01`, zone);
  if ('days' in name) return startOfDay(today, zone, 1 - name.days);
  return new Date((Math.ceil(now / HOUR_MS) - name.hours) * HOUR_MS);
}

/** It is as long as the period, and ends at its beginning. */
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
