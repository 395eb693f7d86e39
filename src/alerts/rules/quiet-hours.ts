import { MINUTE_MS } from '../../kernel';

export interface QuietHours {
  readonly timeZone: string;
  /** Minutes since midnight in the time zone; null if there are no quiet hours. */
  readonly quietFrom: number | null;
  readonly quietTo: number | null;
}

const formatters = new Map<string, Intl.DateTimeFormat>();

function minuteOfDay(at: Date, timeZone: string): number {
  let formatter = formatters.get(timeZone);
  if (formatter === undefined) {
    formatter = new Intl.DateTimeFormat('en', {
      ...{ timeZone, hourCycle: 'h23', hour: '2-digit', minute: '2-digit' },
    });
    formatters.set(timeZone, formatter);
  }
  const parts = new Map(formatter.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
  return (parts.get('hour') ?? 0) * 60 + (parts.get('minute') ?? 0);
}

/**
 * Returns the end of the quiet hours that contain an instant, or null outside of them. Quiet hours can span midnight.
 */
export function quietUntil({ timeZone, quietFrom: from, quietTo: to }: QuietHours, at: Date): Date | null {
  if (from === null || to === null || from === to) return null;
  const minute = minuteOfDay(at, timeZone);
  const isQuiet = from < to ? minute >= from && minute < to : minute >= from || minute < to;
  if (!isQuiet) return null;
  const remainingMinutes = (to - minute + 1_440) % 1_440;
  return new Date(Math.floor(at.getTime() / MINUTE_MS) * MINUTE_MS + remainingMinutes * MINUTE_MS);
}

/** Minutes since midnight of a time like 22:30. */
export const minutesOf = (time: string): number => Number(time.slice(0, 2)) * 60 + Number(time.slice(3, 5));

export const timeOf = (minutes: number): string =>
  `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`;
