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
export { dayAfter, dayIn, isZone, startOfDay } from './zone';
