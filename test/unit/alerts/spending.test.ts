import { forecastRunOut, findUnusualBound } from '../../../src/alerts/statistics/spending';
import { measureAnomalies, measureForecasts } from '../../../proofs/alerts/measure';
import { type Shape, shapes } from '../../../proofs/alerts/synthetic-days';

const DAY_MS = 86_400_000;
const MONDAY = Date.UTC(2026, 0, 5);
const seeds = Array.from({ length: 10 }, (_, place) => place + 1);

/** What docs/alerts.md promises: shares of days with five times their usual that are found, by the way of spending. */
const found: Readonly<Record<Shape, number>> = {
  steady: 0.95,
  // The other days are weekend days: five of them cost less than one working day.
  weekday: 0.65,
  growing: 0.65,
  // Days with a batch are usual here, and as large.
  bursty: 0.05,
  sparse: 0.7,
};

test.each(shapes)('a year of %s spending raises less than one false alarm a month', (shape) => {
  const anomalies = measureAnomalies(shape, seeds);
  const forecasts = measureForecasts(shape, seeds);
  expect(anomalies.falseAlarms + forecasts.falseAlarms).toBeLessThanOrEqual(1);
  expect(anomalies.found).toBeGreaterThanOrEqual(found[shape]);
  expect(anomalies.foundAtHour).toBeLessThan(16);
  if (shape !== 'sparse') expect(forecasts.foretold).toBeGreaterThan(0.75);
  if (shape !== 'sparse') expect(forecasts.notice).toBeGreaterThanOrEqual(10);
});

const steady = (days: number, spent = 10) =>
  Array.from({ length: days }, (_, day) => ({ at: MONDAY + day * DAY_MS, spent }));

test('nothing is said of those who began to spend less than two weeks ago', () => {
  const young = [...steady(40, 0), ...steady(13)].map((day, place) => ({
    ...day,
    at: MONDAY + place * DAY_MS,
  }));
  const now = MONDAY + young.length * DAY_MS;
  expect(findUnusualBound(young, { at: now, times: 3, floor: 0 })).toBeNull();
  expect(forecastRunOut(young, { remaining: 1, today: 0, now, until: now + DAY_MS })).toBeNull();
});

test('a forecast takes what is left of today, then days like those before', () => {
  const history = steady(28);
  const noon = MONDAY + 28.5 * DAY_MS;
  const ask = (left: number, today: number, until = noon + 30 * DAY_MS) =>
    forecastRunOut(history, { remaining: left, today, now: noon, until });
  // Six more today, ten tomorrow: 16 lasts until the end of tomorrow.
  expect(ask(16, 4)).toBe(MONDAY + 30 * DAY_MS);
  expect(ask(3, 4)).toBe(noon + DAY_MS / 4);
  // A day that cost more than usual already costs no more.
  expect(ask(10, 25)).toBe(MONDAY + 30 * DAY_MS);
  expect(ask(16, 4, MONDAY + 29 * DAY_MS)).toBeNull();
  expect(ask(0, 4)).toBeNull();
});

test('weekdays are compared with their like', () => {
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
