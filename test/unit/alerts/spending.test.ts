import { forecastRunOut, findUnusualBound } from '../../../src/alerts/statistics/spending';
import { measureAnomalies, measureForecasts } from '../../../proofs/alerts/measure';
import { type SpendingShape, SHAPES } from '../../../proofs/alerts/synthetic-days';

const DAY_MS = 86_400_000;
const MONDAY = Date.UTC(2026, 0, 5);
const seeds = Array.from({ length: 10 }, (_, place) => place + 1);

/**
 * Shares of days with five times the usual spending that are detected, per spending pattern, as docs/alerts.md
 * promises.
 */
const documentedDetectionShares: Readonly<Record<SpendingShape, number>> = {
  steady: 0.95,
  // The remaining days are weekend days: five times a weekend day costs less than one working day.
  weekday: 0.65,
  growing: 0.65,
  // Days with a batch are as large and usual in this pattern.
  bursty: 0.05,
  sparse: 0.7,
};

test.each(SHAPES)('a year of %s spending raises less than one false alarm per month', (shape) => {
  const anomalies = measureAnomalies(shape, seeds);
  const forecasts = measureForecasts(shape, seeds);
  expect(anomalies.falseAlarms + forecasts.falseAlarms).toBeLessThanOrEqual(1);
  expect(anomalies.detectedShare).toBeGreaterThanOrEqual(documentedDetectionShares[shape]);
  expect(anomalies.foundAtHour).toBeLessThan(16);
  if (shape !== 'sparse') expect(forecasts.foretold).toBeGreaterThan(0.75);
  if (shape !== 'sparse') expect(forecasts.notice).toBeGreaterThanOrEqual(10);
});

const steadyDays = (days: number, spent = 10) =>
  Array.from({ length: days }, (_, day) => ({ at: MONDAY + day * DAY_MS, spent }));

test('reports no anomaly when spending began less than two weeks ago', () => {
  const shortHistory = [...steadyDays(40, 0), ...steadyDays(13)].map((day, place) => ({
    ...day,
    at: MONDAY + place * DAY_MS,
  }));
  const now = MONDAY + shortHistory.length * DAY_MS;
  expect(findUnusualBound(shortHistory, { at: now, times: 3, floor: 0 })).toBeNull();
  expect(forecastRunOut(shortHistory, { remaining: 1, today: 0, now, until: now + DAY_MS })).toBeNull();
});

test('forecast adds the rest of today and then days like the past ones', () => {
  const history = steadyDays(28);
  const noon = MONDAY + 28.5 * DAY_MS;
  const forecast = (left: number, today: number, until = noon + 30 * DAY_MS) =>
    forecastRunOut(history, { remaining: left, today, now: noon, until });
  // 6 more today and 10 tomorrow: 16 lasts until the end of tomorrow.
  expect(forecast(16, 4)).toBe(MONDAY + 30 * DAY_MS);
  expect(forecast(3, 4)).toBe(noon + DAY_MS / 4);
  // A day that already exceeded its usual cost adds nothing more.
  expect(forecast(10, 25)).toBe(MONDAY + 30 * DAY_MS);
  expect(forecast(16, 4, MONDAY + 29 * DAY_MS)).toBeNull();
  expect(forecast(0, 4)).toBeNull();
});

test('weekdays are compared with the same weekday', () => {
  const week = Array.from({ length: 42 }, (_, day) => ({
    at: MONDAY + day * DAY_MS,
    spent: day % 7 < 5 ? 100 : 60,
  }));
  const saturday = MONDAY + 47 * DAY_MS;
  expect(findUnusualBound(week, { at: saturday, times: 3, floor: 0 })).toEqual({ usual: 60, bound: 180 });
  expect(findUnusualBound(week, { at: MONDAY + 42 * DAY_MS, times: 3, floor: 500 })).toEqual({
    usual: 100,
    bound: 500,
  });
});
