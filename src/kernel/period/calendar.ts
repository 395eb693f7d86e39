export const budgetPeriods = ['daily', 'monthly', 'rolling'] as const;

export type BudgetPeriod = (typeof budgetPeriods)[number];
export type CalendarPeriod = Exclude<BudgetPeriod, 'rolling'>;

export const isBudgetPeriod = (value: unknown): value is BudgetPeriod =>
  budgetPeriods.includes(value as BudgetPeriod);

/** A day or a month in UTC. An instant belongs to it when `start <= instant < resetsAt`. */
export interface CalendarWindow {
  /** `2026-11-21` or `2026-11`; sorts by time within a period. */
  readonly id: string;
  readonly start: Date;
  readonly resetsAt: Date;
}

export function calendarWindow(period: CalendarPeriod, at: Date | number): CalendarWindow {
  const instant = new Date(at);
  const year = instant.getUTCFullYear();
  const month = instant.getUTCMonth();
  if (period === 'daily') {
    const day = instant.getUTCDate();
    const start = new Date(Date.UTC(year, month, day));
    return {
      id: start.toISOString().slice(0, 10),
      start,
      resetsAt: new Date(Date.UTC(year, month, day + 1)),
    };
  }
  const start = new Date(Date.UTC(year, month));
  return { id: start.toISOString().slice(0, 7), start, resetsAt: new Date(Date.UTC(year, month + 1)) };
}
