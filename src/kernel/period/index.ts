export { type BudgetPeriod, budgetPeriods } from './calendar';
export { daysOf, type Period, periodBefore, type PeriodName, resolvePeriod } from './named';
export { canonicalZone, dayAfter, startOfDay, timeZones } from './zone';
