import type { ServerResponse } from 'node:http';
import { Body, Controller, Req, Res } from '@nestjs/common';
import { ProfileService, SessionsService } from '../identity';
import { Settings } from '../platform';
import type { Locale } from '../views';
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
import { LanguageForm } from './language.dto';

const YEAR_SECONDS = 31_536_000;

@Controller()
export class LanguageController {
  constructor(
    private readonly settings: Settings,
    private readonly sessions: SessionsService,
    private readonly profiles: ProfileService,
  ) {}

  /**
   * Stores the language in a cookie, and in the profile of a signed-in user. Reloads the page with scripts, and
   * redirects back without.
   */
  @Action('/set-language', Access.anyone(), { audit: { none: 'how pages are shown, not what is in them' } })
  async choose(
    @Body() form: LanguageForm,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: ServerResponse,
  ): Promise<{ ok: true; language: Locale }> {
    await this.saveToProfile(request, form.language);
    addCookie(response, this.settings, languageCookie, form.language, YEAR_SECONDS);
    if (request.headers['hx-request'] === 'true') {
      response.setHeader('hx-refresh', 'true');
    } else if (wantsPage(request)) {
      response.statusCode = 303;
      response.setHeader('location', localPath(form.next, '/'));
    }
    return { ok: true, language: form.language };
  }

  private async saveToProfile(request: HttpRequest, language: Locale): Promise<void> {
    const token = cookieOf(request.headers, sessionCookieName(this.settings));
    const sessionState = token === null ? null : await this.sessions.read(token, portalHostOf(request));
    if (sessionState?.kind === 'actor') await this.profiles.setLanguage(sessionState.actor.userId, language);
  }
}
