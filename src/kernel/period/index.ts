export { type BudgetPeriod, budgetPeriods } from './calendar';
export { canonicalZone, dayAfter, dayIn, startOfDay, timeZones } from './zone';
