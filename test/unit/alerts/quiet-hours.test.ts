import { minutesOf, quietUntil, timeOf } from '../../../src/alerts/rules/quiet-hours';

const quietEnd = (from: string | null, to: string | null, at: string, timeZone = 'UTC') =>
  quietUntil(
    { timeZone, quietFrom: from && minutesOf(from), quietTo: to && minutesOf(to) } as Parameters<
      typeof quietUntil
    >[0],
    new Date(at),
  )?.toISOString() ?? null;

test('quiet hours end at the set time in the configured time zone, also past midnight', () => {
  expect(quietEnd(null, null, '2026-11-27T03:00:00Z')).toBeNull();
  expect(quietEnd('22:00', '07:00', '2026-11-27T21:59:59Z')).toBeNull();
  expect(quietEnd('22:00', '07:00', '2026-11-27T22:00:00Z')).toBe('2026-11-28T07:00:00.000Z');
  expect(quietEnd('22:00', '07:00', '2026-11-28T06:59:30Z')).toBe('2026-11-28T07:00:00.000Z');
  expect(quietEnd('22:00', '07:00', '2026-11-28T07:00:00Z')).toBeNull();
  expect(quietEnd('12:00', '13:00', '2026-11-27T11:30:00Z', 'Europe/Zurich')).toBe(
    '2026-11-27T12:00:00.000Z',
  );
  expect(quietEnd('12:00', '12:00', '2026-11-27T12:00:00Z')).toBeNull();
});

test('times survive a round trip through minutes', () => {
  for (const time of ['00:00', '07:05', '23:59']) expect(timeOf(minutesOf(time))).toBe(time);
});
