import * as fc from 'fast-check';
import {
  bucketLeavesAt,
  bucketOf,
  bucketStart,
  budgetPeriods,
  calendarWindow,
  isBudgetPeriod,
  rollingBuckets,
  rollingRange,
  rollingResetsAt,
} from '../../../src/kernel';

const hour = 3_600_000;
const instant = fc.date({ min: new Date('1971-01-01'), max: new Date('2199-12-31'), noInvalidDate: true });
const iso = ({ id, start, resetsAt }: ReturnType<typeof calendarWindow>) => [
  id,
  start.toISOString(),
  resetsAt.toISOString(),
];

test('the periods are known by name', () => {
  expect(budgetPeriods.every(isBudgetPeriod)).toBe(true);
  for (const other of ['yearly', '', null, undefined, 1]) expect(isBudgetPeriod(other)).toBe(false);
});

describe('calendar windows', () => {
  test.each([
    ['2026-11-21T13:14:15.016Z', '2026-11-21', '2026-11-22'],
    ['2026-11-30T23:59:59.999Z', '2026-11-30', '2026-12-01'],
    ['2026-12-31T12:00:00Z', '2026-12-31', '2027-01-01'],
    ['2028-02-28T12:00:00Z', '2028-02-28', '2028-02-29'],
    ['2028-02-29T12:00:00Z', '2028-02-29', '2028-03-01'],
    ['2026-02-28T12:00:00Z', '2026-02-28', '2026-03-01'],
  ])('the day of %s', (at, day, next) => {
    expect(iso(calendarWindow('daily', new Date(at)))).toEqual([
      day,
      `${day}T00:00:00.000Z`,
      `${next}T00:00:00.000Z`,
    ]);
  });

  test.each([
    ['2026-11-01T00:00:00Z', '2026-11', '2026-12'],
    ['2026-01-31T23:59:59.999Z', '2026-01', '2026-02'],
    ['2026-12-31T23:59:59.999Z', '2026-12', '2027-01'],
    ['2028-02-29T23:59:59Z', '2028-02', '2028-03'],
  ])('the month of %s', (at, month, next) => {
    expect(iso(calendarWindow('monthly', Date.parse(at)))).toEqual([
      month,
      `${month}-01T00:00:00.000Z`,
      `${next}-01T00:00:00.000Z`,
    ]);
  });

  test.each(['daily', 'monthly'] as const)('%s windows cover time without gap or overlap', (period) => {
    fc.assert(
      fc.property(instant, (at) => {
        const window = calendarWindow(period, at);
        expect(window.start <= at && at < window.resetsAt).toBe(true);
        expect(calendarWindow(period, window.start)).toEqual(window);
        expect(calendarWindow(period, Number(window.resetsAt) - 1)).toEqual(window);
        const next = calendarWindow(period, window.resetsAt);
        expect(next.start).toEqual(window.resetsAt);
        expect(next.id > window.id).toBe(true);
      }),
    );
  });
});

describe('the rolling window', () => {
  test('is thirty days of hours', () => {
    expect(rollingBuckets * hour).toBe(30 * 24 * hour);
    expect(bucketStart(bucketOf(Date.parse('2026-11-21T13:59:59.999Z'))).toISOString()).toBe(
      '2026-11-21T13:00:00.000Z',
    );
    expect(bucketLeavesAt(bucketOf(Date.parse('2028-02-10T05:30:00Z'))).toISOString()).toBe(
      '2028-03-11T05:00:00.000Z',
    );
  });

  test('a bucket counts until it leaves, to the millisecond', () => {
    fc.assert(
      fc.property(instant, (at) => {
        const bucket = bucketOf(at);
        const leaves = Number(bucketLeavesAt(bucket));
        expect(rollingRange(at)).toEqual({ first: bucket - rollingBuckets + 1, last: bucket });
        expect(rollingRange(leaves - 1).first).toBe(bucket);
        expect(rollingRange(leaves).first).toBe(bucket + 1);
        expect(Number(bucketStart(bucket)) <= Number(at)).toBe(true);
        expect(Number(at) < Number(bucketStart(bucket + 1))).toBe(true);
      }),
    );
  });

  test('resets when the oldest spending that still counts leaves', () => {
    const at = new Date('2026-11-21T13:14:15Z');
    const now = bucketOf(at);
    expect(rollingResetsAt([], at)).toBeNull();
    expect(rollingResetsAt([now - rollingBuckets, now + 1], at)).toBeNull();
    expect(rollingResetsAt([now], at)).toEqual(new Date('2026-12-21T13:00:00Z'));
    expect(rollingResetsAt([now, now - 5, now - rollingBuckets, now - 3], at)).toEqual(
      bucketLeavesAt(now - 5),
    );
    expect(rollingResetsAt([now - rollingBuckets + 1], at)).toEqual(new Date('2026-11-21T14:00:00Z'));
  });

  test('the reset is always ahead, by at most thirty days', () => {
    fc.assert(
      fc.property(instant, fc.array(fc.integer({ min: -800, max: 10 })), (at, ages) => {
        const resets = rollingResetsAt(
          ages.map((age) => bucketOf(at) + age),
          at,
        );
        if (resets === null) return;
        const ahead = Number(resets) - Number(at);
        expect(ahead > 0 && ahead <= 30 * 24 * hour).toBe(true);
      }),
    );
  });
});
