import type { ServerResponse } from 'node:http';
import { Controller, Get, Header, HttpCode, Query, Req, Res } from '@nestjs/common';
import { bindingOf, HandOffs } from '../../../identity';
import { fault } from '../../../kernel';
import { Settings } from '../../../platform';
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
import { SignInFlow } from '../sign-in-flow';
import { FormResponder } from '../form-responder';
import { VisitorSession } from '../visitor-session';
import { handOffCookie } from './provider-states';
import { CompleteQuery, ConsentForm } from './hand-off.dto';

const view = 'pages/account/hand-off';

/** Hands a sign-in from BASE_URL, where the user was recognised, to the portal where it started (ADR 58). */
@Controller()
export class HandOffController {
  constructor(
    private readonly handOffs: HandOffs,
    private readonly signInFlow: SignInFlow,
    private readonly forms: FormResponder,
    private readonly visitor: VisitorSession,
    private readonly settings: Settings,
  ) {}

  @Page('/login/hand-off', view, Access.anyone())
  async show(@Req() request: HttpRequest) {
    const consent = await this.findConsent(request);
    if (consent === null) throw fault('invalid_token');
    return consent;
  }

  @Action('/auth/sso/hand-off', Access.anyone(), {
    body: ConsentForm,
    audit: { none: 'the sign-in at the portal is on record' },
  })
  async agree(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse) {
    const consent = (await this.findConsent(request)) ?? {};
    const formView = { form: ConsentForm, view, model: () => consent };
    return this.forms.respond(request, response, formView, async ({ state }) => {
      const consentToken = this.signInFlow.consentToken(request);
      if (portalHostOf(request) !== '' || consentToken === '' || bindingOf(consentToken) !== state)
        throw fault('invalid_token');
      const { host, address } = await this.handOffs.agree(consentToken);
      this.signInFlow.forgetConsent(response);
      // A form may redirect to the portal's own pages only, so the next page redirects further.
      if (wantsPage(request)) response.setHeader('refresh', `0; url=${address}`);
      return {
        page: { view: 'pages/account/handed-off', model: { host, address } },
        body: { ok: true, url: address },
      };
    });
  }

  /** Runs at the other portal. The token is valid once, for one minute, in the browser that started the sign-in. */
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
    const bindingSecret = cookieOf(request.headers, name) ?? '';
    const origin = this.visitor.originOf(request);
    const { signedIn, next } = await this.handOffs.complete(token, bindingSecret, origin);
    addCookie(response, this.settings, name, '', 0);
    response.setHeader('location', this.visitor.startSession(response, signedIn, next));
    response.end();
  }

  private async findConsent(request: HttpRequest) {
    const state = this.signInFlow.consentToken(request);
    const handOff = portalHostOf(request) === '' ? await this.handOffs.findConsent(state) : null;
    return handOff && { ...handOff, state: bindingOf(state) };
  }
}
