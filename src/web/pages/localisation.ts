import type { Locale, Translate } from '../../views';
import type { HttpRequest } from '../http-request';
import type { PageRenderer } from './page-renderer';

export interface Localisation {
  readonly locale: Locale;
  readonly timeZone: string;
  readonly translate: Translate;
}

export const localisationOf = (pages: PageRenderer, request: HttpRequest): Localisation => ({
  locale: pages.localeOf(request),
  timeZone: pages.timeZoneOf(request),
  translate: pages.textsFor(request),
});
