import type { ServerResponse } from 'node:http';
import { Controller, Get, Header, Query, Req, Res } from '@nestjs/common';
import { ValidateIf } from '../../platform';
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
import { Entrance } from './entrance';
import { Directories } from './directories';
import { IsLineIfAny, IsMail, IsNext, IsPassword, IsTicked } from './fields';
import { LinkForm, LinkQuery } from './link-forms';
import { FormAnswers } from './form-answers';
import { PasswordStrategy } from './password-strategy';
import { SignInModel } from './sign-in-model';
import { Visitor } from './visitor';

const isOwn = ({ provider }: { readonly provider?: string }): boolean =>
  provider === undefined || provider === '';

class LoginForm {
  @ValidateIf(isOwn)
  @IsMail()
  email: string;

  @IsPassword()
  password: string;

  @IsNext()
  next?: string;

  /** The directory of an extension that is asked; left out: the service itself. */
  @IsLineIfAny(100)
  provider?: string;

  /** The name that the person has in the directory. */
  @IsLineIfAny(254)
  user_name?: string;

  /** It serves who signs in for the first time, and has no account yet. */
  @IsTicked()
  terms?: unknown;
}

class LoginQuery {
  @IsNext()
  next?: string;

  @IsLineIfAny(40)
  notice?: string;

  @IsLineIfAny(100)
  with?: string;
}

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
    private readonly answers: FormAnswers,
    private readonly passwords: PasswordStrategy,
    private readonly signIn: SignInService,
    private readonly activity: ActivityLog,
    private readonly mails: AccountMails,
    private readonly visitor: Visitor,
    private readonly model: SignInModel,
    private readonly entrance: Entrance,
    private readonly directories: Directories,
    private readonly legal: LegalLibrary,
    private readonly pages: PageRenderer,
  ) {}

  @Page('/login', 'pages/account/login', Access.anyone())
  login(@Query() query: LoginQuery, @Req() request: HttpRequest) {
    const notice = notices.has(query.notice ?? '') ? query.notice : undefined;
    const next = localPath(query.next, '');
    const noticeTone = notice?.startsWith('provider-') === true ? 'info' : 'ok';
    return { values: { next }, notice, noticeTone, ...this.model.of(request, next, query.with) };
  }

  @Action('/auth/login', Access.anyone(), { body: LoginForm, audit: 'session.signed-in' })
  enter(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse) {
    const shown = {
      form: LoginForm,
      view: 'pages/account/login',
      model: ({ email, next, provider, user_name }: Readonly<Record<string, string>>) => ({
        values: { email, next, user_name },
        ...this.model.of(request, localPath(next, ''), provider),
      }),
    };
    return this.answers.answer(request, response, shown, async (form) => {
      const { email, next } = form;
      const userId = isOwn(form)
        ? await this.recognise(email, request)
        : await this.recogniseIn(form, request);
      return this.entrance.enter(userId, request, response, next === undefined ? {} : { next });
    });
  }

  private recogniseIn(form: LoginForm, request: HttpRequest): Promise<number> {
    const { provider = '', user_name: name = '', password, terms } = form;
    const { address } = this.visitor.originOf(request);
    const currentVersion = this.legal.currentTerms;
    return this.directories.enter(
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

  private async recognise(email: string, request: HttpRequest): Promise<number> {
    try {
      return await this.passwords.userOf(request);
    } catch (error) {
      if (error instanceof Fault && error.code === 'invalid_credentials') {
        await this.mails.enqueue('failed', email, request);
      }
      throw error;
    }
  }

  /** Other sites can lead a browser here, and then nothing happens. */
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
    else this.activity.nothingChanged();
    this.visitor.endSession(response);
    if (request.headers.accept?.includes('text/html') === true) {
      response.statusCode = 303;
      // It serves someone else, who goes on to the page that this one could not use.
      const next = localPath(queryOf(request).get('next'), '');
      const query = new URLSearchParams({ notice: 'signed-out', ...(next !== '' && { next }) });
      response.setHeader('location', `/login?${query.toString()}`);
    }
    return { ok: true };
  }

  @Page('/sign-in-link', 'pages/account/sign-in-link', Access.anyone())
  link(@Query() query: LinkQuery) {
    return { token: query.token ?? '' };
  }

  /** Only the button uses the link: programs that open links in mails or terminals do not. */
  @Action('/sign-in-link', Access.anyone(), { body: LinkForm, audit: 'session.signed-in' })
  enterByLink(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse) {
    const shown = { form: LinkForm, view: 'pages/account/sign-in-link' };
    return this.answers.answer(request, response, shown, async ({ token }) => {
      const signedIn = await this.signIn.byLink(token, this.visitor.originOf(request));
      // After the first time, a person with such a link has lost the ways to sign in that settings restore.
      const next = signedIn.isFirst ? '/dashboard' : '/dashboard/settings';
      const to = this.visitor.startSession(response, signedIn, next);
      return { to, body: { ok: true, next: to } };
    });
  }
}
