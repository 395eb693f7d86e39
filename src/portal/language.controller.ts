import type { ServerResponse } from 'node:http';
import { Body, Controller, Req, Res } from '@nestjs/common';
import { IsIn, IsOptional, Matches } from 'class-validator';
import { Settings } from '../platform';
import { type Locale, locales } from '../views';
import { Access, Action, type HttpRequest, languageCookie, setCookie } from '../web';

class LanguageForm {
  @IsIn(locales)
  language: Locale;

  /** The page it was chosen on: a path of ours, never an address. */
  @IsOptional()
  @Matches(/^\/(?![/\\])[\w./-]{0,500}$/)
  next?: string;
}

const YEAR_SECONDS = 31_536_000;

@Controller()
export class LanguageController {
  constructor(private readonly settings: Settings) {}

  /** Remembers the language. The page reloads itself where scripts run, and is gone back to where they do not. */
  @Action('/set-language', Access.anyone(), { audit: { none: 'how pages are shown, not what is in them' } })
  choose(
    @Body() form: LanguageForm,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: ServerResponse,
  ): { ok: true; language: Locale } {
    response.setHeader(
      'set-cookie',
      setCookie(this.settings, languageCookie, form.language, { maxAgeSeconds: YEAR_SECONDS }),
    );
    if (request.headers['hx-request'] === 'true') {
      response.setHeader('hx-refresh', 'true');
    } else if (request.headers.accept?.includes('text/html') === true) {
      response.statusCode = 303;
      response.setHeader('location', form.next ?? '/');
    }
    return { ok: true, language: form.language };
  }
}
