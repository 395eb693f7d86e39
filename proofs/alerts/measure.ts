import { HISTORY_DAYS, forecastRunOut, type SpentDay, findUnusualBound } from '#product/alerts';
import { randomFrom, type SpendingShape, simulateYear } from './synthetic-days';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** Defaults of a rule. */
const RULE_DEFAULTS = { times: 3, floor: 5 };

const historyBefore = (days: readonly SpentDay[], index: number): SpentDay[] =>
  days.slice(Math.max(0, index - HISTORY_DAYS), index);

export interface AnomalyMeasurement {
  /** Days per month on which an ordinary day was reported as unusual. */
  readonly falseAlarms: number;
  /** Share of days with five times the usual spending that an alert detected. */
  readonly detectedShare: number;
  /** Median hour of such a day at which it was detected. */
  readonly foundAtHour: number;
}

/** Measures a year of ordinary days, and each of its days again with five times the spending, spread over the day. */
export function measureAnomalies(shape: SpendingShape, seeds: readonly number[]): AnomalyMeasurement {
  let [alarms, days, tried] = [0, 0, 0];
  const hours: number[] = [];
  for (const seed of seeds) {
    const year = simulateYear(shape, seed);
    for (let index = HISTORY_DAYS; index < year.length; index += 1) {
      const { at, spent } = year[index]!;
      const unusual = findUnusualBound(historyBefore(year, index), { at, ...RULE_DEFAULTS });
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
    detectedShare: hours.length / tried,
    foundAtHour: hours[Math.floor(hours.length / 2)] ?? NaN,
  };
}

export interface ForecastMeasurement {
  /** Budgets per month that were forecast to run out and did not. */
  readonly falseAlarms: number;
  /** Share of exhausted budgets that a forecast announced. */
  readonly foretold: number;
  /** Median days of notice. */
  readonly notice: number;
}

/** Measures monthly budgets between half and twice the month's cost, checked daily at noon. */
export function measureForecasts(shape: SpendingShape, seeds: readonly number[]): ForecastMeasurement {
  let [months, wrong, out, told] = [0, 0, 0, 0];
  const notices: number[] = [];
  for (const seed of seeds) {
    const year = simulateYear(shape, seed);
    const random = randomFrom(seed + 1);
    for (let begin = HISTORY_DAYS; begin + 30 <= year.length; begin += 30) {
      const month = year.slice(begin, begin + 30);
      const cost = month.reduce((sum, { spent }) => sum + spent, 0);
      const limit = cost * (0.5 + 1.5 * random());
      const first = firstForecast(year, begin, limit);
      const end = exhaustionDay(month, limit);
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

function exhaustionDay(month: readonly SpentDay[], limit: number): number | null {
  let sum = 0;
  const index = month.findIndex(({ spent }) => (sum += spent) >= limit);
  return index === -1 ? null : index;
}

/** Returns the first day of the month on which the budget was forecast to run out. */
function firstForecast(year: readonly SpentDay[], begin: number, limit: number): number | null {
  const until = year[begin]!.at + 30 * DAY_MS;
  let spentSoFar = 0;
  for (let day = 0; day < 30; day += 1) {
    const { at, spent: whole } = year[begin + day]!;
    const today = whole / 2;
    const remaining = limit - spentSoFar - today;
    if (remaining <= 0) return null;
    const isChecked = (spentSoFar + today) / limit >= 0.25;
    const history = historyBefore(year, begin + day);
    if (
      isChecked &&
      forecastRunOut(history, { remaining: remaining, today, now: at + 12 * HOUR_MS, until }) !== null
    )
      return day;
    spentSoFar += whole;
  }
  return null;
}
