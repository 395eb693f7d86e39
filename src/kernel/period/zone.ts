import { DAY_MS } from '../time';

const formatters = new Map<string, Intl.DateTimeFormat>();

/** The clocks of a zone are so far ahead of UTC at an instant. */
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
  const midnight = Date.parse(`${date}T00:00:00Z`) + days * DAY_MS;
  const guess = midnight - offsetMs(midnight, zone);
  const better = midnight - offsetMs(guess, zone);
  // Where the clocks go forward at midnight, the day begins with the first time that there is.
  return new Date(better === guess ? guess : Math.max(better, midnight - offsetMs(better, zone)));
}

/** The day after, as YYYY-MM-DD. */
export const dayAfter = (day: string): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) + DAY_MS).toISOString().slice(0, 10);

/** The day of an instant in a zone, as YYYY-MM-DD. */
export const dayIn = (instant: Date | number, zone: string): string =>
  new Date(Number(instant) + offsetMs(Number(instant), zone)).toISOString().slice(0, 10);

/** Zones that the time zone database has renamed, and that Node.js still lists by their former names. */
const renamed: Readonly<Record<string, string>> = {
  'Africa/Asmera': 'Africa/Asmara',
  'America/Buenos_Aires': 'America/Argentina/Buenos_Aires',
  'America/Catamarca': 'America/Argentina/Catamarca',
  'America/Coral_Harbour': 'America/Atikokan',
  'America/Cordoba': 'America/Argentina/Cordoba',
  'America/Godthab': 'America/Nuuk',
  'America/Indianapolis': 'America/Indiana/Indianapolis',
  'America/Jujuy': 'America/Argentina/Jujuy',
  'America/Louisville': 'America/Kentucky/Louisville',
  'America/Mendoza': 'America/Argentina/Mendoza',
  'Asia/Calcutta': 'Asia/Kolkata',
  'Asia/Katmandu': 'Asia/Kathmandu',
  'Asia/Rangoon': 'Asia/Yangon',
  'Asia/Saigon': 'Asia/Ho_Chi_Minh',
  'Atlantic/Faeroe': 'Atlantic/Faroe',
  'Europe/Kiev': 'Europe/Kyiv',
  'Pacific/Enderbury': 'Pacific/Kanton',
  'Pacific/Ponape': 'Pacific/Pohnpei',
  'Pacific/Truk': 'Pacific/Chuuk',
};

/** Every zone by its name of today. */
export const timeZones: readonly string[] = [
  ...Intl.supportedValuesOf('timeZone')
    .map((name) => renamed[name] ?? name)
    .toSorted(),
  'UTC',
];
const known: ReadonlySet<string> = new Set(timeZones);

/** The name of today for a zone by any of its names; null for what is no zone. */
export function canonicalZone(name: string): string | null {
  try {
    const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions();
    const today = renamed[timeZone] ?? timeZone;
    return known.has(today) ? today : null;
  } catch {
    return null;
  }
}
