import type { ServerResponse } from 'node:http';
import { Body, Controller, Req, Res } from '@nestjs/common';
import { ProfileService, SessionsService } from '../identity';
import { IsIn, IsOptional, Matches, Settings } from '../platform';
import { type Locale, locales } from '../views';
import {
  Access,
  Action,
  addCookie,
  cookieOf,
  type HttpRequest,
  languageCookie,
  localPath,
  portalHostOf,
  sessionCookieName,
  wantsPage,
} from '../web';

class LanguageForm {
  @IsIn(locales)
  language: Locale;

  /** The page it was chosen on: a path of ours, never an address. */
  @IsOptional()
  @Matches(/^\/(?![/\\])[\w./-]{0,500}$/, 'a path of the portal, like /dashboard')
  next?: string;
}

const YEAR_SECONDS = 31_536_000;

@Controller()
export class LanguageController {
  constructor(
    private readonly settings: Settings,
    private readonly sessions: SessionsService,
    private readonly profiles: ProfileService,
  ) {}

  /**
   * Remembers the language, in the profile of a signed-in person as well. The page reloads itself where scripts run,
   * and is gone back to where they do not.
   */
  @Action('/set-language', Access.anyone(), { audit: { none: 'how pages are shown, not what is in them' } })
  async choose(
    @Body() form: LanguageForm,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: ServerResponse,
  ): Promise<{ ok: true; language: Locale }> {
    await this.keepInProfile(request, form.language);
    addCookie(response, this.settings, languageCookie, form.language, YEAR_SECONDS);
    if (request.headers['hx-request'] === 'true') {
      response.setHeader('hx-refresh', 'true');
    } else if (wantsPage(request)) {
      response.statusCode = 303;
      response.setHeader('location', localPath(form.next, '/'));
    }
    return { ok: true, language: form.language };
  }

  private async keepInProfile(request: HttpRequest, language: Locale): Promise<void> {
    const token = cookieOf(request.headers, sessionCookieName(this.settings));
    const reading = token === null ? null : await this.sessions.read(token, portalHostOf(request));
    if (reading?.kind === 'actor') await this.profiles.setLanguage(reading.actor.userId, language);
  }
}
