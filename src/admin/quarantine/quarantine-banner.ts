import { atLeast, type Role } from '../../kernel';
import { type HeldBack, QUARANTINE_PATH } from '../../quarantine';
import { type BannerModel, formatTime, type Locale, type Translate } from '../../views';

interface Shown {
  readonly role: Role;
  readonly locale: Locale;
  readonly timeZone: string;
  readonly translate: Translate;
}

/** What an open quarantine holds, and for owners, who decide, the way there; null: none is open. */
export function quarantineBanner(
  held: HeldBack | null,
  { role, locale, timeZone, translate }: Shown,
): BannerModel | null {
  if (held === null) return null;
  const time = formatTime(locale, timeZone, held.moment, 'full');
  return {
    tone: 'bad',
    title: translate('quarantine.heading'),
    text: translate('quarantine.is-open', { time, journals: held.journals, jobs: held.jobs }),
    ...(atLeast(role, 'platform_owner')
      ? { action: { href: QUARANTINE_PATH, label: translate('quarantine.release') } }
      : {}),
  };
}
