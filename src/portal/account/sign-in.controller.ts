import type { ServerResponse } from 'node:http';
import { Body, Controller, Get, Header, Query, Req, Res, UseGuards } from '@nestjs/common';
import { ActivityLog } from '../../audit';
import { LinkedIdentities, SignInService, type SignUpContext } from '../../identity';
import { fault } from '../../kernel';
import {
  Access,
  Action,
  Audited,
  done,
  type HttpRequest,
  localPath,
  Page,
  PageRenderer,
  portalHostOf,
  queryOf,
  Responds,
} from '../../web';
import { LegalLibrary } from '../public/legal/legal-library';
import { SignInFlow } from './sign-in-flow';
import { MailedLinkForm, MailedLinkQuery } from './link-forms';
import { FormResponder } from './form-responder';
import { LocalAuthGuard } from './local-auth.guard';
import { LoginForm, LoginQuery } from './login.dto';
import { SignInModel } from './sign-in-model';
import { VisitorSession } from './visitor-session';

const notices = new Set([
  'verified',
  'password-changed',
  'signed-out',
  'deleted',
  'address-changed',
  'address-restored',
  'provider-cancelled',
  'provider-failed',
]);

@Controller()
export class SignInController {
  constructor(
    private readonly forms: FormResponder,
    private readonly signIn: SignInService,
    private readonly activity: ActivityLog,
    private readonly visitor: VisitorSession,
    private readonly model: SignInModel,
    private readonly signInFlow: SignInFlow,
    private readonly identities: LinkedIdentities,
    private readonly legal: LegalLibrary,
    private readonly pages: PageRenderer,
  ) {}

  @Page('/login', 'pages/account/login', Access.anyone())
  login(@Query() query: LoginQuery, @Req() request: HttpRequest) {
    const notice = notices.has(query.notice ?? '') ? query.notice : undefined;
    const next = localPath(query.next, '');
    const noticeTone = notice?.startsWith('provider-') === true ? 'info' : 'ok';
    const { refusal } = request;
    return {
      values: { next, email: refusal?.posted['email'] },
      problem: refusal && { code: refusal.problem.code },
      notice,
      noticeTone,
      ...this.model.build(request, next, query.with),
    };
  }

  @UseGuards(LocalAuthGuard)
  @Action('/auth/login', Access.anyone(), { audit: 'session.signed-in' })
  async enter(
    @Body() form: LoginForm,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: ServerResponse,
  ) {
    if (request.user === undefined) throw fault('invalid_credentials');
    const userId =
      'userId' in request.user
        ? request.user.userId
        : await this.identities.recognise(request.user.identity, this.signUpContextOf(form, request));
    const destination = form.next === undefined ? {} : { next: form.next };
    const { to, body } = await this.signInFlow.continueSignIn(userId, request, response, destination);
    return done(to, body);
  }

  private signUpContextOf({ terms }: LoginForm, request: HttpRequest): SignUpContext {
    const currentVersion = this.legal.currentTerms;
    return {
      language: this.pages.localeOf(request),
      timeZone: this.pages.timeZoneOf(request),
      acceptedVersion: terms === undefined ? null : currentVersion,
      currentVersion,
    };
  }

  /** Ignores requests from other sites, so that they cannot sign a user out. */
  @Get('/logout')
  @Responds({ redirect: 303 })
  @Access.anyone()
  @Audited('session.signed-out')
  @Header('cache-control', 'no-store')
  async logout(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse) {
    const site = request.headers['sec-fetch-site'];
    if (site !== undefined && site !== 'same-origin' && site !== 'none') throw fault('csrf_rejected');
    const session = this.visitor.sessionOf(request);
    if (session !== null) await this.signIn.signOut(session, portalHostOf(request));
    else this.activity.reportNoChange();
    this.visitor.endSession(response);
    if (request.headers.accept?.includes('text/html') === true) {
      response.statusCode = 303;
      // Keeps the target page, so that another user can sign in and continue there.
      const next = localPath(queryOf(request).get('next'), '');
      const query = new URLSearchParams({ notice: 'signed-out', ...(next !== '' && { next }) });
      response.setHeader('location', `/login?${query.toString()}`);
    }
    return { ok: true };
  }

  @Page('/sign-in-link', 'pages/account/sign-in-link', Access.anyone())
  link(@Query() query: MailedLinkQuery) {
    return { token: query.token ?? '' };
  }

  /** Requires a button, because mail clients and terminals can open links automatically. */
  @Action('/sign-in-link', Access.anyone(), { body: MailedLinkForm, audit: 'session.signed-in' })
  enterByLink(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse) {
    const formView = { form: MailedLinkForm, view: 'pages/account/sign-in-link' };
    return this.forms.respond(request, response, formView, async ({ token }) => {
      const signedIn = await this.signIn.signInByLink(token, this.visitor.originOf(request));
      // After the first sign-in, a user of such a link has lost access and restores it in the settings.
      const next = signedIn.isFirst ? '/dashboard' : '/dashboard/settings';
      const to = this.visitor.startSession(response, signedIn, next);
      return { to, body: { ok: true, next: to } };
    });
  }
}
