import { formatTime } from '../../views';
import type { Localisation } from '../../web';

/** The note says how far a search looked that was broken off; null where it came to the end. */
export const searchedNote = (
  searchedTo: Date | null,
  { locale, timeZone, translate }: Localisation,
): string | null =>
  searchedTo === null
    ? null
    : translate('list.searched-to', { time: formatTime(locale, timeZone, searchedTo, 'minute') });
