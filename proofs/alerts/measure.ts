import { HISTORY_DAYS, forecastRunOut, type SpentDay, findUnusualBound } from '#product/alerts';
import { randomFrom, type Shape, yearOf } from './synthetic-days';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** As rules have it without a setting. */
const USUAL = { times: 3, floor: 5 };

const before = (days: readonly SpentDay[], place: number): SpentDay[] =>
  days.slice(Math.max(0, place - HISTORY_DAYS), place);

export interface Measured {
  /** Days a month on which an ordinary day was called unusual. */
  readonly falseAlarms: number;
  /** The share of days with five times the usual spending that an alert found. */
  readonly found: number;
  /** The hour of such a day, in the middle, at which it was found. */
  readonly foundAtHour: number;
}

/** A year of ordinary days, and each of its days once more with five times the spending, spread over the day. */
export function measureAnomalies(shape: Shape, seeds: readonly number[]): Measured {
  let [alarms, days, tried] = [0, 0, 0];
  const hours: number[] = [];
  for (const seed of seeds) {
    const year = yearOf(shape, seed);
    for (let place = HISTORY_DAYS; place < year.length; place += 1) {
      const { at, spent } = year[place]!;
      const unusual = findUnusualBound(before(year, place), { at, ...USUAL });
      days += 1;
      if (unusual !== null && spent > unusual.bound) alarms += 1;
      if (unusual === null || spent === 0) continue;
      tried += 1;
      const share = unusual.bound / (5 * spent);
      if (share < 1) hours.push(share * 24);
    }
  }
  hours.sort((one, other) => one - other);
  return {
    falseAlarms: (alarms / days) * 30.4,
    found: hours.length / tried,
    foundAtHour: hours[Math.floor(hours.length / 2)] ?? NaN,
  };
}

export interface MeasuredForecasts {
  /** Budgets a month that were said to run out and did not. */
  readonly falseAlarms: number;
  /** The share of exhausted budgets whose end a forecast told before. */
  readonly foretold: number;
  /** Days of notice, in the middle. */
  readonly notice: number;
}

/** Monthly budgets from half of what the month will cost to twice that, looked at each noon. */
export function measureForecasts(shape: Shape, seeds: readonly number[]): MeasuredForecasts {
  let [months, wrong, out, told] = [0, 0, 0, 0];
  const notices: number[] = [];
  for (const seed of seeds) {
    const year = yearOf(shape, seed);
    const random = randomFrom(seed + 1);
    for (let begin = HISTORY_DAYS; begin + 30 <= year.length; begin += 30) {
      const month = year.slice(begin, begin + 30);
      const cost = month.reduce((sum, { spent }) => sum + spent, 0);
      const limit = cost * (0.5 + 1.5 * random());
      const first = firstForecast(year, begin, limit);
      const end = outOn(month, limit);
      months += 1;
      if (end === null) {
        if (first !== null) wrong += 1;
        continue;
      }
      out += 1;
      if (first === null || first >= end) continue;
      told += 1;
      notices.push(end - first);
    }
  }
  notices.sort((one, other) => one - other);
  return {
    falseAlarms: wrong / months,
    foretold: told / out,
    notice: notices[Math.floor(notices.length / 2)] ?? NaN,
  };
}

function outOn(month: readonly SpentDay[], limit: number): number | null {
  let sum = 0;
  const place = month.findIndex(({ spent }) => (sum += spent) >= limit);
  return place === -1 ? null : place;
}

/** The day of the month on which the budget was first said to run out. */
function firstForecast(year: readonly SpentDay[], begin: number, limit: number): number | null {
  const until = year[begin]!.at + 30 * DAY_MS;
  let spent = 0;
  for (let day = 0; day < 30; day += 1) {
    const { at, spent: whole } = year[begin + day]!;
    const today = whole / 2;
    const left = limit - spent - today;
    if (left <= 0) return null;
    const isLookedAt = (spent + today) / limit >= 0.25;
    const history = before(year, begin + day);
    if (isLookedAt && forecastRunOut(history, { remaining: left, today, now: at + 12 * HOUR_MS, until }) !== null) return day;
    spent += whole;
  }
  return null;
}
