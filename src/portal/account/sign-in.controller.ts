import type { ServerResponse } from 'node:http';
import { Controller, Get, Header, Query, Req, Res } from '@nestjs/common';
import { ActivityLog } from '../../audit';
import { SignInService } from '../../identity';
import { Fault, fault } from '../../kernel';
import {
  Access,
  Action,
  Audited,
  type HttpRequest,
  localPath,
  Page,
  PageRenderer,
  portalHostOf,
  queryOf,
  Responds,
} from '../../web';
import { LegalLibrary } from '../public/legal/legal-library';
import { AccountMails } from './account-mails';
import { SignInFlow } from './sign-in-flow';
import { Directories } from './directories';
import { MailedLinkForm, MailedLinkQuery } from './mailed-link.dto';
import { FormResponder } from './form-responder';
import { PasswordStrategy } from './password-strategy';
import { SignInModel } from './sign-in-model';
import { VisitorSession } from './visitor-session';
import { isPasswordSignIn, LoginForm, LoginQuery } from './sign-in.dto';

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
    private readonly passwords: PasswordStrategy,
    private readonly signIn: SignInService,
    private readonly activity: ActivityLog,
    private readonly mails: AccountMails,
    private readonly visitor: VisitorSession,
    private readonly model: SignInModel,
    private readonly signInFlow: SignInFlow,
    private readonly directories: Directories,
    private readonly legal: LegalLibrary,
    private readonly pages: PageRenderer,
  ) {}

  @Page('/login', 'pages/account/login', Access.anyone())
  login(@Query() query: LoginQuery, @Req() request: HttpRequest) {
    const notice = notices.has(query.notice ?? '') ? query.notice : undefined;
    const next = localPath(query.next, '');
    const noticeTone = notice?.startsWith('provider-') === true ? 'info' : 'ok';
    return { values: { next }, notice, noticeTone, ...this.model.build(request, next, query.with) };
  }

  @Action('/auth/login', Access.anyone(), { body: LoginForm, audit: 'session.signed-in' })
  enter(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse) {
    const formView = {
      form: LoginForm,
      view: 'pages/account/login',
      model: ({ email, next, provider, user_name }: Readonly<Record<string, string>>) => ({
        values: { email, next, user_name },
        ...this.model.build(request, localPath(next, ''), provider),
      }),
    };
    return this.forms.respond(request, response, formView, async (form) => {
      const { email, next } = form;
      const userId = isPasswordSignIn(form)
        ? await this.authenticateWithPassword(email, request)
        : await this.authenticateWithDirectory(form, request);
      return this.signInFlow.continueSignIn(userId, request, response, next === undefined ? {} : { next });
    });
  }

  private authenticateWithDirectory(form: LoginForm, request: HttpRequest): Promise<number> {
    const { provider = '', user_name: name = '', password, terms } = form;
    const { address } = this.visitor.originOf(request);
    const currentVersion = this.legal.currentTerms;
    return this.directories.signIn(
      provider,
      { name, password, address },
      {
        language: this.pages.localeOf(request),
        timeZone: this.pages.timeZoneOf(request),
        acceptedVersion: terms === undefined ? null : currentVersion,
        currentVersion,
      },
    );
  }

  private async authenticateWithPassword(email: string, request: HttpRequest): Promise<number> {
    try {
      return await this.passwords.authenticateUser(request);
    } catch (error) {
      if (error instanceof Fault && error.code === 'invalid_credentials') {
        await this.mails.enqueue('failed', email, request);
      }
      throw error;
    }
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
