import { DAY_MS } from '../../kernel';

/** What was spent on a day of UTC; the days of a history follow one another. */
export interface SpentDay {
  /** Its first instant. */
  readonly at: number;
  readonly spent: number;
}

/** So many finished days are looked at. */
export const HISTORY_DAYS = 56;
/** With fewer days since the first spending, nothing is foretold and nothing is unusual. */
const LEAST_DAYS = 14;
const WEEK = 7;
/** A day above this much more than every day before it, each beside its own usual, is unusual. */
const BEYOND_ALL = 1.5;
/** Growth shows in these weeks; older ones would foretell too little. */
const FORECAST_WEEKS = 4;
const ANOMALY_WEEKS = 6;

const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);

function medianOf(values: readonly number[]): number {
  if (values.length === 0) return 0;
  const sorted = [...values].sort((one, other) => one - other);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

const weekdayOf = (at: number): number => Math.floor(at / DAY_MS) % WEEK;

/** The days from the first on which something was spent; null where they are too few. */
function sinceFirst(history: readonly SpentDay[]): readonly SpentDay[] | null {
  const first = history.findIndex(({ spent }) => spent > 0);
  const days = first === -1 ? [] : history.slice(first);
  return days.length < LEAST_DAYS ? null : days;
}

/** The median of the same weekday in the last weeks before a day. */
function weekdayMedian(days: readonly SpentDay[], at: number, weeks: number): number {
  const weekday = weekdayOf(at);
  const same = days.filter((day) => day.at < at && weekdayOf(day.at) === weekday);
  return medianOf(same.slice(-weeks).map(({ spent }) => spent));
}

/**
 * When spending that goes on as usual has spent `left`: each coming day costs the median of its weekday in the last
 * four weeks. Null where that is not before `until`, or where too little is known.
 */
export function runsOutAt(
  history: readonly SpentDay[],
  { left, today, now, until }: { left: number; today: number; now: number; until: number },
): number | null {
  const days = sinceFirst(history);
  if (days === null || left <= 0) return null;
  let rest = left;
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
  /** A day like this one usually costs so much. */
  readonly usual: number;
  readonly bound: number;
}

/**
 * What today would have to cost to be unusual: `times` its usual, and more than any of the last eight weeks exceeded
 * its own usual. The usual of a day is the median of its weekday in six weeks, at least half an average day. Null where
 * too little is known.
 */
export function unusualFrom(
  history: readonly SpentDay[],
  { at, times, floor }: { at: number; times: number; floor: number },
): UnusualDay | null {
  const days = sinceFirst(history);
  if (days === null) return null;
  const least = sumOf(days.map(({ spent }) => spent)) / days.length / 2;
  const usualOf = (day: number): number => Math.max(weekdayMedian(days, day, ANOMALY_WEEKS), least);
  const excess = days.slice(WEEK).map((day) => day.spent / usualOf(day.at));
  const usual = usualOf(at);
  return { usual, bound: Math.max(floor, usual * Math.max(times, BEYOND_ALL * Math.max(0, ...excess))) };
}
