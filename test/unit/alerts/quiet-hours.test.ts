import { minutesOf, quietUntil, timeOf } from '../../../src/alerts/rules/quiet-hours';

const ask = (from: string | null, to: string | null, at: string, timeZone = 'UTC') =>
  quietUntil(
    { timeZone, quietFrom: from && minutesOf(from), quietTo: to && minutesOf(to) } as Parameters<
      typeof quietUntil
    >[0],
    new Date(at),
  )?.toISOString() ?? null;

test('quiet hours end at their end, in their zone, also over midnight', () => {
  expect(ask(null, null, '2026-11-27T03:00:00Z')).toBeNull();
  expect(ask('22:00', '07:00', '2026-11-27T21:59:59Z')).toBeNull();
  expect(ask('22:00', '07:00', '2026-11-27T22:00:00Z')).toBe('2026-11-28T07:00:00.000Z');
  expect(ask('22:00', '07:00', '2026-11-28T06:59:30Z')).toBe('2026-11-28T07:00:00.000Z');
  expect(ask('22:00', '07:00', '2026-11-28T07:00:00Z')).toBeNull();
  expect(ask('12:00', '13:00', '2026-11-27T11:30:00Z', 'Europe/Zurich')).toBe('2026-11-27T12:00:00.000Z');
  expect(ask('12:00', '12:00', '2026-11-27T12:00:00Z')).toBeNull();
});

test('times are written as they are read', () => {
  for (const time of ['00:00', '07:05', '23:59']) expect(timeOf(minutesOf(time))).toBe(time);
});
