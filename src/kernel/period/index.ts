export { type BudgetPeriod, budgetPeriods } from './calendar';
export { dayAfter, dayIn, isZone, startOfDay } from './zone';
