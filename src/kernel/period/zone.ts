const formatters = new Map<string, Intl.DateTimeFormat>();

/** How far the clocks of a zone are ahead of UTC at an instant. */
function offsetMs(instant: number, zone: string): number {
  let formatter = formatters.get(zone);
  if (formatter === undefined) {
    formatter = new Intl.DateTimeFormat('en', {
      timeZone: zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
    formatters.set(zone, formatter);
  }
  const parts = new Map(formatter.formatToParts(instant).map(({ type, value }) => [type, Number(value)]));
  const part = (name: Intl.DateTimeFormatPartTypes): number => parts.get(name) ?? 0;
  const local = Date.UTC(
    part('year'),
    part('month') - 1,
    part('day'),
    part('hour'),
    part('minute'),
    part('second'),
  );
  return local - Math.floor(instant / 1_000) * 1_000;
}

/** The first instant of a day, given as YYYY-MM-DD, in a zone; `days` later when asked. */
export function startOfDay(date: string, zone: string, days = 0): Date {
  const midnight = Date.parse(`${date}T00:00:00Z`) + days * 86_400_000;
  const guess = midnight - offsetMs(midnight, zone);
  const better = midnight - offsetMs(guess, zone);
  // Where the clocks go forward at midnight, the day begins with the first time that there is.
  return new Date(better === guess ? guess : Math.max(better, midnight - offsetMs(better, zone)));
}

/** The day after, as YYYY-MM-DD. */
export const dayAfter = (day: string): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) + 86_400_000).toISOString().slice(0, 10);

/** The day of an instant in a zone, as YYYY-MM-DD. */
export const dayIn = (instant: Date | number, zone: string): string =>
  new Date(Number(instant) + offsetMs(Number(instant), zone)).toISOString().slice(0, 10);

export function isZone(name: string): boolean {
  try {
    offsetMs(0, name);
    return true;
  } catch {
    return false;
  }
}
