import type { PeriodName } from '../../kernel';

/** They are in hours: a day, a week, thirty days. */
export const periods = [24, 168, 720] as const;

/** A single day is the last 24 hours; more are days of a calendar. */
export const nameOf = (hours: number): PeriodName => (hours > 24 ? { days: hours / 24 } : { hours });

export const isByDay = (name: PeriodName): boolean => typeof name === 'object' && 'days' in name;
