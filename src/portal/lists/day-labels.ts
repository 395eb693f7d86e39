import type { Localisation } from '../../web';

export function dayLabels(names: readonly string[], { locale }: Pick<Localisation, 'locale'>): string[] {
  const label = new Intl.DateTimeFormat(locale, { timeZone: 'UTC', day: 'numeric', month: 'short' });
  return names.map((name) => label.format(new Date(`${name}T00:00:00Z`)));
}
