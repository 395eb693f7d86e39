import { atLeast, type UserRole } from '../../kernel';
import { type QuarantineSummary, QUARANTINE_PATH } from '../../quarantine';
import { type BannerModel, formatTime, type Locale, type Translate } from '../../views';

interface QuarantineBannerContext {
  readonly role: UserRole;
  readonly locale: Locale;
  readonly timeZone: string;
  readonly translate: Translate;
}

export function quarantineBanner(
  held: QuarantineSummary | null,
  { role, locale, timeZone, translate }: QuarantineBannerContext,
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
