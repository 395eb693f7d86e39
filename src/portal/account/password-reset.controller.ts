import type { ServerResponse } from 'node:http';
import { Controller, Query, Req, Res } from '@nestjs/common';
import { AttemptThrottle, MIN_PASSWORD_LENGTH, PasswordResetService } from '../../identity';
import { Access, Action, ClientAddress, type HttpRequest, Page } from '../../web';
import { AccountMails, deferredAudit } from './account-mails';
import { AccountNotices } from './account-notices';
import { FormResponder } from './form-responder';
import { VisitorSession } from './visitor-session';
import { ForgotForm, ForgotQuery, ResetForm, ResetQuery } from './password-reset.dto';

@Controller()
export class PasswordResetController {
  constructor(
    private readonly forms: FormResponder,
    private readonly resets: PasswordResetService,
    private readonly throttle: AttemptThrottle,
    private readonly mails: AccountMails,
    private readonly notices: AccountNotices,
    private readonly addresses: ClientAddress,
    private readonly visitor: VisitorSession,
  ) {}

  @Page('/forgot-password', 'pages/account/forgot-password', Access.anyone())
  forgotPage(@Query() query: ForgotQuery) {
    return { sent: query.sent !== undefined };
  }

  @Action('/auth/forgot-password', Access.anyone(), { body: ForgotForm, audit: deferredAudit })
  forgot(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse) {
    const formView = { form: ForgotForm, view: 'pages/account/forgot-password' };
    return this.forms.respond(request, response, formView, async ({ email }) => {
      await this.throttle.take({ purpose: 'mail', account: email, address: this.addresses.of(request) });
      await this.mails.enqueue('reset', email, request);
      return { to: '/forgot-password?sent=yes', body: { ok: true } };
    });
  }

  @Page('/reset-password', 'pages/account/reset-password', Access.anyone())
  async resetPage(@Query() { token = '' }: ResetQuery) {
    return { token, open: await this.resets.isValidToken(token), least: MIN_PASSWORD_LENGTH };
  }

  @Action('/auth/reset-password', Access.anyone(), { body: ResetForm, audit: 'account.password-reset' })
  reset(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse) {
    const formView = {
      form: ResetForm,
      view: 'pages/account/reset-password',
      model: ({ token = '' }) => ({ token, open: true, least: MIN_PASSWORD_LENGTH }),
    };
    return this.forms.respond(request, response, formView, async ({ token, password }) => {
      const userId = await this.resets.reset(token, password);
      await this.notices.notify(userId, 'password-changed');
      this.visitor.endSession(response);
      return { to: '/login?notice=password-changed', body: { ok: true } };
    });
  }
}
