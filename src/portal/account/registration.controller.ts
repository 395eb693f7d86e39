import type { ServerResponse } from 'node:http';
import { Controller, Query, Req, Res } from '@nestjs/common';
import { AttemptThrottle, RegistrationService } from '../../identity';
import { fault } from '../../kernel';
import { Access, Action, ClientAddress, type HttpRequest, localPath, Page, PageRenderer } from '../../web';
import { LegalLibrary } from '../public/legal/legal-library';
import { AccountMails, deferredAudit } from './account-mails';
import { FormResponder } from './form-responder';
import { SignUpModel } from './sign-up-model';
import { RegisterForm, SignUpQuery, VerifyForm, VerifyQuery, ResendForm } from './registration.dto';

@Controller()
export class RegistrationController {
  constructor(
    private readonly forms: FormResponder,
    private readonly registrations: RegistrationService,
    private readonly throttle: AttemptThrottle,
    private readonly mails: AccountMails,
    private readonly pages: PageRenderer,
    private readonly addresses: ClientAddress,
    private readonly legal: LegalLibrary,
    private readonly model: SignUpModel,
  ) {}

  @Page('/signup', 'pages/account/signup', Access.anyone())
  signUp(@Query() { notice, email, next }: SignUpQuery) {
    return {
      ...this.model.build(),
      ...(notice === 'terms' && { notice }),
      values: { email, next: localPath(next, '') },
    };
  }

  @Action('/auth/register', Access.anyone(), { body: RegisterForm, audit: deferredAudit })
  register(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse) {
    const formView = {
      form: RegisterForm,
      view: 'pages/account/signup',
      model: () => this.model.build(),
    };
    return this.forms.respond(request, response, formView, async (form) => {
      if (form.terms === undefined)
        throw fault('tos_not_accepted', { param: 'terms', details: { version: this.legal.currentTerms } });
      const registration = {
        email: form.email,
        password: form.password,
        displayName: form.display_name ?? form.email.split('@')[0] ?? form.email,
        language: this.pages.localeOf(request),
        timeZone: this.pages.timeZoneOf(request),
        legalVersion: this.legal.currentTerms,
      };
      const token = await this.registrations.register(registration, this.addresses.of(request));
      await this.mails.enqueue('register', form.email, request, token);
      return { to: '/verify-email?sent=register', body: { ok: true } };
    });
  }

  @Page('/verify-email', 'pages/account/verify-email', Access.anyone())
  verifyPage(@Query() query: VerifyQuery) {
    return { token: query.token, sent: query.sent !== undefined };
  }

  /** Requires a button, because mail scanners open links. */
  @Action('/verify-email', Access.anyone(), { body: VerifyForm, audit: 'account.email-verified' })
  verify(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse) {
    const formView = { form: VerifyForm, view: 'pages/account/verify-email' };
    return this.forms.respond(request, response, formView, async ({ token }) => {
      await this.registrations.verify(token);
      return { to: '/login?notice=verified', body: { ok: true } };
    });
  }

  @Action('/auth/resend-verification', Access.anyone(), { body: ResendForm, audit: deferredAudit })
  resend(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse) {
    const formView = { form: ResendForm, view: 'pages/account/verify-email' };
    return this.forms.respond(request, response, formView, async ({ email }) => {
      await this.throttle.take({ purpose: 'mail', account: email, address: this.addresses.of(request) });
      await this.mails.enqueue('resend', email, request);
      return { to: '/verify-email?sent=again', body: { ok: true } };
    });
  }
}
