import type { ServerResponse } from 'node:http';
import { Controller, Query, Req, Res } from '@nestjs/common';
import { AccountProof, AddressChange, AttemptThrottle, OwnAccountService } from '../../identity';
import { Access, Action, actorOf, ClientAddress, type HttpRequest, Page } from '../../web';
import { AccountMails, deferredAudit } from './account-mails';
import { MailedLinkForm, MailedLinkQuery } from './mailed-link.dto';
import { FormResponder } from './form-responder';
import { SettingsModel } from './settings-model';
import { AddressForm } from './address.dto';

const view = 'pages/account/address';

@Controller()
export class AddressController {
  constructor(
    private readonly addresses: AddressChange,
    private readonly accounts: OwnAccountService,
    private readonly proof: AccountProof,
    private readonly throttle: AttemptThrottle,
    private readonly mails: AccountMails,
    private readonly forms: FormResponder,
    private readonly callers: ClientAddress,
    private readonly settings: SettingsModel,
  ) {}

  /** Responds identically for a free address and for one that already has an account. */
  @Action('/dashboard/settings/email', Access.session(), { body: AddressForm, audit: deferredAudit })
  async begin(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse) {
    const model = await this.settings.build(request);
    const formView = { form: AddressForm, view: this.settings.view, model: () => model };
    return this.forms.respond(
      request,
      response,
      formView,
      async ({ email, current_password: password = '' }) => {
        const { userId, sessionId } = actorOf(request);
        const address = this.callers.of(request);
        await this.proof.require(userId, { password, sessionId, address });
        await this.throttle.take({ purpose: 'mail', account: `address:${userId}`, address });
        const token = await this.addresses.start(userId, email);
        if (token === null) await this.mails.enqueue('register', email, request);
        else {
          const { displayName: name, preferredLanguage: language } = await this.accounts.find(userId);
          const path = `/account/email?token=${token}`;
          await this.mails.send({
            notice: 'confirm-new-address',
            userId,
            to: email,
            language,
            values: { name },
            path,
          });
        }
        return { to: '/dashboard/settings?saved=email', body: { ok: true } };
      },
    );
  }

  @Page('/account/email', view, Access.anyone())
  confirmPage(@Query() { token = '' }: MailedLinkQuery) {
    return { token, action: '/account/email', kind: 'confirm' };
  }

  @Action('/account/email', Access.anyone(), { body: MailedLinkForm, audit: 'account.email-changed' })
  confirm(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse) {
    const formView = { form: MailedLinkForm, view, model: () => ({ kind: 'confirm' }) };
    return this.forms.respond(request, response, formView, async ({ token }) => {
      const { userId, former, undoToken, name, language } = await this.addresses.confirm(token);
      const path = `/account/email/undo?token=${undoToken}`;
      await this.mails.send({
        notice: 'address-changed',
        userId,
        to: former,
        language,
        values: { name },
        path,
      });
      return { to: '/login?notice=address-changed', body: { ok: true } };
    });
  }

  @Page('/account/email/undo', view, Access.anyone())
  undoPage(@Query() { token = '' }: MailedLinkQuery) {
    return { token, action: '/account/email/undo', kind: 'undo' };
  }

  @Action('/account/email/undo', Access.anyone(), { body: MailedLinkForm, audit: 'account.email-changed' })
  undo(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse) {
    const formView = { form: MailedLinkForm, view, model: () => ({ kind: 'undo' }) };
    return this.forms.respond(request, response, formView, async ({ token }) => {
      await this.addresses.undo(token);
      return { to: '/login?notice=address-restored', body: { ok: true } };
    });
  }
}
