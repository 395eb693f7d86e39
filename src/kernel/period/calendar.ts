export const budgetPeriods = ['daily', 'weekly', 'monthly', 'rolling', 'total'] as const;

export type BudgetPeriod = (typeof budgetPeriods)[number];
export type CalendarPeriod = Exclude<BudgetPeriod, 'rolling' | 'total'>;

export const isBudgetPeriod = (value: unknown): value is BudgetPeriod =>
  budgetPeriods.includes(value as BudgetPeriod);

/** A day, a week from Monday or a month in UTC. An instant belongs to it when `start <= instant < resetsAt`. */
export interface CalendarWindow {
  /** `2026-11-21`, for a week that of its Monday, or `2026-11`; sorts by time within a period. */
  readonly id: string;
  readonly start: Date;
  readonly resetsAt: Date;
}

export function calendarWindow(period: CalendarPeriod, at: Date | number): CalendarWindow {
  const instant = new Date(at);
  const year = instant.getUTCFullYear();
  const month = instant.getUTCMonth();
  if (period !== 'monthly') {
    const days = period === 'daily' ? 1 : 7;
    const day = instant.getUTCDate() - (period === 'daily' ? 0 : (instant.getUTCDay() + 6) % 7);
    const start = new Date(Date.UTC(year, month, day));
    return {
      id: start.toISOString().slice(0, 10),
      start,
      resetsAt: new Date(Date.UTC(year, month, day + days)),
    };
  }
  const start = new Date(Date.UTC(year, month));
  return { id: start.toISOString().slice(0, 7), start, resetsAt: new Date(Date.UTC(year, month + 1)) };
}
