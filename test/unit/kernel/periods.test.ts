import { daysOf, periodBefore, type PeriodName, resolvePeriod } from '../../../src/kernel';

const timeOf = (text: string): number => Date.parse(text);

test.each<[PeriodName, string, string, string]>([
  [{ days: 1 }, 'UTC', '2026-11-23T10:00:00Z', '2026-11-23T00:00:00.000Z'],
  [{ days: 30 }, 'UTC', '2026-11-23T10:00:00Z', '2026-10-25T00:00:00.000Z'],
  [{ days: 7 }, 'Asia/Kathmandu', '2026-11-23T18:14:59Z', '2026-11-16T18:15:00.000Z'],
  [{ days: 7 }, 'Asia/Kathmandu', '2026-11-23T18:16:00Z', '2026-11-17T18:15:00.000Z'],
  // The clock goes back within the period, and the days keep their midnights.
  [{ days: 7 }, 'Europe/Berlin', '2026-10-27T12:00:00Z', '2026-10-20T22:00:00.000Z'],
  // At midnight exactly, the new day contains no instant yet.
  [{ days: 1 }, 'UTC', '2026-11-23T00:00:00Z', '2026-11-22T00:00:00.000Z'],
  ['month', 'UTC', '2026-11-23T10:00:00Z', '2026-11-01T00:00:00.000Z'],
  ['month', 'Pacific/Kiritimati', '2026-11-30T10:00:01Z', '2026-11-30T10:00:00.000Z'],
  [{ hours: 24 }, 'UTC', '2026-11-23T10:20:00Z', '2026-11-22T11:00:00.000Z'],
  [{ hours: 24 }, 'UTC', '2026-11-23T10:00:00Z', '2026-11-22T10:00:00.000Z'],
])('%j in %s at %s begins at %s', (name, zone, now, from) => {
  expect(resolvePeriod(name, zone, timeOf(now))).toEqual({ from: new Date(from), to: new Date(now) });
});

test('previous period has the same length and ends where the period begins', () => {
  const period = resolvePeriod({ days: 2 }, 'UTC', timeOf('2026-11-23T12:00:00Z'));
  expect(periodBefore(period)).toEqual({
    from: new Date('2026-11-20T12:00:00Z'),
    to: new Date('2026-11-22T00:00:00Z'),
  });
});

test.each(['UTC', 'Europe/Berlin', 'America/Santiago', 'Asia/Kathmandu'])(
  'days of a period in %s are unique and end with today',
  (zone) => {
    for (const now of ['2026-10-26T12:00:00Z', '2026-09-07T03:59:00Z', '2026-03-29T22:00:01Z']) {
      const days = daysOf(resolvePeriod({ days: 7 }, zone, timeOf(now)), zone);
      expect(days).toHaveLength(7);
      expect(days.at(-1)).toBe(
        new Intl.DateTimeFormat('en-CA', { timeZone: zone, dateStyle: 'short' }).format(timeOf(now)),
      );
    }
  },
);
