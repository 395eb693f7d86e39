import type { Locale, Translate } from '../../views';
import type { HttpRequest, PageRenderer } from '../../web';

/** The language and time zone in which a page is rendered. */
export interface Looks {
  readonly locale: Locale;
  readonly timeZone: string;
  readonly translate: Translate;
}

export const looksOf = (pages: PageRenderer, request: HttpRequest): Looks => ({
  locale: pages.localeOf(request),
  timeZone: pages.timeZoneOf(request),
  translate: pages.textsFor(request),
});
