import type { ServerResponse } from 'node:http';
import { Controller, Req, Res } from '@nestjs/common';
import { IsIn, IsOptional, IsString, MaxLength } from 'class-validator';
import { AccountProof, OwnAccountService } from '../../../identity';
import { fault } from '../../../kernel';
import { Settings } from '../../../platform';
import { Access, Action, actorOf, ClientAddress, type HttpRequest, PortalHosts } from '../../../web';
import { AccountNotices } from '../account-notices';
import { IsLine } from '../fields';
import { FormAnswers } from '../form-answers';
import { SettingsModel } from '../settings-model';
import type { ProviderSlot } from './provider-states';
import { Providers } from './providers';

class LinkForm {
  @IsIn(['idp1', 'idp2'])
  provider: ProviderSlot;

  /** It is empty while the person has none. */
  @IsOptional()
  @IsString()
  @MaxLength(256)
  current_password?: string;
}

class UnlinkForm {
  @IsLine(500)
  issuer: string;
}

/** The part of the settings that links identity providers and takes them away. */
@Controller('/dashboard/settings/providers')
export class ProviderLinksController {
  constructor(
    private readonly providers: Providers,
    private readonly accounts: OwnAccountService,
    private readonly proof: AccountProof,
    private readonly notices: AccountNotices,
    private readonly answers: FormAnswers,
    private readonly model: SettingsModel,
    private readonly addresses: ClientAddress,
    private readonly hosts: PortalHosts,
    private readonly settings: Settings,
  ) {}

  /** A linked identity is a way in for good: a form of ours alone begins it, and with proof. */
  @Action('link', Access.session(), {
    body: LinkForm,
    audit: { none: 'nothing is changed before the browser is back from the provider' },
  })
  async link(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse) {
    const again = await this.model.of(request);
    const shown = { form: LinkForm, view: this.model.view, model: () => again };
    return this.answers.answer(request, response, shown, async ({ provider, current_password }) => {
      const { userId, sessionId } = actorOf(request);
      if (this.hosts.otherOriginOf(request) !== undefined)
        throw fault('origin_not_allowed', {
          message: `Providers are linked at ${this.settings.baseUrl} only.`,
        });
      const { name } = this.providers.find(provider);
      const address = this.addresses.of(request);
      await this.proof.require(userId, { password: current_password ?? '', sessionId, address });
      const url = await this.providers.leave(provider, request, response, { linkUserId: userId });
      return { onward: { address: url, provider: name }, body: { ok: true, url } };
    });
  }

  @Action('unlink', Access.session(), { body: UnlinkForm, audit: 'account.identity-unlinked' })
  async unlink(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse) {
    const again = await this.model.of(request);
    const shown = { form: UnlinkForm, view: this.model.view, model: () => again };
    return this.answers.answer(request, response, shown, async ({ issuer }) => {
      const { userId } = actorOf(request);
      const identity = await this.accounts.unlink(userId, issuer);
      const values = { provider: this.providers.nameOf(issuer), identity };
      await this.notices.notify(userId, 'provider-unlinked', values);
      return { to: '/dashboard/settings?saved=providers', body: { ok: true } };
    });
  }
}
