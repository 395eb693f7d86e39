import { DAY_MS } from '../time';

const formatters = new Map<string, Intl.DateTimeFormat>();

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

/** Returns the first instant of a day (YYYY-MM-DD) in a zone, `days` later. */
export function startOfDay(date: string, zone: string, days = 0): Date {
  const midnight = Date.parse(`${date}T00:00:00Z`) + days * DAY_MS;
  const guess = midnight - offsetMs(midnight, zone);
  const better = midnight - offsetMs(guess, zone);
  // If clocks go forward at midnight, the day starts with the first time that exists.
  return new Date(better === guess ? guess : Math.max(better, midnight - offsetMs(better, zone)));
}

/** The day after, as YYYY-MM-DD. */
export const dayAfter = (day: string): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) + DAY_MS).toISOString().slice(0, 10);

/** The day of an instant in a zone, as YYYY-MM-DD. */
export const dayIn = (instant: Date | number, zone: string): string =>
  new Date(Number(instant) + offsetMs(Number(instant), zone)).toISOString().slice(0, 10);

/** Zones renamed in the time zone database that Node.js still lists under their former names. */
const renamedZones: Readonly<Record<string, string>> = {
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

export const timeZones: readonly string[] = [
  ...Intl.supportedValuesOf('timeZone')
    .map((name) => renamedZones[name] ?? name)
    .toSorted(),
  'UTC',
];
const currentZones: ReadonlySet<string> = new Set(timeZones);

/** Returns the current name of a zone; null if there is no such zone. */
export function canonicalZone(name: string): string | null {
  try {
    const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions();
    const currentName = renamedZones[timeZone] ?? timeZone;
    return currentZones.has(currentName) ? currentName : null;
  } catch {
    return null;
  }
}
