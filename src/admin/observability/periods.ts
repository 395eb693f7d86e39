import type { PeriodName } from '../../kernel';

/** Hours: a day, a week, 30 days. */
export const periods = [24, 168, 720] as const;

/** Rolling 24 hours; longer periods are calendar days. */
export const periodNameOf = (hours: number): PeriodName => (hours > 24 ? { days: hours / 24 } : { hours });

export const isByDay = (name: PeriodName): boolean => typeof name === 'object' && 'days' in name;
