import { DAY_MS } from '../../kernel';

/** Spending on a UTC day; the days of a history are consecutive. */
export interface SpentDay {
  /** First instant of the day. */
  readonly at: number;
  readonly spent: number;
}

export const HISTORY_DAYS = 56;
const MIN_DAYS = 14;
const DAYS_PER_WEEK = 7;
/** Factor by which an unusual day exceeds every earlier day, each relative to its own usual value. */
const RECORD_FACTOR = 1.5;
/** Weeks that reflect current growth; older ones would make the forecast too low. */
const FORECAST_WEEKS = 4;
const ANOMALY_WEEKS = 6;

const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);

function medianOf(values: readonly number[]): number {
  if (values.length === 0) return 0;
  const sorted = [...values].sort((one, other) => one - other);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

const weekdayOf = (at: number): number => Math.floor(at / DAY_MS) % DAYS_PER_WEEK;

/** Days from the first spending on; null if there are too few. */
function daysSinceFirstSpending(history: readonly SpentDay[]): readonly SpentDay[] | null {
  const first = history.findIndex(({ spent }) => spent > 0);
  const days = first === -1 ? [] : history.slice(first);
  return days.length < MIN_DAYS ? null : days;
}

function weekdayMedian(days: readonly SpentDay[], at: number, weeks: number): number {
  const weekday = weekdayOf(at);
  const sameWeekday = days.filter((day) => day.at < at && weekdayOf(day.at) === weekday);
  return medianOf(sameWeekday.slice(-weeks).map(({ spent }) => spent));
}

/**
 * Returns the instant at which usual spending exhausts `remaining`: each day costs the median of its weekday in the
 * last four weeks. Null if not before `until`, or if the history is too short.
 */
export function forecastRunOut(
  history: readonly SpentDay[],
  { remaining, today, now, until }: { remaining: number; today: number; now: number; until: number },
): number | null {
  const days = daysSinceFirstSpending(history);
  if (days === null || remaining <= 0) return null;
  let rest = remaining;
  for (let day = Math.floor(now / DAY_MS) * DAY_MS; day < until; day += DAY_MS) {
    const usual = weekdayMedian(days, day, FORECAST_WEEKS);
    const isToday = day <= now;
    const expected = isToday ? Math.max(0, usual - today) : usual;
    const [begins, ends] = [isToday ? now : day, day + DAY_MS];
    if (expected >= rest && expected > 0) {
      const at = begins + ((ends - begins) * rest) / expected;
      return at < until ? at : null;
    }
    rest -= expected;
  }
  return null;
}

export interface UnusualDay {
  readonly usual: number;
  readonly bound: number;
}

/**
 * Returns the spending from which today is unusual: `times` its usual value, and more than any of the last eight weeks
 * exceeded its own.
 * The usual value is the weekday's median over six weeks, at least half an average day. Null if the history is too
 * short.
 */
export function findUnusualBound(
  history: readonly SpentDay[],
  { at, times, floor }: { at: number; times: number; floor: number },
): UnusualDay | null {
  const days = daysSinceFirstSpending(history);
  if (days === null) return null;
  const minimum = sumOf(days.map(({ spent }) => spent)) / days.length / 2;
  const usualOf = (day: number): number => Math.max(weekdayMedian(days, day, ANOMALY_WEEKS), minimum);
  const excess = days.slice(DAYS_PER_WEEK).map((day) => day.spent / usualOf(day.at));
  const usual = usualOf(at);
  return { usual, bound: Math.max(floor, usual * Math.max(times, RECORD_FACTOR * Math.max(0, ...excess))) };
}
