import type { ServerResponse } from 'node:http';
import { Controller, Req, Res } from '@nestjs/common';
import { AccountProof } from '../../../identity';
import { fault } from '../../../kernel';
import { IsIn, IsOptional, IsString, MaxLength, Settings } from '../../../platform';
import { Access, Action, actorOf, ClientAddress, type HttpRequest, PortalHosts } from '../../../web';
import { Directories } from '../directories';
import { IsLine, IsPassword } from '../fields';
import { FormAnswers } from '../form-answers';
import { SettingsModel } from '../settings-model';
import { IdentityLinks } from './identity-links';
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

class DirectoryLinkForm {
  @IsLine(100)
  provider: string;

  @IsLine(254)
  user_name: string;

  @IsPassword()
  password: string;

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
    private readonly directories: Directories,
    private readonly links: IdentityLinks,
    private readonly proof: AccountProof,
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

  /** A directory is asked at once; no browser has to come back from it. */
  @Action('link-directory', Access.session(), { body: DirectoryLinkForm, audit: 'account.identity-linked' })
  async linkDirectory(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse) {
    const again = await this.model.of(request);
    const shown = { form: DirectoryLinkForm, view: this.model.view, model: () => again };
    return this.answers.answer(request, response, shown, async (form) => {
      const { userId, sessionId } = actorOf(request);
      const address = this.addresses.of(request);
      await this.proof.require(userId, { password: form.current_password ?? '', sessionId, address });
      const typed = { name: form.user_name, password: form.password, address };
      await this.links.link(await this.directories.prove(form.provider, typed), userId);
      return { to: '/dashboard/settings?saved=provider-linked#providers-heading', body: { ok: true } };
    });
  }

  @Action('unlink', Access.session(), { body: UnlinkForm, audit: 'account.identity-unlinked' })
  async unlink(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse) {
    const again = await this.model.of(request);
    const shown = { form: UnlinkForm, view: this.model.view, model: () => again };
    return this.answers.answer(request, response, shown, async ({ issuer }) => {
      await this.links.unlink(actorOf(request).userId, issuer);
      return { to: '/dashboard/settings?saved=providers', body: { ok: true } };
    });
  }
}
