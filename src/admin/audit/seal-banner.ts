import { type BannerModel, formatTime, type Locale, type Translate } from '../../views';

/** Sealing takes half a second; what waits for longer than this waits for somebody. */
const LATE_MS = 10_000;

interface SealShown {
  readonly sealedAt: Date | null;
  readonly waitingSince: Date | null;
}

/** Up to when the log is sealed, and since when entries wait in vain. */
export function sealBanner(
  { sealedAt, waitingSince }: SealShown,
  { locale, timeZone, translate }: { locale: Locale; timeZone: string; translate: Translate },
  now = new Date(),
): BannerModel {
  const time = (instant: Date): string => formatTime(locale, timeZone, instant, 'full');
  if (waitingSince !== null && now.getTime() - waitingSince.getTime() > LATE_MS)
    return { tone: 'bad', text: translate('audit.seal-late', { time: time(waitingSince) }) };
  if (sealedAt === null) return { tone: 'info', text: translate('audit.unsealed') };
  return { tone: 'ok', text: translate('audit.sealed', { time: time(sealedAt) }) };
}
