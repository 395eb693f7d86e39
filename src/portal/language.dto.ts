import { type Locale, locales } from '../views';
import { IsIn, IsOptional, MatchesFormat } from '../web';

export class LanguageForm {
  @IsIn(locales)
  language: Locale;

  /** Page to return to; a path of the portal only. */
  @IsOptional()
  @MatchesFormat(/^\/(?![/\\])[\w./-]{0,500}$/, 'a path of the portal, like /dashboard')
  next?: string;
}
