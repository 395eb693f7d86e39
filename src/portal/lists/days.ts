import type { Localisation } from '../../web';

export const DAY_MS = 86_400_000;

/** The names of the days from `days` ago to today in the reader's zone, as YYYY-MM-DD. */
export function dayNames(days: number, now: number, timeZone: string): string[] {
  const nameOf = new Intl.DateTimeFormat('en-CA', { timeZone });
  const names = new Set<string>();
  for (let back = days; back >= 0; back -= 1) names.add(nameOf.format(now - back * DAY_MS));
  return [...names];
}

export function dayLabels(names: readonly string[], { locale }: Pick<Localisation, 'locale'>): string[] {
  const label = new Intl.DateTimeFormat(locale, { timeZone: 'UTC', day: 'numeric', month: 'short' });
  return names.map((name) => label.format(new Date(`${name}T00:00:00Z`)));
}
