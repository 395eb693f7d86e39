import type { ServerResponse } from 'node:http';
import { Controller, Query, Req, Res } from '@nestjs/common';
import { IsOptional, IsString, MaxLength } from '../../platform';
import { AccountProof, AddressChange, AttemptThrottle, OwnAccountService } from '../../identity';
import { Access, Action, actorOf, ClientAddress, type HttpRequest, Page } from '../../web';
import { AccountMails, laterOnRecord } from './account-mails';
import { IsMail } from './fields';
import { LinkForm, LinkQuery } from './link-forms';
import { FormAnswers } from './form-answers';
import { SettingsModel } from './settings-model';

class AddressForm {
  @IsMail()
  email: string;

  /** It is empty while the person has none. */
  @IsOptional()
  @IsString()
  @MaxLength(256)
  current_password?: string;
}

const view = 'pages/account/address';

@Controller()
export class AddressController {
  constructor(
    private readonly addresses: AddressChange,
    private readonly accounts: OwnAccountService,
    private readonly proof: AccountProof,
    private readonly throttle: AttemptThrottle,
    private readonly mails: AccountMails,
    private readonly answers: FormAnswers,
    private readonly callers: ClientAddress,
    private readonly settings: SettingsModel,
  ) {}

  /** The answer is the same for a free address and for one that has an account. */
  @Action('/dashboard/settings/email', Access.session(), { body: AddressForm, audit: laterOnRecord })
  async begin(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse) {
    const again = await this.settings.of(request);
    const shown = { form: AddressForm, view: this.settings.view, model: () => again };
    return this.answers.answer(
      request,
      response,
      shown,
      async ({ email, current_password: password = '' }) => {
        const { userId, sessionId } = actorOf(request);
        const address = this.callers.of(request);
        await this.proof.require(userId, { password, sessionId, address });
        await this.throttle.take({ purpose: 'mail', account: `address:${userId}`, address });
        const token = await this.addresses.begin(userId, email);
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
  confirmPage(@Query() { token = '' }: LinkQuery) {
    return { token, action: '/account/email', kind: 'confirm' };
  }

  @Action('/account/email', Access.anyone(), { body: LinkForm, audit: 'account.email-changed' })
  confirm(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse) {
    const shown = { form: LinkForm, view, model: () => ({ kind: 'confirm' }) };
    return this.answers.answer(request, response, shown, async ({ token }) => {
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
  undoPage(@Query() { token = '' }: LinkQuery) {
    return { token, action: '/account/email/undo', kind: 'undo' };
  }

  @Action('/account/email/undo', Access.anyone(), { body: LinkForm, audit: 'account.email-changed' })
  undo(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse) {
    const shown = { form: LinkForm, view, model: () => ({ kind: 'undo' }) };
    return this.answers.answer(request, response, shown, async ({ token }) => {
      await this.addresses.undo(token);
      return { to: '/login?notice=address-restored', body: { ok: true } };
    });
  }
}
