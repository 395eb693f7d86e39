import type { ServerResponse } from 'node:http';
import { Body, Controller, Req, Res } from '@nestjs/common';
import { IsIn } from 'class-validator';
import { type Locale, locales, Settings } from '../platform';
import { Access, Action, type HttpRequest, languageCookie, setCookie } from '../web';

class LanguageForm {
  @IsIn(locales)
  language: Locale;
}

const YEAR_SECONDS = 31_536_000;

@Controller()
export class LanguageController {
  constructor(private readonly settings: Settings) {}

  /** Remembers the language and goes back to the page it was chosen on. */
  @Action('/set-language', Access.anyone())
  choose(
    @Body() form: LanguageForm,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: ServerResponse,
  ): { ok: true; language: Locale } {
    response.setHeader(
      'set-cookie',
      setCookie(this.settings, languageCookie, form.language, { maxAgeSeconds: YEAR_SECONDS }),
    );
    if (request.headers['hx-request'] === 'true') response.setHeader('hx-refresh', 'true');
    return { ok: true, language: form.language };
  }
}
