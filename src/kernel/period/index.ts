export {
  type BudgetPeriod,
  type CalendarPeriod,
  type CalendarWindow,
  budgetPeriods,
  isBudgetPeriod,
  calendarWindow,
} from './calendar';
export {
  rollingBuckets,
  bucketOf,
  bucketStart,
  bucketLeavesAt,
  rollingRange,
  rollingResetsAt,
  type BucketRange,
} from './rolling';
export { dayAfter, startOfDay } from './start-of-day';
