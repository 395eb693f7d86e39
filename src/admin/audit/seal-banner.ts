import type { ChainBreak } from '../../audit';
import { type BannerModel, formatTime, type Locale, type Translate } from '../../views';

/** Sealing takes half a second. Entries that wait longer than this point to a fault that an operator should see. */
const LATE_MS = 10_000;

interface SealShown {
  readonly sealedAt: Date | null;
  readonly waitingSince: Date | null;
}

interface Shown {
  readonly locale: Locale;
  readonly timeZone: string;
  readonly translate: Translate;
}

/** Up to when the log is sealed, and since when entries have been overdue. */
export function sealBanner(
  { sealedAt, waitingSince }: SealShown,
  { locale, timeZone, translate }: Shown,
  now = new Date(),
): BannerModel {
  const time = (instant: Date): string => formatTime(locale, timeZone, instant, 'full');
  if (waitingSince !== null && now.getTime() - waitingSince.getTime() > LATE_MS)
    return { tone: 'bad', text: translate('audit.seal-late', { time: time(waitingSince) }) };
  if (sealedAt === null) return { tone: 'info', text: translate('audit.unsealed') };
  return { tone: 'ok', text: translate('audit.sealed', { time: time(sealedAt) }) };
}

/** Breaks that the self-check found and that are not acknowledged yet; null: none. */
export function breakBanner(
  open: readonly ChainBreak[],
  { locale, timeZone, translate }: Shown,
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
