import type { ChainBreak } from '../../audit';
import { type BannerModel, formatTime, type Locale, type Translate } from '../../views';

/** Entries are normally sealed within half a second; a longer wait points to a fault that an operator should see. */
const MAX_SEAL_DELAY_MS = 10_000;

interface SealTimes {
  readonly sealedAt: Date | null;
  readonly waitingSince: Date | null;
}

interface BannerLocalisation {
  readonly locale: Locale;
  readonly timeZone: string;
  readonly translate: Translate;
}

export function sealBanner(
  { sealedAt, waitingSince }: SealTimes,
  { locale, timeZone, translate }: BannerLocalisation,
  now = new Date(),
): BannerModel {
  const time = (instant: Date): string => formatTime(locale, timeZone, instant, 'full');
  if (waitingSince !== null && now.getTime() - waitingSince.getTime() > MAX_SEAL_DELAY_MS)
    return { tone: 'bad', text: translate('audit.seal-late', { time: time(waitingSince) }) };
  if (sealedAt === null) return { tone: 'info', text: translate('audit.unsealed') };
  return { tone: 'ok', text: translate('audit.sealed', { time: time(sealedAt) }) };
}

export function breakBanner(
  open: readonly ChainBreak[],
  { locale, timeZone, translate }: BannerLocalisation,
): BannerModel | null {
  const first = open.at(-1);
  if (first === undefined) return null;
  const time = formatTime(locale, timeZone, first.foundAt, 'full');
  return {
    tone: 'bad',
    title: translate('audit.broken.title'),
    text: translate('audit.broken.text', { places: open.length, time }),
  };
}
