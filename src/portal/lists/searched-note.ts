import { formatTime } from '../../views';
import type { Localisation } from '../../web';

/** States how far an interrupted search got; null if it completed. */
export const searchedNote = (
  searchedTo: Date | null,
  { locale, timeZone, translate }: Localisation,
): string | null =>
  searchedTo === null
    ? null
    : translate('list.searched-to', { time: formatTime(locale, timeZone, searchedTo, 'minute') });
