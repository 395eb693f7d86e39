import type { ServerResponse } from 'node:http';
import { Controller, Get, Header, HttpCode, Query, Req, Res } from '@nestjs/common';
import { bindingOf, HandOffs } from '../../../identity';
import { fault, line } from '../../../kernel';
import { Settings, Takes } from '../../../platform';
import {
  Access,
  Action,
  addCookie,
  Audited,
  cookieOf,
  FormPipe,
  type HttpRequest,
  Page,
  portalHostOf,
  privateCookieName,
  wantsPage,
} from '../../../web';
import { Entrance } from '../entrance';
import { IsToken } from '../fields';
import { FormAnswers } from '../form-answers';
import { Visitor } from '../visitor';
import { handOffCookie } from './provider-states';

class CompleteQuery {
  @Takes(line(100).default(''))
  token: string;
}

class AgreeForm {
  /** The page was shown for this token: another tab may have asked for something else since. */
  @IsToken()
  state: string;
}

const view = 'pages/account/hand-off';

/** It leads from BASE_URL, where the person was recognised, to the portal where the sign-in began (ADR 58). */
@Controller()
export class HandOffController {
  constructor(
    private readonly handOffs: HandOffs,
    private readonly entrance: Entrance,
    private readonly answers: FormAnswers,
    private readonly visitor: Visitor,
    private readonly settings: Settings,
  ) {}

  @Page('/login/hand-off', view, Access.anyone())
  async show(@Req() request: HttpRequest) {
    const asked = await this.asked(request);
    if (asked === null) throw fault('invalid_token');
    return asked;
  }

  @Action('/auth/sso/hand-off', Access.anyone(), {
    body: AgreeForm,
    audit: { none: 'the sign-in at the portal is on record' },
  })
  async agree(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse) {
    const again = (await this.asked(request)) ?? {};
    const shown = { form: AgreeForm, view, model: () => again };
    return this.answers.answer(request, response, shown, async ({ state }) => {
      const kept = this.entrance.consentOf(request);
      if (portalHostOf(request) !== '' || kept === '' || bindingOf(kept) !== state)
        throw fault('invalid_token');
      const { host, address } = await this.handOffs.agree(kept);
      this.entrance.forgetConsent(response);
      // A form leads to pages of ours alone, so the page that follows leads on.
      if (wantsPage(request)) response.setHeader('refresh', `0; url=${address}`);
      return {
        page: { view: 'pages/account/handed-off', model: { host, address } },
        body: { ok: true, url: address },
      };
    });
  }

  /** At the portal: the token works once, for a minute, here, in the browser that began. */
  @Get('/auth/sso/complete')
  @HttpCode(303)
  @Access.anyone()
  @Audited('session.signed-in')
  @Header('cache-control', 'no-store')
  async complete(
    @Req() request: HttpRequest,
    @Res() response: ServerResponse,
    @Query(FormPipe) { token }: CompleteQuery,
  ): Promise<void> {
    const name = privateCookieName(this.settings, handOffCookie);
    const kept = cookieOf(request.headers, name) ?? '';
    const from = this.visitor.originOf(request);
    const { signedIn, next } = await this.handOffs.complete(token, kept, from);
    addCookie(response, this.settings, name, '', 0);
    response.setHeader('location', this.visitor.startSession(response, signedIn, next));
    response.end();
  }

  private async asked(request: HttpRequest) {
    const state = this.entrance.consentOf(request);
    const shown = portalHostOf(request) === '' ? await this.handOffs.shown(state) : null;
    return shown && { ...shown, state: bindingOf(state) };
  }
}
